#include <cmath>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/special.h"
#include "kernels/strided.h"
#include "kernels/vmath.h"
#include "kernels/wrapping.h"

namespace omnigrad::kernels {
namespace {

// y[i] = f(x[i]) by the scalar function; the compiler vectorises what is exact.
template <class T, class F>
void map1(Operand x, void* y, const int64_t* shape, int rank, const F& f) noexcept {
  int64_t ys[kMaxAxes];
  dense_strides(shape, rank, ys);
  const Strided loop(shape, rank, {ys, x.strides});
  const int64_t s = loop.inner_stride(1);
  loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
    T* out = static_cast<T*>(y) + offset[0];
    const T* in = static_cast<const T*>(x.data) + offset[1];
    if constexpr (std::is_same_v<T, float>) {
      if (s == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
        return;
      }
    }
    OMNIGRAD_SMALL_LOOP
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[i * s]);
  });
}

// y[i] = f(x[i]) by a function of four floats. A tail runs it on a padded register, so that its bits are the
// same.
template <class F>
void map_f32(Operand x, void* y, const int64_t* shape, int rank, const F& f) noexcept {
  int64_t ys[kMaxAxes];
  dense_strides(shape, rank, ys);
  const Strided loop(shape, rank, {ys, x.strides});
  const int64_t s = loop.inner_stride(1);
  loop.for_rows(kGrain / 4, [&](const int64_t* offset, int64_t n) noexcept {
    float* out = static_cast<float*>(y) + offset[0];
    const float* in = static_cast<const float*>(x.data) + offset[1];
    for (int64_t i = 0; i < n; i += 4) {
      const int m = n - i < 4 ? static_cast<int>(n - i) : 4;
      f32x4 v{};
      if (s == 1 && m == 4) {
        v = load(in + i);
      } else {
        for (int k = 0; k < m; ++k) v[k] = in[(i + k) * s];
      }
      const f32x4 r = f(v);
      if (m == 4) {
        store(out + i, r);
      } else {
        store_partial(out + i, r, m);
      }
    }
  });
}

// One function of a double serves both floating dtypes: for float it is right to the last bit or the one
// before.
template <class T>
void unary_double(double (*f)(double), Operand x, void* y, const int64_t* shape, int rank) noexcept {
  map1<T>(x, y, shape, rank, [f](T v) { return static_cast<T>(f(static_cast<double>(v))); });
}

double logistic(double v) {
  const double e = std::exp(-std::fabs(v));
  return v >= 0 ? 1 / (1 + e) : e / (1 + e);
}
double softplus(double v) {
  return std::fmax(v, 0.0) + std::log1p(std::exp(-std::fabs(v))) + (v != v ? v : 0);
}

using DoubleFunction = double (*)(double);

DoubleFunction double_function(Unary op) noexcept {
  switch (op) {
    case Unary::exp:
      return std::exp;
    case Unary::log:
      return std::log;
    case Unary::sigmoid:
      return logistic;
    case Unary::tanh:
      return std::tanh;
    case Unary::sin:
      return std::sin;
    case Unary::cos:
      return std::cos;
    case Unary::tan:
      return std::tan;
    case Unary::asin:
      return std::asin;
    case Unary::acos:
      return std::acos;
    case Unary::atan:
      return std::atan;
    case Unary::sinh:
      return std::sinh;
    case Unary::cosh:
      return std::cosh;
    case Unary::asinh:
      return std::asinh;
    case Unary::acosh:
      return std::acosh;
    case Unary::atanh:
      return std::atanh;
    case Unary::expm1:
      return std::expm1;
    case Unary::log1p:
      return std::log1p;
    case Unary::log2:
      return std::log2;
    case Unary::log10:
      return std::log10;
    case Unary::erf:
      return std::erf;
    case Unary::erfc:
      return std::erfc;
    case Unary::erfinv:
      return erfinv;
    case Unary::lgamma:
      return std::lgamma;
    case Unary::sinc:
      return sinc;
    default:
      return softplus;
  }
}

template <class T>
void unary_number(Unary op, Operand x, void* y, const int64_t* shape, int rank) noexcept {
  const auto run = [&](auto f) { map1<T>(x, y, shape, rank, f); };
  switch (op) {
    case Unary::neg:
      return run([](T v) {
        if constexpr (std::is_floating_point_v<T>) return -v;
        return static_cast<T>(W<T>(0) - static_cast<W<T>>(v));
      });
    case Unary::abs:
      return run([](T v) {
        if constexpr (std::is_floating_point_v<T>) return std::fabs(v);
        return v < T(0) ? static_cast<T>(W<T>(0) - static_cast<W<T>>(v)) : v;
      });
    case Unary::square:
      return run([](T v) { return static_cast<T>(static_cast<W<T>>(v) * static_cast<W<T>>(v)); });
    case Unary::relu:
      return run([](T v) { return v <= T(0) ? T(0) : v; });  // NaN stays NaN
    case Unary::sign:
      return run([](T v) { return static_cast<T>(v != v ? v : T(v > T(0)) - T(v < T(0))); });
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Unary::sqrt:
        return run([](T v) { return std::sqrt(v); });
      case Unary::reciprocal:
        return run([](T v) { return T(1) / v; });
      case Unary::floor:
        return run([](T v) { return std::floor(v); });
      case Unary::ceil:
        return run([](T v) { return std::ceil(v); });
      case Unary::round:
        return run([](T v) { return std::nearbyint(v); });
      case Unary::trunc:
        return run([](T v) { return std::trunc(v); });
      default:
        break;
    }
    if constexpr (std::is_same_v<T, float>) {
      const auto run4 = [&](auto f) { map_f32(x, y, shape, rank, f); };
      switch (op) {
        case Unary::exp:
          return run4([](f32x4 v) { return vexp(v); });
        case Unary::log:
          return run4([](f32x4 v) { return vlog(v); });
        case Unary::sigmoid:
          return run4([](f32x4 v) { return vsigmoid(v); });
        case Unary::tanh:
          return run4([](f32x4 v) { return vtanh(v); });
        default:
          break;
      }
    }
    unary_double<T>(double_function(op), x, y, shape, rank);
  }
}

}  // namespace

void unary(Unary op, DType dtype, Operand x, void* y, const int64_t* shape, int rank) noexcept {
  visit_number(dtype, [&]<class T>() { unary_number<T>(op, x, y, shape, rank); });
}

}  // namespace omnigrad::kernels
