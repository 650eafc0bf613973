#include "omnigrad/error.h"

#include <cmath>
#include <cstdlib>

namespace omnigrad {

const char* name_of(Code code) {
  constexpr const char* names[] = {"shape", "dtype",  "option", "index",   "argument", "disposed",
                                   "graph", "memory", "state",  "numeric", "crashed"};
  return names[static_cast<int>(code)];
}

// As "%.9g" prints it, but a whole number below 1e15 in full. printf's own is 6 kB of the module.
std::string text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  if (std::abs(x) < 1e15 && x == std::floor(x)) return std::to_string(static_cast<int64_t>(x));
  constexpr int kDigits = 9;
  int exponent = 0;  // of the first digit
  double scaled = std::abs(x);
  for (; scaled >= 10; scaled /= 10) ++exponent;
  for (; scaled < 1; scaled *= 10) --exponent;
  // Again from x, with one rounding: powers of ten up to 1e22 are exact.
  double power = 1;
  const int shift = kDigits - 1 - exponent;
  for (int i = 0; i < std::abs(shift) && i < 22; ++i) power *= 10;
  if (std::abs(shift) <= 22)
    scaled = shift < 0 ? std::abs(x) / power : std::abs(x) * power;
  else
    scaled *= 1e8;
  std::string digits = std::to_string(std::llround(scaled));
  if (digits.size() > kDigits) ++exponent;
  digits.erase(digits.find_last_not_of('0') + 1);
  const std::string sign = x < 0 ? "-" : "";
  if (exponent < -4 || exponent >= kDigits) {
    const std::string power_text = std::to_string(std::abs(exponent));
    return sign + digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "") +
           (exponent < 0 ? "e-" : "e+") + (power_text.size() < 2 ? "0" : "") + power_text;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0');
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string text(const Dims& dims) {
  std::string s = "[";
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

std::string Part::string() const {
  switch (kind_) {
    case Kind::text:
      return text_;
    case Kind::number:
      return text(number_);
    case Kind::integer:
      return std::to_string(integer_);
    case Kind::dims:
      break;
  }
  return text(*dims_);
}

void fail_with(Code code, const Part* parts, size_t count) {
  std::string message;
  for (size_t i = 0; i < count; ++i) message += parts[i].string();
  throw Error(code, std::move(message));
}

}  // namespace omnigrad
