// exp, log, tanh, sigmoid, softplus and erf on 16-byte vectors, for kernels: polynomials, within 2 ulp of the
// true value for every input, denormals, infinities and NaN included, and the same bits on every target; only
// erf of doubles is the C library's. A tail runs the same code on a padded register. No loops over arrays
// here.
#pragma once

#include <cmath>

#include "kernels/simd.h"

namespace omnigrad::kernels {

namespace vmath_detail {

inline i32x4 bits(f32x4 v) { return reinterpret_cast<i32x4>(v); }
inline f32x4 from_bits(i32x4 v) { return reinterpret_cast<f32x4>(v); }
inline i32x4 splat_bits(int32_t v) { return i32x4{v, v, v, v}; }
inline f32x4 vabs(f32x4 x) { return from_bits(bits(x) & splat_bits(0x7fffffff)); }

// exp(r) - 1 for |r| <= ln(2) / 2.
inline f32x4 exp_polynomial(f32x4 r) {
  f32x4 p = splat(1.9875691500e-4f);
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  return r * r * p + r;
}

// exp(x), and in `rest` what its last addition rounded away, relative to the result.
inline f32x4 exp_and_rest(f32x4 x, f32x4& rest) {
  // Beyond these bounds the result is 0 or infinity anyway. The order of operands lets NaN through.
  x = pmin(pmax(x, splat(-105.0f)), splat(89.0f));
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits: cheaper than a conversion.
  const f32x4 magic = splat(12582912.0f);
  const f32x4 t = x * splat(1.44269504f) + magic;
  const f32x4 n = t - magic;
  const f32x4 r = (x - n * splat(0.693359375f)) - n * splat(-2.12194440e-4f);
  const f32x4 q = exp_polynomial(r);
  const f32x4 p = q + splat(1.0f);
  rest = (q - (p - splat(1.0f))) * (splat(2.0f) - p);  // 2 - p for 1 / p
  // 2^n in two factors, so that n of -150 and 128 work and a denormal result is rounded once.
  const i32x4 k = bits(t) - bits(magic);
  const i32x4 half = k >> 1;
  const i32x4 one = splat_bits(0x3f800000);
  return p * from_bits((half << 23) + one) * from_bits(((k - half) << 23) + one);
}

}  // namespace vmath_detail

inline f32x4 vexp(f32x4 x) {
  f32x4 rest;
  return vmath_detail::exp_and_rest(x, rest);
}

inline f32x4 vlog(f32x4 x) {
  using namespace vmath_detail;
  // x = 2^k * m with m in [sqrt(1/2), sqrt(2)); log(m) by an odd polynomial in (m - 1) / (m + 1).
  const i32x4 denormal = x < splat(1.17549435e-38f);
  const i32x4 u = bits(select(denormal, x * splat(8388608.0f), x)) + splat_bits(0x3f800000 - 0x3f3504f3);
  const i32x4 k = (u >> 23) - splat_bits(127) - (denormal & splat_bits(23));
  const f32x4 f = from_bits((u & splat_bits(0x007fffff)) + splat_bits(0x3f3504f3)) - splat(1.0f);
  const f32x4 s = f / (splat(2.0f) + f);
  const f32x4 z = s * s, w = z * z;
  const f32x4 odd = w * (splat(0.40000972152f) + w * splat(0.24279078841f));
  const f32x4 even = z * (splat(0.66666662693f) + w * splat(0.28498786688f));
  const f32x4 half_square = splat(0.5f) * f * f;
  const f32x4 e = __builtin_convertvector(k, f32x4);
  f32x4 y = s * (half_square + (odd + even)) + e * splat(9.0580006145e-6f) - half_square + f +
            e * splat(6.9313812256e-1f);
  const f32x4 infinity = splat(__builtin_inff());
  y = select(x < infinity, y, x);  // infinity and NaN are their own logarithm
  y = select(x == splat(0.0f), -infinity, y);
  return select(x < splat(0.0f), splat(__builtin_nanf("")), y);
}

inline f32x4 vtanh(f32x4 x) {
  using namespace vmath_detail;
  const f32x4 a = vabs(x);
  const f32x4 z = a * a;
  f32x4 p = splat(-5.70498872745e-3f);
  p = p * z + splat(2.06390887954e-2f);
  p = p * z - splat(5.37397155531e-2f);
  p = p * z + splat(1.33314422036e-1f);
  p = p * z - splat(3.33332819422e-1f);
  const f32x4 small = p * z * a + a;
  const f32x4 large = splat(1.0f) - splat(2.0f) / (vexp(a + a) + splat(1.0f));
  const f32x4 y = select(a < splat(0.625f), small, large);
  return from_bits(bits(y) | (bits(x) & splat_bits(INT32_MIN)));
}

inline f32x4 vsigmoid(f32x4 x) {
  using namespace vmath_detail;
  // exp of -|x| cannot overflow, and keeps the far negative side relatively exact.
  f32x4 rest;
  const f32x4 e = exp_and_rest(-vabs(x), rest);
  const i32x4 negative = x < splat(0.0f);
  const f32x4 d = splat(1.0f) + e;
  const f32x4 y = select(negative, e, splat(1.0f)) / d;
  // What rounding took from e and from 1 + e, given back: 2.3 ulp becomes 1.4.
  return y + y * (select(negative, rest, splat(0.0f)) - (e - (d - splat(1.0f))));
}

// exp(x) for x <= 0, within 1.4 ulp; 0 from -88 down, so that hardly a result is denormal, which is slow. The
// magic number leaves n + 127 in the low bits, 2^n as it is: 0 for n of -127. Coefficients by Remez, for the
// least relative error of exp on |r| <= ln(2) / 2: 2.5e-9. The order of pmax's operands lets NaN through.
inline f32x4 vexp_flush(f32x4 x) {
  using namespace vmath_detail;
  x = pmax(x, splat(-88.0f));
  const f32x4 magic = splat(12582912.0f + 127.0f);
  const f32x4 t = x * splat(1.44269504f) + magic;
  const f32x4 scale = from_bits(bits(t) << 23);
  const f32x4 n = t - magic;
  const f32x4 r = (x - n * splat(6.931457520e-01f)) - n * splat(1.428606765e-06f);
  f32x4 p = splat(1.39411607538e-3f);
  p = p * r + splat(8.37516828895e-3f);
  p = p * r + splat(4.16663522681e-2f);
  p = p * r + splat(1.66664150113e-1f);
  p = p * r + splat(5.00000004726e-1f);
  p = p * r + splat(1.0f);
  return r * scale * p + scale;
}

// Two polynomials, of x below and of exp's argument above: N. Juffa's erff, in multiplications and additions.
inline f32x4 verf(f32x4 x) {
  using namespace vmath_detail;
  const f32x4 t = vabs(x), s = x * x;
  f32x4 p = splat(-5.96761703e-4f);
  p = p * s + splat(4.99119423e-3f);
  p = p * s + splat(-2.67681349e-2f);
  p = p * s + splat(1.12819925e-1f);
  p = p * s + splat(-3.76125336e-1f);
  p = p * s + splat(1.28379166e-1f);
  const f32x4 small = p * x + x;
  f32x4 r = splat(-1.72853470e-5f) * t + splat(3.83197126e-4f);
  const f32x4 u = splat(-3.88396438e-3f) * t + splat(2.42546219e-2f);
  r = r * s + u;
  r = r * t + splat(-1.06777877e-1f);
  r = r * t + splat(-6.34846687e-1f);
  r = r * t + splat(-1.28717512e-1f);
  r = r * t - t;
  const f32x4 y = splat(1.0f) - vexp_flush(select(t < splat(4.0f), r, splat(-100.0f)));
  const f32x4 large = from_bits(bits(y) | (bits(x) & splat_bits(INT32_MIN)));
  return select(x != x, x, select(t > splat(0.927734375f), large, small));
}

// ---- doubles: SLEEF's exp, Cephes' tanh, fdlibm's log. Out of line (vmath.cpp): they are long, and seldom
// what counts.

f64x2 vexp(f64x2 x);
f64x2 vlog(f64x2 x);
f64x2 vtanh(f64x2 x);
f64x2 vsigmoid(f64x2 x);
f64x2 vsoftplus(f64x2 x);

namespace vmath_detail {

inline i64x2 bits(f64x2 v) { return reinterpret_cast<i64x2>(v); }
inline f64x2 from_bits(i64x2 v) { return reinterpret_cast<f64x2>(v); }
inline f64x2 with_sign(f64x2 y, f64x2 x) { return from_bits(bits(y) | (bits(x) & bits(splat(-0.0)))); }

// x - n ln(2), and exp(r) - 1 of that, by SLEEF's polynomial.
inline f64x2 reduced(f64x2 x, f64x2 n) {
  return (x - n * splat(6.93145751953125e-1)) - n * splat(1.42860682030941723212e-6);
}
inline f64x2 exp_polynomial(f64x2 r) {
  f64x2 p = splat(2.08860621107283687536341e-09);
  p = p * r + splat(2.51112930892876518610661e-08);
  p = p * r + splat(2.75573911234900471893338e-07);
  p = p * r + splat(2.75572362911928827629423e-06);
  p = p * r + splat(2.4801587159235472998791e-05);
  p = p * r + splat(0.000198412698960509205564975);
  p = p * r + splat(0.00138888888889774492207962);
  p = p * r + splat(0.00833333333331652721664984);
  p = p * r + splat(0.0416666666666665047591422);
  p = p * r + splat(0.166666666666666851703837);
  p = p * r + splat(0.5);
  return r * r * p + r;
}

inline f64x2 vabs(f64x2 x) {
  return reinterpret_cast<f64x2>(reinterpret_cast<i64x2>(x) & i64x2{INT64_MAX, INT64_MAX});
}
}  // namespace vmath_detail

// As of floats, 0 from -709 down; within 1.6 ulp, the polynomial's error is 3.4e-18. Even and odd powers
// apart halve the chain of dependent steps. In line, unlike the others: softmax and attention spend their
// time here, and out of line its constants would be made anew at every call.
inline f64x2 vexp_flush(f64x2 x) {
  using namespace vmath_detail;
  x = pmax(x, splat(-709.0));
  const f64x2 magic = splat(6755399441055744.0 + 1023.0);
  const f64x2 t = x * splat(1.4426950408889634073599) + magic;
  const f64x2 scale = from_bits(bits(t) << 52);
  const f64x2 r = reduced(x, t - magic), q = r * r;
  f64x2 even = splat(2.4991407426296243621e-8) * q + splat(2.7557626858711035517e-6);
  f64x2 odd = splat(2.7631048485861259163e-7) * q + splat(2.4801490598675956616e-5);
  even = even * q + splat(1.984126943651520252e-4);
  odd = odd * q + splat(1.3888888946386377212e-3);
  even = even * q + splat(8.3333333335498810005e-3);
  odd = odd * q + splat(4.1666666666517712394e-2);
  even = even * q + splat(1.6666666666666216754e-1);
  odd = odd * q + splat(5.0000000000000125059e-1);
  even = even * q + splat(1.0);
  return r * scale * (odd * r + even) + scale;
}

inline f64x2 verf(f64x2 x) { return f64x2{std::erf(x[0]), std::erf(x[1])}; }

namespace vmath_detail {
template <class V>
inline V softplus(V x) {
  const V e = vexp(-vabs(x)), one = V{} + 1, u = one + e;
  // log(1 + e), with what rounding took from 1 + e given back.
  const V tail = vlog(u) + (e - (u - one)) / u;
  return pmax(x, V{}) + tail;
}
}  // namespace vmath_detail
// log(1 + exp(x)).
inline f32x4 vsoftplus(f32x4 x) { return vmath_detail::softplus(x); }

}  // namespace omnigrad::kernels
