// Softmax and log-softmax kernels against their definition in double, at every tail length and for special
// rows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/softmax.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

template <class T>
std::vector<T> numbers(int64_t n) {
  std::vector<T> v(n);
  uint32_t seed = static_cast<uint32_t>(n);
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<int>(seed >> 16) % 2000 / 100.0 - 10);
  }
  return v;
}

template <class T>
void check(int64_t outer, int64_t n, int64_t inner) {
  const std::vector<T> x = numbers<T>(outer * n * inner);
  std::vector<T> soft(x.size()), log_soft(x.size());
  softmax(x.data(), soft.data(), outer, n, inner);
  log_softmax(x.data(), log_soft.data(), outer, n, inner);
  const double relative = sizeof(T) == 4 ? 3e-6 : 1e-14;  // x - max rounds at 20
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      double total = 0;
      const auto at = [&](int64_t i) { return (o * n + i) * inner + j; };
      for (int64_t i = 0; i < n; ++i) total += std::exp(static_cast<double>(x[at(i)]));
      for (int64_t i = 0; i < n; ++i) {
        const double want = std::exp(static_cast<double>(x[at(i)])) / total;
        ASSERT_NEAR(soft[at(i)], want, want * relative) << outer << " " << n << " " << inner;
        ASSERT_NEAR(log_soft[at(i)], std::log(want), 7 * relative);
      }
    }
}

// The gradients are held against their definition, by sums in double.
template <class T>
void check_grad(int64_t outer, int64_t n, int64_t inner) {
  const std::vector<T> x = numbers<T>(outer * n * inner), g = numbers<T>(outer * n * inner + 1);
  std::vector<T> soft(x.size()), log_soft(x.size()), a(x.size()), b(x.size());
  softmax(x.data(), soft.data(), outer, n, inner);
  log_softmax(x.data(), log_soft.data(), outer, n, inner);
  softmax_grad(soft.data(), g.data(), a.data(), outer, n, inner);
  log_softmax_grad(log_soft.data(), g.data(), b.data(), outer, n, inner);
  const double close = (sizeof(T) == 4 ? 3e-6 : 1e-14) * static_cast<double>(n);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      double along = 0, all = 0;
      const auto at = [&](int64_t i) { return (o * n + i) * inner + j; };
      for (int64_t i = 0; i < n; ++i) {
        along += static_cast<double>(soft[at(i)]) * static_cast<double>(g[at(i)]);
        all += static_cast<double>(g[at(i)]);
      }
      for (int64_t i = 0; i < n; ++i) {
        const double p = static_cast<double>(soft[at(i)]), v = static_cast<double>(g[at(i)]);
        ASSERT_NEAR(a[at(i)], p * (v - along), 10 * close) << outer << " " << n << " " << inner;
        ASSERT_NEAR(b[at(i)], v - p * all, 10 * close) << outer << " " << n << " " << inner;
      }
    }
}

TEST(SoftmaxKernel, GradientsAgreeWithDefinition) {
  for (int64_t n = 1; n <= 40; ++n) {
    check_grad<float>(3, n, 1);
    check_grad<double>(2, n, 1);
    check_grad<float>(2, n, 5);
    check_grad<double>(2, 3, n);
    check_grad<float>(1, 4, n + 50);
  }
}

