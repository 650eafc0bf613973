// The resampling kernels against plain loops, and their tables against PyTorch's conventions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/resample.h"
#include "kernels/resample_direct.h"
#include "ops/resample_table.h"
#include "parallel/parallel.h"

namespace omnigrad {
namespace {

using Mode = ResampleMode;

template <class T>
std::vector<T> noise(int64_t n, uint32_t seed) {
  std::vector<T> v(n);
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<int32_t>(seed >> 8) - 8388608) / T(8388608);
  }
  return v;
}

AxisOptions axis(Mode mode, int64_t in, int64_t out, bool corners = false, bool antialias = false) {
  AxisOptions a;
  a.mode = mode;
  a.in = in;
  a.out = out;
  a.align_corners = corners;
  a.antialias = antialias;
  return a;
}
AxisOptions pool_axis(int64_t in, int64_t kernel, int64_t stride, int64_t pad, bool ceil_mode = false) {
  AxisOptions a = axis(Mode::average, in, pooled_size(in, kernel, stride, pad, pad, 1, ceil_mode));
  a.kernel = kernel;
  a.stride = stride;
  a.pad_lo = a.pad_hi = pad;
  return a;
}

// Axis by axis in double, in the order given.
std::vector<double> plain_resample(int64_t planes, const std::vector<ResampleTable>& tables,
                                   std::vector<double> x) {
  std::vector<int64_t> size;
  for (const auto& t : tables) size.push_back(t.in);
  for (size_t a = 0; a < tables.size(); ++a) {
    int64_t outer = planes, inner = 1;
    for (size_t b = 0; b < tables.size(); ++b) (b < a ? outer : inner) *= b == a ? 1 : size[b];
    const ResampleTable& t = tables[a];
    std::vector<double> y(outer * t.out * inner);
    for (int64_t p = 0; p < outer; ++p) {
      for (int64_t o = 0; o < t.out; ++o) {
        for (int64_t k = t.start[o]; k < t.start[o + 1]; ++k) {
          for (int64_t i = 0; i < inner; ++i) {
            y[(p * t.out + o) * inner + i] += t.weight[k] * x[(p * t.in + t.index[k]) * inner + i];
          }
        }
      }
    }
    size[a] = t.out;
    x = std::move(y);
  }
  return x;
}

template <class T>
std::vector<T> run_kernel(int64_t planes, const std::vector<ResampleTable>& tables, const std::vector<T>& x) {
  std::vector<KernelTable<T>> kept;
  std::vector<kernels::AxisRows<T>> rows;
  int64_t n = planes;
  for (const auto& t : tables) kept.emplace_back(t), n *= t.out;
  for (const auto& t : kept) rows.push_back(t.rows());
  const int rank = static_cast<int>(rows.size());
  std::vector<T> y(n, T(7));
  std::vector<char> scratch(kernels::resample_workspace(planes, rank, rows.data()), char(0x7f));
  kernels::resample(planes, rank, rows.data(), x.data(), y.data(), scratch.data());
  return y;
}

std::vector<ResampleTable> transposed_all(const std::vector<ResampleTable>& tables) {
  std::vector<ResampleTable> r;
  for (const auto& t : tables) r.push_back(transposed(t));
  return r;
}

// Kernel against plain loops, table and transposed table, in T; the same bits on 1 to 4 threads.
template <class T>
void check(int64_t planes, const std::vector<AxisOptions>& axes, const std::string& what) {
  std::vector<ResampleTable> forward;
  for (const auto& a : axes) forward.push_back(resample_table(a));
  const double tol = sizeof(T) == 4 ? 4e-6 : 1e-13;
  for (const auto& tables : {forward, transposed_all(forward)}) {
    int64_t n = planes;
    for (const auto& t : tables) n *= t.in;
    const auto x = noise<T>(n, 11);
    const auto want = plain_resample(planes, tables, std::vector<double>(x.begin(), x.end()));
    std::vector<T> first;
    for (int threads = 1; threads <= 4; ++threads) {
      parallel::start(threads);
      const auto y = run_kernel(planes, tables, x);
      parallel::stop();
      ASSERT_EQ(y.size(), want.size()) << what;
      if (threads == 1) {
        for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], tol) << what << " at " << i;
        first = y;
      }
      ASSERT_EQ(0, std::memcmp(first.data(), y.data(), y.size() * sizeof(T)))
          << what << ", threads " << threads;
    }
  }
}

template <class T>
class ResampleKernel : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ResampleKernel, Types);

