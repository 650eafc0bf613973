// vexp, vlog, vtanh and vsigmoid against double libm, over a stride through all floats, and at the special
// values.
#include "kernels/vmath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace omnigrad::kernels {
namespace {

// Distance in units of the last place of `want`; infinity where only one of them is a number or infinite.
double ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(got) && std::isinf(rounded))
    return std::signbit(got) == std::signbit(rounded) ? 0 : INFINITY;
  if (std::isinf(got)) return std::fabs(want) > 3.4028234e38 ? 1 : INFINITY;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : INFINITY;
  return std::fabs(got - want) / std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
}

template <class Vector, class Scalar>
double worst(Vector f, Scalar g) {
  double worst = 0;
  for (uint64_t b = 0; b < (uint64_t{1} << 32); b += 4001) {
    const uint32_t pattern = static_cast<uint32_t>(b);
    float x;
    std::memcpy(&x, &pattern, 4);
    worst = std::max(worst, ulps(f(splat(x))[0], g(x)));
  }
  for (float x : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-45f, 88.72284f, -103.97f, 0.625f}) {
    worst = std::max(worst, ulps(f(splat(x))[0], g(x)));
  }
  return worst;
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

TEST(Vmath, WithinTwoUlp) {
  EXPECT_LE(worst([](f32x4 x) { return vexp(x); }, [](double x) { return std::exp(x); }), 1);
  EXPECT_LE(worst([](f32x4 x) { return vlog(x); }, [](double x) { return std::log(x); }), 1);
  EXPECT_LE(worst([](f32x4 x) { return vtanh(x); }, [](double x) { return std::tanh(x); }), 1.5);
  EXPECT_LE(worst([](f32x4 x) { return vsigmoid(x); }, sigmoid), 1.5);
}

TEST(Vmath, DoubleIsLibm) {
  const f64x2 x{-0.75, 2.5};
  EXPECT_EQ(vexp(x)[1], std::exp(2.5));
  EXPECT_EQ(vtanh(x)[0], std::tanh(-0.75));
  EXPECT_NEAR(vsigmoid(x)[0], sigmoid(-0.75), 1e-16);
  EXPECT_NEAR(vsigmoid(x)[1], sigmoid(2.5), 1e-15);
}

}  // namespace
}  // namespace omnigrad::kernels
