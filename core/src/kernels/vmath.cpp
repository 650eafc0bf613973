// The functions of doubles; what they promise is in vmath.h.
#include "kernels/vmath.h"

namespace omnigrad::kernels {

f64x2 vexp(f64x2 x) {
  using namespace vmath_detail;
  x = pmin(pmax(x, splat(-746.0)), splat(710.0));
  const f64x2 magic = splat(6755399441055744.0);
  const f64x2 n = (x * splat(1.4426950408889634073599) + magic) - magic;
  const f64x2 y = exp_polynomial(reduced(x, n)) + splat(1.0);
  // As for float, 2^n in two factors; halved as a double, since shifting 64-bit lanes with their sign is
  // slow.
  const f64x2 half = n * splat(0.5) + magic, rest = (n - (half - magic)) + magic;
  const i64x2 one = bits(splat(1.0));
  return y * from_bits((bits(half) << 52) + one) * from_bits((bits(rest) << 52) + one);
}

f64x2 vlog(f64x2 x) {
  using namespace vmath_detail;
  const i64x2 denormal = x < splat(2.2250738585072014e-308);
  const int64_t up = 0x3ff0000000000000 - 0x3fe6a09e667f3bcd;  // from sqrt(1/2) to 1
  const i64x2 u = bits(select(denormal, x * splat(18014398509481984.0), x)) + i64x2{up, up};
  const int64_t mantissa = 0x000fffffffffffff;
  const f64x2 f = from_bits((u & i64x2{mantissa, mantissa}) + bits(splat(0.70710678118654757))) - splat(1.0);
  // The exponent as a double, through the low bits of 2^52.
  const i64x2 biased = reinterpret_cast<i64x2>(reinterpret_cast<u64x2>(u) >> 52);
  const f64x2 e = (from_bits(biased | bits(splat(4503599627370496.0))) - splat(4503599627370496.0 + 1023.0)) -
                  from_bits(denormal & bits(splat(54.0)));
  const f64x2 s = f / (splat(2.0) + f), z = s * s, w = z * z;
  const f64x2 even = w * (splat(3.999999999940941908e-01) +
                          w * (splat(2.222219843214978396e-01) + w * splat(1.531383769920937332e-01)));
  const f64x2 odd = z * (splat(6.666666666666735130e-01) +
                         w * (splat(2.857142874366239149e-01) +
                              w * (splat(1.818357216161805012e-01) + w * splat(1.479819860511658591e-01))));
  const f64x2 half_square = splat(0.5) * f * f;
  f64x2 y = e * splat(6.93147180369123816490e-01) -
            ((half_square - (s * (half_square + (odd + even)) + e * splat(1.90821492927058770002e-10))) - f);
  const f64x2 infinity = splat(__builtin_inf());
  y = select(x < infinity, y, x);
  y = select(x == splat(0.0), -infinity, y);
  return select(x < splat(0.0), splat(__builtin_nan("")), y);
}

f64x2 vtanh(f64x2 x) {
  using namespace vmath_detail;
  const f64x2 a = vabs(x), z = a * a;
  const f64x2 p = (splat(-9.64399179425052238628e-1) * z - splat(9.92877231001918586564e1)) * z -
                  splat(1.61468768441708447952e3);
  const f64x2 q = ((z + splat(1.12811678491632931402e2)) * z + splat(2.23548839060100448583e3)) * z +
                  splat(4.84406305325125486048e3);
  const f64x2 small = a + a * z * (p / q);
  const f64x2 large = splat(1.0) - splat(2.0) / (vexp(a + a) + splat(1.0));
  return with_sign(select(a < splat(0.625), small, large), x);
}

f64x2 vsigmoid(f64x2 x) {
  const f64x2 e = vexp(-vmath_detail::vabs(x));
  return select(x < splat(0.0), e, splat(1.0)) / (splat(1.0) + e);
}
f64x2 vsoftplus(f64x2 x) { return vmath_detail::softplus(x); }

}  // namespace omnigrad::kernels
