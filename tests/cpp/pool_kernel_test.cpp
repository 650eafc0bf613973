// Max pooling and gathering by its indices against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/pool.h"
#include "ops/resample_table.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

PoolAxis pool_axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                   bool ceil_mode) {
  return {in,   pooled_size(in, kernel, stride, pad, pad, dilation, ceil_mode), kernel, stride, pad, dilation,
          false};
}
PoolAxis adaptive_axis(int64_t in, int64_t out) {
  PoolAxis a{in, out};
  a.adaptive = true;
  return a;
}

// Whether input i is in the window of output o.
bool covers(const PoolAxis& a, int64_t o, int64_t i) {
  if (a.adaptive) return i >= o * a.in / a.out && i * a.out < (o + 1) * a.in;
  const int64_t d = i - (o * a.stride - a.pad);
  return d >= 0 && d % a.dilation == 0 && d / a.dilation < a.kernel;
}

// One window of one plane, scanning every input in order.
template <class T>
void naive(const std::vector<PoolAxis>& axes, const T* x, int64_t n, int64_t out, T* y, int64_t* index) {
  *y = -std::numeric_limits<T>::infinity();
  *index = -1;
  for (int64_t i = 0; i < n; ++i) {
    bool inside = true;
    int64_t ri = i, ro = out;
    for (size_t a = axes.size(); a-- > 0;) {
      inside &= covers(axes[a], ro % axes[a].out, ri % axes[a].in);
      ri /= axes[a].in;
      ro /= axes[a].out;
    }
    if (!inside) continue;
    if (*index < 0) *index = i;
    if (x[i] > *y || std::isnan(x[i])) *y = x[i], *index = i;
  }
}

// The kernels of 2x2 windows give what indices give.
template <class T>
void check_2x2(int64_t planes, const std::vector<PoolAxis>& axes, const std::vector<T>& x,
               const std::vector<T>& y, const std::vector<T>& g, const std::vector<T>& gx) {
  for (const auto& a : axes)
    if (a.kernel != 2 || a.stride != 2 || a.pad != 0 || a.dilation != 1 || a.adaptive || a.out != a.in / 2)
      return;
  if (axes.size() != 2) return;
  std::vector<T> y2(y.size(), T(9)), gx2(gx.size(), T(9));
  max_pool2x2(planes, axes[0].in, axes[1].in, x.data(), y2.data());
  max_pool2x2_grad(planes, axes[0].in, axes[1].in, x.data(), g.data(), gx2.data());
  for (size_t j = 0; j < y.size(); ++j) ASSERT_TRUE(y2[j] == y[j] || (std::isnan(y2[j]) && std::isnan(y[j])));
  ASSERT_EQ(gx2, gx);
}

template <class T>
void check(int64_t planes, const std::vector<PoolAxis>& axes, uint32_t seed = 1) {
  int64_t in = 1, out = 1;
  for (const auto& a : axes) in *= a.in, out *= a.out;
  std::vector<T> x(planes * in);
  for (T& v : x) {
    seed = seed * 1664525u + 1013904223u;
    const int pick = static_cast<int>(seed >> 16) % 12;  // few values: many ties
    v = pick == 0  ? std::numeric_limits<T>::quiet_NaN()
        : pick < 4 ? -std::numeric_limits<T>::infinity()
                   : T(pick);
  }
  std::vector<T> y0(planes * out);
  std::vector<int64_t> i0(planes * out);
  for (int64_t j = 0; j < planes * out; ++j) {
    naive(axes, x.data() + j / out * in, in, j % out, &y0[j], &i0[j]);
  }
  for (int threads = 1; threads <= 4; ++threads) {
    parallel::start(threads);
    std::vector<T> y(planes * out), read(planes * out), sum(planes * in, T(9));
    std::vector<int64_t> index(planes * out);
    max_pool(planes, static_cast<int>(axes.size()), axes.data(), x.data(), y.data(), index.data());
    plane_gather(planes, in, out, x.data(), index.data(), read.data());
    std::vector<T> g(planes * out);
    for (size_t j = 0; j < g.size(); ++j) g[j] = T(1) / T(j + 1);
    plane_scatter_add(planes, in, out, g.data(), index.data(), sum.data());
    parallel::stop();
    ASSERT_EQ(i0, index);
    std::vector<T> want(planes * in);
    for (int64_t j = 0; j < planes * out; ++j) {
      ASSERT_TRUE(y[j] == y0[j] || (std::isnan(y[j]) && std::isnan(y0[j])));
      ASSERT_TRUE(read[j] == y0[j] || (std::isnan(read[j]) && std::isnan(y0[j])));
      want[j / out * in + index[j]] += g[j];
    }
    ASSERT_EQ(want, sum);
    check_2x2(planes, axes, x, y, g, sum);
    ASSERT_TRUE(indices_within(index.data(), planes * out, in));
  }
}