// Cross-entropy and its gradient against log-softmax; negative targets count for nothing.
template <class T>
void check_cross_entropy(int64_t outer, int64_t n, int64_t inner) {
  const std::vector<T> x = numbers<T>(outer * n * inner), g = numbers<T>(outer * inner + 3);
  std::vector<T> logs(x.size()), loss(outer * inner), gx(x.size(), T(9));
  std::vector<int64_t> target(outer * inner);
  for (size_t r = 0; r < target.size(); ++r) target[r] = static_cast<int64_t>(r * 7) % (n + 1) - 1;
  log_softmax(x.data(), logs.data(), outer, n, inner);
  cross_entropy(x.data(), target.data(), loss.data(), outer, n, inner);
  cross_entropy_grad(x.data(), target.data(), g.data(), gx.data(), outer, n, inner);
  const double close = sizeof(T) == 4 ? 3e-5 : 1e-13;
  for (int64_t r = 0; r < outer * inner; ++r) {
    const auto at = [&](int64_t i) { return (r / inner * n + i) * inner + r % inner; };
    ASSERT_NEAR(loss[r], target[r] < 0 ? 0 : -logs[at(target[r])], close) << n << " " << inner;
    for (int64_t i = 0; i < n; ++i) {
      const double p = std::exp(static_cast<double>(logs[at(i)])) - (i == target[r] ? 1 : 0);
      ASSERT_NEAR(gx[at(i)], target[r] < 0 ? 0 : p * static_cast<double>(g[r]), 10 * close)
          << n << " " << inner;
    }
  }
}

TEST(SoftmaxKernel, CrossEntropyAgreesWithLogSoftmax) {
  for (int64_t n = 1; n <= 40; ++n) {
    check_cross_entropy<float>(4, n, 1);
    check_cross_entropy<double>(3, n, 1);
    check_cross_entropy<float>(2, n, 5);
    check_cross_entropy<double>(2, 3, n + 30);
  }
}

TEST(SoftmaxKernel, AgreesWithDefinition) {
  for (int64_t n = 1; n <= 40; ++n) {
    check<float>(3, n, 1);
    check<double>(3, n, 1);
    check<float>(2, n, 5);
    check<double>(2, 3, n);
    check<float>(1, 4, n + 50);
  }
  check<float>(5, 4099, 1);
  check<float>(1, 300, 200);
}

TEST(SoftmaxKernel, PlaceAndThreadsDoNotMatter) {
  const int64_t n = 37, rows = 3000;
  std::vector<float> x = numbers<float>(n * rows), one(x.size()), many(x.size());
  for (int64_t r = 1; r < rows; ++r) std::memcpy(&x[r * n], x.data(), n * sizeof(float));
  softmax(x.data(), one.data(), rows, n, int64_t{1});
  for (int64_t r = 1; r < rows; ++r) ASSERT_EQ(std::memcmp(&one[r * n], one.data(), n * sizeof(float)), 0);
  parallel::start(3);
  softmax(x.data(), many.data(), rows, n, int64_t{1});
  parallel::stop();
  EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0);
}

template <class T>
void check_special() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (int64_t n : {1, 2, 5, 16, 19}) {
    for (int64_t inner : {1, 3}) {
      const int64_t count = n * inner;
      for (T special : {-inf, nan, inf}) {
        std::vector<T> x(count, special == -inf ? special : T(1)), y(count);
        for (int64_t j = 0; j < inner; ++j) x[(n - 1) * inner + j] = special;
        softmax(x.data(), y.data(), int64_t{1}, n, inner);
        for (T v : y) EXPECT_TRUE(std::isnan(v));
        log_softmax(x.data(), y.data(), int64_t{1}, n, inner);
        for (T v : y) EXPECT_TRUE(std::isnan(v));
      }
    }
  }
  // A masked element gets exactly nothing, and in place is allowed.
  std::vector<T> x{T(1), -inf, T(1), T(-3000)};
  softmax(x.data(), x.data(), int64_t{1}, int64_t{4}, int64_t{1});
  EXPECT_EQ(x, (std::vector<T>{T(0.5), T(0), T(0.5), T(0)}));
  x = {T(1), -inf, T(1)};
  log_softmax(x.data(), x.data(), int64_t{1}, int64_t{3}, int64_t{1});
  EXPECT_NEAR(x[0], std::log(0.5), 1e-6);
  EXPECT_EQ(x[1], -inf);
}

TEST(SoftmaxKernel, SpecialRows) {
  check_special<float>();
  check_special<double>();
}

}  // namespace
}  // namespace omnigrad::kernels
