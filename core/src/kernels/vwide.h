// sin, cos, expm1 and log1p of float vectors: computed in doubles, two lanes at a time, so that they are
// right to the last bit but for rare ties; the same bits on every target. Doubles go through the C library
// (unary.cpp).
#pragma once

#include <cmath>

#include "kernels/vmath.h"

namespace omnigrad::kernels {

namespace vmath_detail {

// f of the two halves of x.
template <class F>
inline f32x4 wide(f32x4 x, const F& f) {
  using f32x2 = float __attribute__((vector_size(8)));
  const f64x2 low = f(__builtin_convertvector(__builtin_shufflevector(x, x, 0, 1), f64x2));
  const f64x2 high = f(__builtin_convertvector(__builtin_shufflevector(x, x, 2, 3), f64x2));
  return __builtin_shufflevector(__builtin_convertvector(low, f32x2), __builtin_convertvector(high, f32x2), 0,
                                 1, 2, 3);
}

// Below it n has 20 bits, and its product with the high part of pi/2 is exact.
inline constexpr float kTrigLimit = 1048576.0f;

// sin(x + quadrant * pi/2) for |x| < kTrigLimit: x = n pi/2 + r, the polynomials of fdlibm's k_sinf and
// k_cosf in r.
inline f64x2 sine(f64x2 x, int64_t quadrant) {
  const f64x2 magic = splat(6755399441055744.0);
  const f64x2 t = x * splat(6.36619772367581382433e-01) + magic, n = t - magic;
  const f64x2 r = (x - n * splat(1.57079631090164184570)) - n * splat(1.58932547735281966916e-08);
  const f64x2 z = r * r;
  f64x2 s = splat(2.7183114939898219064e-06);
  s = s * z + splat(-1.98393348360966317347e-04);
  s = s * z + splat(8.3333293858894631756e-03);
  s = s * z + splat(-1.66666666416265235595e-01);
  s = (s * z + splat(1.0)) * r;  // -0 for -0
  f64x2 c = splat(2.43904487962774090654e-05);
  c = c * z + splat(-1.38867637746099294692e-03);
  c = c * z + splat(4.16666233237390631894e-02);
  c = c * z + splat(-4.99999997251031003120e-01);
  c = c * z + splat(1.0);
  const i64x2 turn = bits(t) + i64x2{quadrant, quadrant};
  const i64x2 odd = i64x2{} - (turn & i64x2{1, 1});
  const i64x2 sign = (turn & i64x2{2, 2}) << 62;
  return from_bits(bits(select(odd, c, s)) ^ sign);
}

[[gnu::noinline]] inline f32x4 far_sine(f32x4 x, f32x4 y, int64_t quadrant) {
  for (int i = 0; i < 4; ++i) {
    if (std::fabs(x[i]) < kTrigLimit) continue;
    const double v = static_cast<double>(x[i]);
    y[i] = static_cast<float>(quadrant == 0 ? std::sin(v) : std::cos(v));
  }
  return y;
}

inline f32x4 sine(f32x4 x, int64_t quadrant) {
  const i32x4 near = vabs(x) < splat(kTrigLimit);
  const f32x4 y = wide(from_bits(bits(x) & near), [quadrant](f64x2 v) { return sine(v, quadrant); });
  return any(~near) ? far_sine(x, y, quadrant) : y;
}

// exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1), which is exact where n is 0.
inline f64x2 expm1(f64x2 x) {
  x = pmin(pmax(x, splat(-104.0)), splat(104.0));
  const f64x2 magic = splat(6755399441055744.0 + 1023.0);
  const f64x2 t = x * splat(1.4426950408889634073599) + magic;
  const f64x2 scale = from_bits(bits(t) << 52), r = reduced(x, t - magic);
  return exp_polynomial(r) * scale + (scale - splat(1.0));
}

// What rounding took from 1 + x is given back.
inline f64x2 log1p(f64x2 x) {
  const f64x2 u = splat(1.0) + x, rest = (x - (u - splat(1.0))) / u;
  return vlog(u) + select(rest == rest, rest, f64x2{});  // of -1 and of infinity there is none
}

}  // namespace vmath_detail

// sin(x + quadrant * pi/2): 0 for the sine, 1 for the cosine.
inline f32x4 vsine(f32x4 x, int64_t quadrant) { return vmath_detail::sine(x, quadrant); }
inline f32x4 vexpm1(f32x4 x) {
  const f32x4 y = vmath_detail::wide(x, [](f64x2 v) { return vmath_detail::expm1(v); });
  return select(x == splat(0.0f), x, y);  // -0 for -0
}
inline f32x4 vlog1p(f32x4 x) {
  const f32x4 y = vmath_detail::wide(x, [](f64x2 v) { return vmath_detail::log1p(v); });
  return select(x == splat(0.0f), x, y);
}

}  // namespace omnigrad::kernels