TYPED_TEST(ResampleKernel, EveryModeAndRank) {
  for (const Mode mode : {Mode::nearest, Mode::nearest_exact, Mode::linear, Mode::cubic, Mode::lanczos3}) {
    for (const bool corners : {false, true}) {
      for (const bool antialias : {false, true}) {
        const std::string what = "mode " + std::to_string(static_cast<int>(mode));
        const auto one = [&](int64_t in, int64_t out) { return axis(mode, in, out, corners, antialias); };
        check<TypeParam>(3, {one(9, 4)}, what + " 1-D down");
        check<TypeParam>(5, {one(7, 21)}, what + " 1-D up");
        check<TypeParam>(2, {one(5, 8), one(6, 9)}, what + " 2-D up");
        check<TypeParam>(17, {one(8, 1), one(7, 5)}, what + " 2-D down");
        check<TypeParam>(2, {one(3, 5), one(4, 4), one(5, 3)}, what + " 3-D");
        check<TypeParam>(1, {one(2, 3), one(3, 2), one(1, 4), one(4, 5)}, what + " 4-D");
      }
    }
  }
}

TYPED_TEST(ResampleKernel, EverySizeAroundVectorsAndChunks) {
  for (int64_t w = 1; w <= 19; ++w) {
    for (const int64_t planes : {1, 7, 8, 9, 33}) {
      check<TypeParam>(planes, {axis(Mode::cubic, w, 2 * w), axis(Mode::cubic, 20 - w, w)},
                       "w " + std::to_string(w));
      check<TypeParam>(planes, {axis(Mode::adaptive, w, 3)}, "adaptive w " + std::to_string(w));
    }
  }
  for (const int64_t n : {4095, 4096, 4097, 32768, 32769, 40000}) {
    check<TypeParam>(1, {axis(Mode::linear, n, n / 3)}, "long rows");
    check<TypeParam>(5, {axis(Mode::linear, n, n + 1)}, "few long rows");
  }
  check<TypeParam>(1, {axis(Mode::cubic, 150, 301), axis(Mode::cubic, 131, 97)}, "one large plane");
  check<TypeParam>(3, {axis(Mode::adaptive, 200, 1), axis(Mode::adaptive, 333, 1)}, "global mean");
  check<TypeParam>(3, {axis(Mode::linear, 3, 4), axis(Mode::linear, 1, 1), axis(Mode::cubic, 65, 130)},
                   "few planes");
  check<TypeParam>(1000, {axis(Mode::linear, 4, 8), axis(Mode::linear, 3, 6)}, "many small planes");
}

TYPED_TEST(ResampleKernel, AveragePooling) {
  for (int64_t in = 3; in <= 12; ++in) {
    for (const bool ceil_mode : {false, true}) {
      for (const bool count_pad : {false, true}) {
        AxisOptions a = pool_axis(in, 3, 2, 1, ceil_mode), b = pool_axis(in + 5, 5, 3, 2, ceil_mode);
        a.count_include_pad = b.count_include_pad = count_pad;
        b.divisor = in % 3;
        check<TypeParam>(4, {a, b}, "average");
      }
    }
  }
}

TYPED_TEST(ResampleKernel, IdentityCopies) {
  const auto x = noise<TypeParam>(2 * 5 * 6, 3);
  const auto t = resample_table(axis(Mode::linear, 5, 5)), u = resample_table(axis(Mode::cubic, 6, 6, true));
  EXPECT_TRUE(t.identity);
  EXPECT_EQ(x, run_kernel(2, {t, u}, x));
}

// Direct kernels give the bits of the table kernel.
TYPED_TEST(ResampleKernel, DirectKernels) {
  using T = TypeParam;
  for (const int64_t planes : {1, 2, 9, 40}) {
    for (int64_t h = 1; h <= 11; ++h) {
      for (int64_t w = 1; w <= 11; ++w) {
        const std::vector<ResampleTable> up = {resample_table(axis(Mode::nearest, h, 2 * h)),
                                               resample_table(axis(Mode::nearest, w, 2 * w))};
        const auto x = noise<T>(planes * h * w, 5), g = noise<T>(planes * 4 * h * w, 6);
        std::vector<T> y(g.size()), gx(x.size());
        kernels::nearest2x(planes, h, w, x.data(), y.data());
        kernels::nearest2x_adjoint(planes, h, w, g.data(), gx.data());
        ASSERT_EQ(y, run_kernel(planes, up, x));
        ASSERT_EQ(gx, run_kernel(planes, transposed_all(up), g)) << h << " " << w;
        if (h < 2 || w < 2) continue;
        const std::vector<ResampleTable> mean = {resample_table(pool_axis(h, 2, 2, 0)),
                                                 resample_table(pool_axis(w, 2, 2, 0))};
        std::vector<T> down(planes * (h / 2) * (w / 2)), back(x.size());
        kernels::average2x2(planes, h, w, x.data(), down.data());
        kernels::average2x2_adjoint(planes, h, w, down.data(), back.data());
        ASSERT_EQ(down, run_kernel(planes, mean, x)) << h << " " << w;
        ASSERT_EQ(back, run_kernel(planes, transposed_all(mean), down));
      }
    }
  }
}

