#include "kernels/elementwise.h"

#include <cmath>
#include <type_traits>

#include "kernels/strided.h"
#include "kernels/vmath.h"

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
    if (s == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = f(in[i * s]);
    }
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

template <class T, class U, class F>
void map2(Operand a, Operand b, void* y, const int64_t* shape, int rank, const F& f) noexcept {
  int64_t ys[kMaxAxes];
  dense_strides(shape, rank, ys);
  const Strided loop(shape, rank, {ys, a.strides, b.strides});
  const int64_t sa = loop.inner_stride(1), sb = loop.inner_stride(2);
  loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
    U* out = static_cast<U*>(y) + offset[0];
    const T* p = static_cast<const T*>(a.data) + offset[1];
    const T* q = static_cast<const T*>(b.data) + offset[2];
    if (sa == 1 && sb == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = f(p[i], q[i]);
    } else if (sa == 1 && sb == 0) {
      const T v = *q;
      for (int64_t i = 0; i < n; ++i) out[i] = f(p[i], v);
    } else if (sa == 0 && sb == 1) {
      const T v = *p;
      for (int64_t i = 0; i < n; ++i) out[i] = f(v, q[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = f(p[i * sa], q[i * sb]);
    }
  });
}

// Unsigned arithmetic wraps where signed would be undefined.
template <class T>
struct Wrapping {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T>)
struct Wrapping<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using W = typename Wrapping<T>::type;

template <class T>
T divide(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(W<T>(0) - static_cast<W<T>>(a));
    }
  }
  return a / b;
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
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Unary::sqrt:
        return run([](T v) { return std::sqrt(v); });
      case Unary::reciprocal:
        return run([](T v) { return T(1) / v; });
      case Unary::sin:
        return run([](T v) { return std::sin(v); });
      case Unary::cos:
        return run([](T v) { return std::cos(v); });
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
    } else {
      switch (op) {
        case Unary::exp:
          return run([](T v) { return std::exp(v); });
        case Unary::log:
          return run([](T v) { return std::log(v); });
        case Unary::sigmoid:
          return run([](T v) {
            const T e = std::exp(-std::fabs(v));
            return v >= 0 ? 1 / (1 + e) : e / (1 + e);
          });
        case Unary::tanh:
          return run([](T v) { return std::tanh(v); });
        default:
          break;
      }
    }
  }
}

template <class T>
void binary_number(Binary op, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept {
  const auto run = [&](auto f) { map2<T, T>(a, b, y, shape, rank, f); };
  switch (op) {
    case Binary::add:
      return run([](T p, T q) { return static_cast<T>(static_cast<W<T>>(p) + static_cast<W<T>>(q)); });
    case Binary::sub:
      return run([](T p, T q) { return static_cast<T>(static_cast<W<T>>(p) - static_cast<W<T>>(q)); });
    case Binary::mul:
      return run([](T p, T q) { return static_cast<T>(static_cast<W<T>>(p) * static_cast<W<T>>(q)); });
    case Binary::div:
      return run([](T p, T q) { return divide(p, q); });
    // NaN wins, as in PyTorch.
    case Binary::maximum:
      return run([](T p, T q) { return p != p || p > q ? p : q; });
    case Binary::minimum:
      return run([](T p, T q) { return p != p || p < q ? p : q; });
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Binary::pow:
        return run([](T p, T q) { return std::pow(p, q); });
      case Binary::relu_grad:
        return run([](T g, T v) { return v > T(0) ? g : T(0); });
      default:
        break;
    }
  }
}

template <class F>
void visit_number(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::int32:
      return f.template operator()<int32_t>();
    case DType::int64:
      return f.template operator()<int64_t>();
    default:
      return f.template operator()<uint8_t>();  // bool compares as its byte
  }
}

}  // namespace

void unary(Unary op, DType dtype, Operand x, void* y, const int64_t* shape, int rank) noexcept {
  visit_number(dtype, [&]<class T>() { unary_number<T>(op, x, y, shape, rank); });
}

void binary(Binary op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept {
  visit_number(dtype, [&]<class T>() { binary_number<T>(op, a, b, y, shape, rank); });
}

void compare(Compare op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape,
             int rank) noexcept {
  visit_number(dtype, [&]<class T>() {
    const auto run = [&](auto f) { map2<T, bool>(a, b, y, shape, rank, f); };
    switch (op) {
      case Compare::eq:
        return run([](T p, T q) { return p == q; });
      case Compare::ne:
        return run([](T p, T q) { return p != q; });
      case Compare::lt:
        return run([](T p, T q) { return p < q; });
      case Compare::le:
        return run([](T p, T q) { return p <= q; });
      case Compare::gt:
        return run([](T p, T q) { return p > q; });
      case Compare::ge:
        return run([](T p, T q) { return p >= q; });
    }
  });
}

void where(Operand condition, int bytes, Operand a, Operand b, void* y, const int64_t* shape,
           int rank) noexcept {
  int64_t ys[kMaxAxes];
  dense_strides(shape, rank, ys);
  const Strided loop(shape, rank, {ys, condition.strides, a.strides, b.strides});
  const int64_t sc = loop.inner_stride(1), sa = loop.inner_stride(2), sb = loop.inner_stride(3);
  const auto run = [&]<class T>(T) {
    loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
      T* out = static_cast<T*>(y) + offset[0];
      const bool* c = static_cast<const bool*>(condition.data) + offset[1];
      const T* p = static_cast<const T*>(a.data) + offset[2];
      const T* q = static_cast<const T*>(b.data) + offset[3];
      for (int64_t i = 0; i < n; ++i) out[i] = c[i * sc] ? p[i * sa] : q[i * sb];
    });
  };
  if (bytes == 8) return run(uint64_t());
  if (bytes == 4) return run(uint32_t());
  run(uint8_t());
}

}  // namespace omnigrad::kernels
