#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/simd.h"
#include "kernels/special.h"
#include "kernels/strided.h"
#include "kernels/wrapping.h"

namespace omnigrad::kernels {
namespace {

// Two operands and the walk over them, made once a call.
struct Pair {
  const void *a, *b;
  void* y;
  Strided loop;
  int64_t sa, sb;
  bool one_b;  // the second operand is one element

  Pair(Operand p, Operand q, void* out, const int64_t* shape, int rank) noexcept
      : a(p.data), b(q.data), y(out), loop(walk(p, q, shape, rank)) {
    sa = loop.inner_stride(1), sb = loop.inner_stride(2);
    one_b = std::all_of(q.strides, q.strides + rank, [](int64_t s) { return s == 0; });
  }
  static Strided walk(Operand p, Operand q, const int64_t* shape, int rank) noexcept {
    int64_t ys[kMaxAxes];
    dense_strides(shape, rank, ys);
    return Strided(shape, rank, {ys, p.strides, q.strides});
  }
};

// kChoice: of doubles too, contiguous operands go by vectors (why is in unary.cpp).
template <class T, class U, bool kChoice = false, class F>
void map2(const Pair& x, const F& f) noexcept {
  x.loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
    U* out = static_cast<U*>(x.y) + offset[0];
    const T* p = static_cast<const T*>(x.a) + offset[1];
    const T* q = static_cast<const T*>(x.b) + offset[2];
    const int64_t sa = x.sa, sb = x.sb;
    if constexpr (std::is_same_v<T, float> || (kChoice && std::is_same_v<T, double>)) {
      if (sa == 1 && sb == 1) {
        for (int64_t i = 0; i < n; ++i) out[i] = f(p[i], q[i]);
        return;
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      if (sa == 1 && sb == 0) {
        const T v = *q;
        for (int64_t i = 0; i < n; ++i) out[i] = f(p[i], v);
        return;
      }
      if (sa == 0 && sb == 1) {
        const T v = *p;
        for (int64_t i = 0; i < n; ++i) out[i] = f(v, q[i]);
        return;
      }
    }
    OMNIGRAD_SMALL_LOOP
    for (int64_t i = 0; i < n; ++i) out[i] = f(p[i * sa], q[i * sb]);
  });
}

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
T truncated_remainder(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    // The least number over -1 overflows, and leaves nothing anyway.
    return b == T(0) || (std::is_signed_v<T> && b == T(-1)) ? T(0) : static_cast<T>(a % b);
  }
}
template <class T>
T remainder(T a, T b) noexcept {
  const T r = truncated_remainder(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? static_cast<T>(r + b) : r;
}

template <class T>
T floor_divide(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::floor(a / b);
  } else {
    const T q = divide(a, b);
    return b != T(0) && truncated_remainder(a, b) != T(0) && (a < T(0)) != (b < T(0)) ? static_cast<T>(q - 1)
                                                                                      : q;
  }
}

double polygamma_of(double n, double x) { return polygamma(static_cast<int>(n), x); }

// v to the power kTwice / 2, as pow has it: of -0 the root is 0, of -infinity infinity.
template <int kTwice, class T>
T half_power(T v) noexcept {
  if constexpr (kTwice < 0) return T(1) / half_power<-kTwice>(v);
  if constexpr (kTwice == 2) return v;
  if constexpr (kTwice == 4) return v * v;
  if constexpr (kTwice == 6) return v * v * v;
  return v < -std::numeric_limits<T>::max() ? -v : std::sqrt(v + T(0));
}

// f(twice the exponent, as a constant) for the powers that programs take; false for others.
template <class F>
bool visit_power(double exponent, const F& f) noexcept {
  const auto is = [&]<int kTwice>(std::integral_constant<int, kTwice> twice) {
    if (exponent != 0.5 * kTwice) return false;
    f(twice);
    return true;
  };
  return is(std::integral_constant<int, 4>()) || is(std::integral_constant<int, 1>()) ||
         is(std::integral_constant<int, 6>()) || is(std::integral_constant<int, 2>()) ||
         is(std::integral_constant<int, -2>()) || is(std::integral_constant<int, -1>()) ||
         is(std::integral_constant<int, -4>());
}

double power(double v, double exponent) {
  double r;
  if (visit_power(exponent, [&](auto twice) { r = half_power<decltype(twice)::value>(v); })) return r;
  return std::pow(v, exponent);
}

