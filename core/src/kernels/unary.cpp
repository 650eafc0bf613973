#include <cmath>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/special.h"
#include "kernels/strided.h"
#include "kernels/vmath.h"
#include "kernels/vwide.h"
#include "kernels/wrapping.h"

namespace omnigrad::kernels {
namespace {

// The operand and the walk over it, made once a call.
struct Single {
  const void* x;
  void* y;
  Strided loop;
  int64_t s;

  Single(Operand in, void* out, const int64_t* shape, int rank) noexcept
      : x(in.data), y(out), loop(walk(in, shape, rank)), s(loop.inner_stride(1)) {}
  static Strided walk(Operand in, const int64_t* shape, int rank) noexcept {
    int64_t ys[kMaxAxes];
    dense_strides(shape, rank, ys);
    return Strided(shape, rank, {ys, in.strides});
  }
};

// Of doubles, what signs decide is worth vectors: engines make a branch of a choice between two,
// which is mispredicted every other time.
template <class T, bool kChoice>
constexpr bool kVectors = std::is_same_v<T, float> || (kChoice && std::is_same_v<T, double>);

// y[i] = f(x[i]) by the scalar function; the compiler vectorises what is exact.
template <class T, bool kChoice = false, class F>
void map1(const Single& op, const F& f) noexcept {
  op.loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
    T* out = static_cast<T*>(op.y) + offset[0];
    const T* in = static_cast<const T*>(op.x) + offset[1];
    const int64_t s = op.s;
    if constexpr (kVectors<T, kChoice>) {
      if (s == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
        return;
      }
    }
    OMNIGRAD_SMALL_LOOP
    for (int64_t i = 0; i < n; ++i) out[i] = f(in[i * s]);
  });
}

// y[i] = f(x[i]) by a function of a vector, once in the loop: strided operands and tails go through a
// register's worth of memory.
template <class T, class F>
void map_vectors(const Single& op, const F& f) noexcept {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t s = static_cast<ptrdiff_t>(op.s);
  op.loop.for_rows(kGrain / 4, [&](const int64_t* offset, int64_t count) noexcept {
    T* out = static_cast<T*>(op.y) + offset[0];
    const T* in = static_cast<const T*>(op.x) + offset[1];
    for (ptrdiff_t n = static_cast<ptrdiff_t>(count); n > 0; n -= L, in += L * s, out += L) {
      T line[L] = {};
      const T* from = in;
      if (s != 1 || n < L) {
        for (ptrdiff_t k = 0; k < L && k < n; ++k) line[k] = in[k * s];
        from = line;
      }
      const Vec<T> r = f(load(from));
      if (n >= L) {
        store(out, r);
      } else {
        store_partial(out, r, static_cast<int>(n));
      }
    }
  });
}

// One function of a double serves both floating dtypes: for float it is right to the last bit or the one
// before.
template <class T>
void unary_double(double (*f)(double), const Single& x) noexcept {
  map1<T>(x, [f](T v) { return static_cast<T>(f(static_cast<double>(v))); });
}

using DoubleFunction = double (*)(double);

DoubleFunction double_function(Unary op) noexcept {
  switch (op) {
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
    default:
      return sinc;
  }
}

template <class T>
void unary_number(Unary op, const Single& x) noexcept {
  const auto run = [&](auto f) { map1<T>(x, f); };
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
      // NaN stays NaN. The sum makes 0 of -0, which by vectors may be left by the choice (f32x4.pmax).
      return map1<T, true>(x, [](T v) { return static_cast<T>((v < T(0) ? T(0) : v) + T(0)); });
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
    const auto run_vectors = [&](auto f) {
      if constexpr (std::is_same_v<T, float>) {
        map_vectors<float>(x, f);
      } else {  // one loop for all
        f64x2 (*const function)(f64x2) = f;
        map_vectors<double>(x, function);
      }
    };
    switch (op) {
      case Unary::exp:
        return run_vectors([](Vec<T> v) { return vexp(v); });
      case Unary::log:
        return run_vectors([](Vec<T> v) { return vlog(v); });
      case Unary::sigmoid:
        return run_vectors([](Vec<T> v) { return vsigmoid(v); });
      case Unary::tanh:
        return run_vectors([](Vec<T> v) { return vtanh(v); });
      case Unary::softplus:
        return run_vectors([](Vec<T> v) { return vsoftplus(v); });
      default:
        break;
    }
    if constexpr (std::is_same_v<T, float>) {
      switch (op) {
        case Unary::erf:
          return run_vectors([](f32x4 v) { return verf(v); });
        case Unary::sin:
        case Unary::cos:
          return run_vectors([quadrant = int64_t{op == Unary::cos}](f32x4 v) { return vsine(v, quadrant); });
        case Unary::expm1:
          return run_vectors([](f32x4 v) { return vexpm1(v); });
        case Unary::log1p:
          return run_vectors([](f32x4 v) { return vlog1p(v); });
        default:
          break;
      }
    }
    unary_double<T>(double_function(op), x);
  }
}

}  // namespace

void unary(Unary op, DType dtype, Operand x, void* y, const int64_t* shape, int rank) noexcept {
  const Single operand(x, y, shape, rank);
  visit_number(dtype, [&]<class T>() { unary_number<T>(op, operand); });
}

}  // namespace omnigrad::kernels
