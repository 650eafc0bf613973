// Extremes of rows by vectors against a plain scan: the first of equal ones, NaN before all.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/reduce.h"

namespace omnigrad::kernels {
namespace {

void check(const std::vector<float>& x, const char* what) {
  const int64_t n = static_cast<int64_t>(x.size());
  for (const Extreme which : {Extreme::max, Extreme::min}) {
    int64_t want = 0;
    for (int64_t i = 1; i < n; ++i) {
      const float a = x[static_cast<size_t>(i)], b = x[static_cast<size_t>(want)];
      if (b == b && (a != a || (which == Extreme::max ? a > b : a < b))) want = i;
    }
    float value = 7;
    int64_t at = -1;
    extreme(which, DType::float32, x.data(), &value, 1, n, 1);
    arg_extreme(which, DType::float32, x.data(), &at, 1, n, 1);
    ASSERT_EQ(at, want) << what << " of " << n;
    ASSERT_EQ(std::memcmp(&value, &x[static_cast<size_t>(want)], sizeof value), 0) << what << " of " << n;
  }
}

TEST(ReduceKernel, ExtremesOfRows) {
  for (size_t n = 1; n <= 90; ++n) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 23) - 11);
    check(x, "repeated values");
    for (size_t i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i * n));
    check(x, "noise");
    for (size_t i = 0; i < n; ++i) x[i] = i % 3 == 1 ? -0.0f : 0.0f;
    check(x, "zeros of both signs");
    x[0] = -0.0f;
    check(x, "zeros, a negative one first");
    for (size_t i = 0; i < n; ++i) x[i] = i % 2 == 0 ? INFINITY : -INFINITY;
    check(x, "infinities");
    for (const size_t place : {size_t{0}, n / 3, n - 1}) {
      std::vector<float> y = x;
      y[place] = NAN;
      y[n - 1] = -NAN;
      check(y, "NaN");
    }
  }
}

}  // namespace
}  // namespace omnigrad::kernels
