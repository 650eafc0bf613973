// sin and cos of float vectors: computed in doubles, two lanes at a time, so that they are right to the last
// bit but for rare ties; the same bits on every target. Doubles go through the C library (unary.cpp).
#pragma once

#include <cmath>

#include "kernels/vmath.h"

namespace omnigrad::kernels {

namespace vmath_detail {

inline constexpr float kTrigLimit = 1048576.0f;  // below it n has 20 bits, and n * kHalfPiHigh is exact

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
  using f32x2 = float __attribute__((vector_size(8)));
  const i32x4 near = vabs(x) < splat(kTrigLimit);
  const f32x4 v = from_bits(bits(x) & near);
  const f64x2 low = sine(__builtin_convertvector(__builtin_shufflevector(v, v, 0, 1), f64x2), quadrant);
  const f64x2 high = sine(__builtin_convertvector(__builtin_shufflevector(v, v, 2, 3), f64x2), quadrant);
  const f32x4 y = __builtin_shufflevector(__builtin_convertvector(low, f32x2),
                                          __builtin_convertvector(high, f32x2), 0, 1, 2, 3);
  return any(~near) ? far_sine(x, y, quadrant) : y;
}

}  // namespace vmath_detail

inline f32x4 vsin(f32x4 x) { return vmath_detail::sine(x, 0); }
inline f32x4 vcos(f32x4 x) { return vmath_detail::sine(x, 1); }

}  // namespace omnigrad::kernels
