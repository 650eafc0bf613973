// The functions of vmath.h against libm, over a stride through all floats, and at the special
// values.
#include "kernels/vmath.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/vwide.h"

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

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

TEST(Vmath, ErfAndSoftplusWithinTwoUlp) {
  EXPECT_LE(worst([](f32x4 x) { return verf(x); }, [](double x) { return std::erf(x); }), 2);
  EXPECT_LE(worst([](f32x4 x) { return vsoftplus(x); }, [](double x) { return x != x ? x : softplus(x); }),
            2);
}

TEST(Vmath, SineAndCosine) {
  EXPECT_LE(worst([](f32x4 x) { return vsine(x, 0); }, [](double x) { return std::sin(x); }), 0.51);
  EXPECT_LE(worst([](f32x4 x) { return vsine(x, 1); }, [](double x) { return std::cos(x); }), 0.51);
  for (float x = -30; x < 30; x += 0.00037f) {
    ASSERT_LE(ulps(vsine(splat(x), 0)[1], std::sin(static_cast<double>(x))), 0.51) << x;
    ASSERT_LE(ulps(vsine(splat(x), 1)[2], std::cos(static_cast<double>(x))), 0.51) << x;
  }
  // Near multiples of pi/2, where the remainder is small.
  for (int n = 1; n < 600000; ++n) {
    const float x = static_cast<float>(n * 1.5707963267948966);
    ASSERT_LE(ulps(vsine(splat(x), 0)[0], std::sin(static_cast<double>(x))), 0.51) << x;
    ASSERT_LE(ulps(vsine(splat(x), 1)[3], std::cos(static_cast<double>(x))), 0.51) << x;
  }
  // A lane has the same bits whatever its neighbours.
  const f32x4 mixed = vsine(f32x4{1.5f, 3e7f, NAN, -INFINITY}, 0);
  EXPECT_EQ(mixed[0], vsine(splat(1.5f), 0)[0]);
  EXPECT_EQ(mixed[1], static_cast<float>(std::sin(3e7)));
  EXPECT_TRUE(std::isnan(mixed[2]) && std::isnan(mixed[3]));
  EXPECT_TRUE(std::signbit(vsine(splat(-0.0f), 0)[0]));
}

TEST(Vmath, ExponentialAndLogarithmNearOne) {
  EXPECT_LE(worst([](f32x4 x) { return vexpm1(x); }, [](double x) { return std::expm1(x); }), 0.51);
  EXPECT_LE(worst([](f32x4 x) { return vlog1p(x); }, [](double x) { return std::log1p(x); }), 0.51);
  for (float x = -20; x < 20; x += 0.00037f)
    ASSERT_LE(ulps(vexpm1(splat(x))[1], std::expm1(static_cast<double>(x))), 0.51) << x;
  for (float x = -1; x < 2; x += 0.000037f)
    ASSERT_LE(ulps(vlog1p(splat(x))[2], std::log1p(static_cast<double>(x))), 0.51) << x;
}

// exp for x <= 0 that gives 0 in place of nearly all denormals.
TEST(Vmath, FlushedExponential) {
  for (float x = 0; x > -87.3f; x -= 0.00171f) {
    ASSERT_LE(ulps(vexp_flush(splat(x))[1], std::exp(static_cast<double>(x))), 1.4) << x;
  }
  EXPECT_LE(vexp_flush(splat(-87.4f))[0], 1.17549435e-38f);
  for (float x : {-88.0f, -100.0f, -1e30f, -INFINITY}) EXPECT_EQ(vexp_flush(splat(x))[2], 0) << x;
  EXPECT_TRUE(std::isnan(vexp_flush(splat(NAN))[3]));
  EXPECT_EQ(vexp_flush(splat(-0.0f))[0], 1);
}

double ulps_double(double got, double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  if (got == want) return 0;
  return std::fabs(got - want) / std::ldexp(1.0, std::max(std::ilogb(want), -1022) - 52);
}

template <class Vector, class Scalar>
double worst_double(Vector f, Scalar g) {
  double worst = 0;
  uint64_t pattern = 1;
  const auto look = [&](double x) { worst = std::max(worst, ulps_double(f(splat(x))[1], g(x))); };
  for (int i = 0; i < 200000; ++i) {
    pattern = pattern * 6364136223846793005u + 1442695040888963407u;
    double x;
    std::memcpy(&x, &pattern, 8);
    look(x);
    look(static_cast<double>(static_cast<int64_t>(pattern)) * 1e-17);  // +- 92
  }
  for (double x :
       {0.0, -0.0, 1.0, 709.78, 710.5, -745.0, -750.0, 5e-324, 0.625, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    look(x);
  }
  return worst;
}

TEST(Vmath, DoubleWithinTwoUlp) {
  for (double x = 0; x > -708.3; x -= 0.00391) {
    ASSERT_LE(ulps_double(vexp_flush(splat(x))[1], std::exp(x)), 1.6) << x;
  }
  for (double x : {-709.0, -1e300, -HUGE_VAL}) EXPECT_EQ(vexp_flush(splat(x))[0], 0) << x;
  EXPECT_TRUE(std::isnan(vexp_flush(splat(std::nan("")))[0]));
  EXPECT_LE(worst_double([](f64x2 x) { return vexp(x); }, [](double x) { return std::exp(x); }), 2);
  EXPECT_LE(worst_double([](f64x2 x) { return vlog(x); }, [](double x) { return std::log(x); }), 2);
  EXPECT_LE(worst_double([](f64x2 x) { return vtanh(x); }, [](double x) { return std::tanh(x); }), 2);
  EXPECT_LE(worst_double([](f64x2 x) { return vsigmoid(x); }, sigmoid), 3);
  EXPECT_LE(
      worst_double([](f64x2 x) { return vsoftplus(x); }, [](double x) { return x != x ? x : softplus(x); }),
      3);
}

}  // namespace
}  // namespace omnigrad::kernels
