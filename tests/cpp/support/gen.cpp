#include "gen.h"

#include <numeric>
#include <vector>

namespace omnigrad::test {

// splitmix64
uint64_t Gen::bits() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
int64_t Gen::integer(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low + 1));
}
double Gen::real(double low, double high) {
  return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
}

int64_t Gen::size(int64_t largest) { return !smooth && chance(0.03) ? 0 : integer(1, largest); }
Dims Gen::shape(int64_t min_rank, int64_t max_rank, int64_t largest) {
  Dims out;
  for (int64_t n = integer(min_rank, max_rank); n > 0; --n) out.push_back(size(largest));
  return out;
}
Dims Gen::sizes(int64_t count, int64_t low, int64_t high) {
  Dims out;
  for (; count > 0; --count) out.push_back(integer(low, high));
  return out;
}
Dims Gen::broadcasting(const Dims& shape) {
  Dims out(
      shape.begin() + (shape.empty() || chance(0.7) ? 0 : integer(0, static_cast<int64_t>(shape.size()))),
      shape.end());
  for (int64_t& d : out) {
    if (chance(0.3)) d = 1;
  }
  return out;
}
int64_t Gen::dim_of(const Dims& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  return integer(-rank, rank - 1);
}

namespace {
template <class F>
Tensor make(const Dims& shape, DType dtype, const F& value) {
  Tensor t = Tensor::empty(shape, dtype);
  visit_dtype(dtype, [&]<class T>() {
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double v = value(i);
      if constexpr (std::is_same_v<T, uint8_t>) {
        t.data<T>()[i] = static_cast<T>(v < 0 ? -v : v);
      } else if constexpr (std::is_same_v<T, bool>) {
        t.data<T>()[i] = v > 0;
      } else if constexpr (std::is_integral_v<T>) {
        t.data<T>()[i] = static_cast<T>(v);
      } else {
        t.data<T>()[i] = static_cast<T>(static_cast<float>(v));
      }
    }
  });
  return t;
}
}  // namespace

Tensor Gen::tensor(const Dims& shape, double low, double high, DType type) {
  if (is_half(type)) {
    Tensor half = Tensor::empty(shape, type);
    half.assign(tensor(shape, low, high, DType::float32));
    return half;
  }
  const double scale = is_floating(type) ? 1 : 4;
  return make(shape, type, [&](int64_t) { return scale * real(low, high); });
}
Tensor Gen::away(const Dims& shape, double gap) {
  return make(shape, dtype, [&](int64_t) {
    const double v = real(gap, 2);
    const bool zero = chance(0.1);
    return zero && !smooth ? 0 : chance() ? v : -v;
  });
}
Tensor Gen::between_steps(const Dims& shape) {
  return make(shape, dtype, [&](int64_t) {
    const double step = 0.5 * static_cast<double>(integer(-4, 3)), part = real(0.1, 0.4);
    const bool on = chance(0.1);
    return on && !smooth ? step : step + part;
  });
}
Tensor Gen::distinct(const Dims& shape, double offset) {
  std::vector<int64_t> order(static_cast<size_t>(product(shape)));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[static_cast<size_t>(bits() % i)]);
  const auto middle = static_cast<double>(order.size() / 2);
  return make(shape, dtype, [&](int64_t i) {
    return 0.1 * (static_cast<double>(order[static_cast<size_t>(i)]) - middle) + offset + real(0, 0.02);
  });
}
DType Gen::number_dtype() {
  const DType other = pick({DType::int32, DType::int64, DType::uint8});
  const bool use = chance(0.3);
  return use && !smooth ? other : dtype;
}
DType Gen::any_dtype() {
  const DType other = number_dtype();
  const bool boolean = chance(0.1);
  return boolean && !smooth ? DType::boolean : other;
}
Tensor Gen::number(const Dims& shape, double low, double high) {
  return tensor(shape, low, high, number_dtype());
}
Tensor Gen::index(const Dims& shape, int64_t n) {
  return index(shape, n, pick({DType::int32, DType::int64, DType::uint8}));
}
Tensor Gen::index(const Dims& shape, int64_t n, DType type) {
  return make(shape, type, [&](int64_t) { return static_cast<double>(integer(0, n - 1)); });
}
Tensor Gen::mask(const Dims& shape) {
  return make(shape, DType::boolean, [&](int64_t) { return chance() ? 1.0 : 0.0; });
}

}  // namespace omnigrad::test
