#include "omnigrad/error.h"

#include <cmath>
#include <cstdio>

namespace omnigrad {

const char* name_of(Code code) {
  constexpr const char* names[] = {"shape", "dtype",  "option", "index",   "argument", "disposed",
                                   "graph", "memory", "state",  "numeric", "crashed"};
  return names[static_cast<int>(code)];
}

std::string text(double x) {
  char buffer[32];
  const bool whole = std::abs(x) < 1e15 && x == std::floor(x);
  std::snprintf(buffer, sizeof buffer, whole ? "%.0f" : "%.9g", x);
  return buffer;
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