// Rows that repeat have a path of their own, to the bits of a sum tap by tap.
TYPED_TEST(ResampleKernel, DoublingAndHalvingToTheBit) {
  using T = TypeParam;
  for (const Mode mode : {Mode::linear, Mode::cubic}) {
    for (int64_t n = 2; n <= 40; ++n) {
      for (const auto& a : {axis(mode, n, 2 * n), axis(mode, 2 * n, n, false, true), axis(mode, 2 * n, n)}) {
        const ResampleTable forward = resample_table(a);
        for (const auto& table : {forward, transposed(forward)}) {
          const KernelTable<T> kept(table);
          const auto t = kept.rows();
          // Along the innermost axis, and along one with `inner` elements inside it.
          for (const int64_t inner : {1, 7}) {
            const int64_t planes = inner == 1 ? 5 : 9;
            const auto x = noise<T>(planes * t.in * inner, 3);
            std::vector<ResampleTable> tables{table};
            if (inner > 1) tables.push_back(resample_table(axis(mode, inner, inner)));
            const auto y = run_kernel<T>(planes, tables, x);
            for (int64_t i = 0; i < planes * t.out * inner; ++i) {
              const int64_t o = i / inner % t.out;
              T sum = 0;
              for (int32_t k = t.start[o]; k < t.start[o + 1]; ++k) {
                const T term = t.weight[k] * x[(i / (inner * t.out) * t.in + t.index[k]) * inner + i % inner];
                sum = k == t.start[o] ? term : sum + term;
              }
              ASSERT_EQ(y[i], sum) << n << " at " << i;
            }
          }
        }
      }
    }
  }
}

// For 165 of these pairs a float32 scale would send the gradient to a pixel that forward did not read.
TEST(ResampleTable, NearestReadsTheExactPixel) {
  for (int64_t in = 1; in <= 128; ++in) {
    for (int64_t out = 1; out <= 128; ++out) {
      const auto t = resample_table(axis(Mode::nearest, in, out)),
                 e = resample_table(axis(Mode::nearest_exact, in, out));
      const auto back = transposed(t);
      for (int64_t o = 0; o < out; ++o) {
        const int64_t i = o * in / out;
        ASSERT_EQ(t.index[o], i) << in << " to " << out << " at " << o;
        ASSERT_EQ(e.index[o], (2 * o + 1) * in / (2 * out));
        bool found = false;
        for (int64_t k = back.start[i]; k < back.start[i + 1]; ++k) found |= back.index[k] == o;
        ASSERT_TRUE(found);
      }
      ASSERT_EQ(back.index.size(), t.index.size());
    }
  }
}

TEST(ResampleTable, ScaleFactorDividesExactly) {
  AxisOptions a = axis(Mode::nearest, 2, 98);
  a.scale = 49;
  EXPECT_EQ(resample_table(a).index[49], 1);
  a = axis(Mode::nearest, 6, 3);
  a.scale = 0.6;
  EXPECT_EQ(resample_table(a).index, (std::vector<int32_t>{0, 1, 3}));
}

TEST(ResampleTable, RowsSumToOne) {
  for (const Mode mode : {Mode::linear, Mode::cubic, Mode::lanczos3, Mode::adaptive}) {
    for (int64_t in = 1; in <= 20; ++in) {
      for (int64_t out = 1; out <= 20; ++out) {
        for (int flags = 0; flags < 4; ++flags) {
          const auto t = resample_table(axis(mode, in, out, flags & 1, flags & 2));
          for (int64_t o = 0; o < out; ++o) {
            double sum = 0;
            for (int64_t k = t.start[o]; k < t.start[o + 1]; ++k) {
              sum += t.weight[k];
              ASSERT_TRUE(t.index[k] >= 0 && t.index[k] < in);
              ASSERT_TRUE(k == t.start[o] || t.index[k] > t.index[k - 1]);
            }
            ASSERT_NEAR(sum, 1, 1e-12) << in << " to " << out;
          }
        }
      }
    }
  }
}

TEST(ResampleTable, NoPoolingWindowLiesInPadding) {
  EXPECT_EQ(pooled_size(9, 4, 4, 2, 2, 1, true), 3);
  EXPECT_EQ(pooled_size(9, 4, 4, 2, 2, 1, false), 3);
  EXPECT_EQ(pooled_size(7, 3, 2, 0, 0, 1, true), 3);
  EXPECT_EQ(pooled_size(3, 5, 1, 0, 0, 1, false), -1);
  const auto t = resample_table(pool_axis(9, 4, 4, 2, true));
  for (int64_t o = 0; o < t.out; ++o) EXPECT_GT(t.start[o + 1], t.start[o]);
}

}  // namespace
}  // namespace omnigrad