// Contiguous floats to one of those powers. A double's result, rounded, is what a float's rounded operation
// gives, so that an exponent of one number has the bits of a tensor of it; where there are two, in doubles.
bool constant_power(const Pair& x) noexcept {
  if (!x.one_b || x.sa != 1) return false;
  return visit_power(static_cast<double>(*static_cast<const float*>(x.b)), [&](auto twice) {
    constexpr int kTwice = decltype(twice)::value;
    using Inner = std::conditional_t<kTwice == 6 || kTwice == -1 || kTwice == -4, double, float>;
    x.loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
      float* out = static_cast<float*>(x.y) + offset[0];
      const float* p = static_cast<const float*>(x.a) + offset[1];
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<float>(half_power<kTwice>(static_cast<Inner>(p[i])));
    });
  });
}

// One function of doubles serves both floating dtypes.
double (*double_function(Binary op) noexcept)(double, double) {
  switch (op) {
    case Binary::pow:
      return power;
    case Binary::atan2:
      return std::atan2;
    case Binary::hypot:
      return std::hypot;
    default:
      return polygamma_of;
  }
}

template <class T>
void binary_number(Binary op, const Pair& x) noexcept {
  const auto run = [&](auto f) { map2<T, T>(x, f); };
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
    case Binary::floor_divide:
      return run([](T p, T q) { return floor_divide(p, q); });
    case Binary::remainder:
      return run([](T p, T q) { return remainder(p, q); });
    case Binary::fmod:
      return run([](T p, T q) { return truncated_remainder(p, q); });
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if constexpr (std::is_same_v<T, float>)
      if (op == Binary::pow && constant_power(x)) return;
    if (op == Binary::relu_grad) return map2<T, T, true>(x, [](T g, T v) { return v > T(0) ? g : T(0); });
    double (*f)(double, double) = double_function(op);
    run([f](T p, T q) { return static_cast<T>(f(static_cast<double>(p), static_cast<double>(q))); });
  }
}

// out[i] = c[i] ? p[i] : q[i] by vectors; a step of 0 repeats the first.
void choose(const bool* c, const uint32_t* p, int64_t p_step, const uint32_t* q, int64_t q_step,
            uint32_t* out, int64_t count) noexcept {
  using u8x4 = uint8_t __attribute__((vector_size(4)));
  const ptrdiff_t n = static_cast<ptrdiff_t>(count);
  const ptrdiff_t ps = static_cast<ptrdiff_t>(p_step), qs = static_cast<ptrdiff_t>(q_step);
  const auto four = [](const uint32_t* from, ptrdiff_t step) {
    i32x4 v;
    if (step == 0)
      v = i32x4{} + static_cast<int32_t>(*from);
    else
      std::memcpy(&v, from, sizeof v);
    return v;
  };
  ptrdiff_t i = 0;
  for (; i + 4 <= n; i += 4) {
    u8x4 bytes;
    std::memcpy(&bytes, c + i, sizeof bytes);
    const i32x4 mask = __builtin_convertvector(bytes, i32x4) != 0;
    const i32x4 v = select(mask, four(p + i * ps, ps), four(q + i * qs, qs));
    std::memcpy(out + i, &v, sizeof v);
  }
  for (; i < n; ++i) out[i] = c[i] ? p[i * ps] : q[i * qs];
}

}  // namespace

void binary(Binary op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept {
  const Pair x(a, b, y, shape, rank);
  visit_number(dtype, [&]<class T>() { binary_number<T>(op, x); });
}

void compare(Compare op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape,
             int rank) noexcept {
  const Pair x(a, b, y, shape, rank);
  visit_number(dtype, [&]<class T>() {
    const auto run = [&](auto f) { map2<T, bool>(x, f); };
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
      if constexpr (sizeof(T) == 4)
        if (sc == 1 && (sa == 0 || sa == 1) && (sb == 0 || sb == 1)) return choose(c, p, sa, q, sb, out, n);
      for (int64_t i = 0; i < n; ++i) out[i] = c[i * sc] ? p[i * sa] : q[i * sb];
    });
  };
  if (bytes == 8) return run(uint64_t());
  if (bytes == 4) return run(uint32_t());
  run(uint8_t());
}

}  // namespace omnigrad::kernels