template <class T>
class PoolKernel : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PoolKernel, Types);

TYPED_TEST(PoolKernel, MaxSweep) {
  uint32_t seed = 1;
  for (int64_t kernel = 1; kernel <= 4; ++kernel) {
    for (int64_t stride = 1; stride <= 4; ++stride) {
      for (int64_t dilation = 1; dilation <= 2; ++dilation) {
        for (const int64_t pad : {int64_t{0}, ((kernel - 1) * dilation + 1) / 2}) {
          for (const bool ceil_mode : {false, true}) {
            for (const int64_t w : {7, 8, 9, 13, 22, 29}) {
              const PoolAxis a = pool_axis(w, kernel, stride, pad, dilation, ceil_mode);
              const PoolAxis b = pool_axis(8, kernel, stride, pad, dilation, ceil_mode);
              check<TypeParam>(3, {a}, ++seed);
              check<TypeParam>(2, {b, a}, ++seed);
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(PoolKernel, OtherRanks) {
  const PoolAxis a = pool_axis(5, 2, 1, 1, 1, false), b = pool_axis(6, 3, 2, 1, 1, true);
  check<TypeParam>(2, {a, b, pool_axis(11, 2, 2, 0, 1, false)});
  check<TypeParam>(1, {a, a, b, pool_axis(9, 3, 1, 1, 1, false)});
  check<TypeParam>(70, {pool_axis(28, 2, 2, 0, 1, false), pool_axis(28, 2, 2, 0, 1, false)});
}

TYPED_TEST(PoolKernel, SideBySide) {
  for (const int64_t h : {2, 3, 8, 9})
    for (const int64_t w : {2, 3, 7, 8, 16, 17, 25})
      check<TypeParam>(3, {pool_axis(h, 2, 2, 0, 1, false), pool_axis(w, 2, 2, 0, 1, false)},
                       static_cast<uint32_t>(h * w));
}

TYPED_TEST(PoolKernel, Adaptive) {
  for (int64_t out = 1; out <= 12; ++out) {
    check<TypeParam>(3, {adaptive_axis(10, out)});
    check<TypeParam>(3, {adaptive_axis(7, 3), adaptive_axis(12, out)});
  }
}

TEST(PoolKernel, CeilModeKeepsWindowsOutOfPadding) {
  const PoolAxis a = pool_axis(9, 4, 4, 2, 1, true);
  ASSERT_EQ(a.out, 3);
  check<float>(2, {a, a});
}

TEST(PoolKernel, IndexRange) {
  const std::vector<int64_t> index = {0, 3, 2};
  EXPECT_TRUE(indices_within(index.data(), 3, 4));
  EXPECT_FALSE(indices_within(index.data(), 3, 3));
  const int64_t negative = -1;
  EXPECT_FALSE(indices_within(&negative, 1, 4));
  EXPECT_TRUE(indices_within(&negative, 0, 0));
}

}  // namespace
}  // namespace omnigrad::kernels
