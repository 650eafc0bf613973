// Pairs of numbers m * 2^e, m in [1, 2) or 0 and e an integer in a double: probabilities of paths, which
// leave the range of double (a path over 6400 steps, a log-probability of -1e4). Sums and products keep the
// relative precision of double at any size, where logarithms lose it as they grow; and no exp or log is
// needed after the first. NaN stays NaN. No loops over arrays here.
#pragma once

#include <limits>

#include "kernels/simd.h"

namespace omnigrad::kernels {

inline constexpr double kNothing = -1e300;  // the exponent of 0

struct Extended {
  f64x2 m, e;
};

namespace extended_detail {
inline i64x2 bits(f64x2 v) { return reinterpret_cast<i64x2>(v); }
inline f64x2 from_bits(i64x2 v) { return reinterpret_cast<f64x2>(v); }
inline i64x2 splat_bits(int64_t v) { return i64x2{v, v}; }
// Adding it leaves a whole number of either sign in the low bits.
inline constexpr double kMagic = 6755399441055744.0;
}  // namespace extended_detail

inline Extended load_extended(const double* m, const double* e) { return {load(m), load(e)}; }
inline void store_extended(double* m, double* e, Extended x) {
  store(m, x.m);
  store(e, x.e);
}

// 2^d for a whole number d up to 1000; 0 below -1000.
inline f64x2 power_of_two(f64x2 d) {
  using namespace extended_detail;
  const i64x2 shifted = bits(d + splat(kMagic)) << 52;
  return select(d > splat(-1000.0), from_bits(shifted + splat_bits(int64_t{1023} << 52)), splat(0.0));
}

// Sums and products leave m outside [1, 2), by no more than a few factors; this puts it back.
inline Extended normalized(Extended x) {
  using namespace extended_detail;
  const i64x2 u = bits(x.m);
  const f64x2 shift =
      from_bits((u >> 52) | splat_bits(0x4330000000000000)) - splat(4503599627370496.0 + 1023.0);
  const f64x2 m = from_bits((u & splat_bits(0x000fffffffffffff)) | splat_bits(0x3ff0000000000000));
  const i64x2 positive = x.m > splat(0.0);
  return {select(positive, m, x.m), select(positive, x.e + shift, splat(kNothing))};
}

inline Extended product(Extended a, Extended b) { return {a.m * b.m, a.e + b.e}; }
inline Extended sum(Extended a, Extended b) {
  const f64x2 e = pmax(a.e, b.e);
  return {a.m * power_of_two(a.e - e) + b.m * power_of_two(b.e - e), e};
}
inline Extended sum(Extended a, Extended b, Extended c) {
  const f64x2 e = pmax(pmax(a.e, b.e), c.e);
  return {(a.m * power_of_two(a.e - e) + b.m * power_of_two(b.e - e)) + c.m * power_of_two(c.e - e), e};
}

// exp(x), m within [0.7, 1.5]. -infinity gives 0; below -2^51 the result is that of a near x.
inline Extended extended_exp(f64x2 x) {
  using namespace extended_detail;
  const f64x2 t = x * splat(1.4426950408889634), size = from_bits(bits(t) & splat_bits(INT64_MAX));
  const f64x2 k = select(size < splat(2251799813685248.0), (t + splat(kMagic)) - splat(kMagic), t);
  f64x2 r = (x - k * splat(6.93147180369123816490e-01)) - k * splat(1.90821492927058770002e-10);
  r = pmin(pmax(r, splat(-0.35)), splat(0.35));  // the order of operands lets NaN through
  constexpr double kTerms[] = {
      1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
      1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1.0,         1.0};
  f64x2 p = splat(1.0 / 6227020800);
  for (double term : kTerms) p = p * r + splat(term);
  const i64x2 nothing = x == splat(-std::numeric_limits<double>::infinity());
  return {select(nothing, splat(0.0), p), select(nothing, splat(kNothing), k)};
}

}  // namespace omnigrad::kernels
