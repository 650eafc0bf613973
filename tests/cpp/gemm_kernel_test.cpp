// Matrix products against plain loops in double: every tile, block and chunk edge, all strides, any number of
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/gemm.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

template <class T>
std::vector<T> numbers(int64_t n, uint32_t seed) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<int32_t>(seed >> 8) - (1 << 23)) / (1 << 23);
  }
  return v;
}

template <class T>
constexpr double kEpsilon = sizeof(T) == 4 ? 6e-8 : 1.2e-16;

enum Layout { kPlain, kTransposed, kSpread };

// The strides of a [rows, cols] operand and the elements it spans.
template <class T>
Strided<T> strided(const T* data, int64_t rows, int64_t cols, Layout layout) {
  switch (layout) {
    case kPlain:
      return {data, cols, 1};
    case kTransposed:
      return {data, 1, rows};
    default:
      return {data, 2 * cols + 1, 2};
  }
}

template <class T>
std::vector<T> product(int64_t m, int64_t n, int64_t k, Layout la, Layout lb, bool add, bool check = true) {
  const auto a = numbers<T>(m * (2 * k + 1) + 1, 1), b = numbers<T>(k * (2 * n + 1) + 1, 2);
  auto c = numbers<T>(m * n, 3);
  const auto before = c;
  if (!add) std::fill(c.begin(), c.end(), static_cast<T>(NAN));
  const auto sa = strided(a.data(), m, k, la), sb = strided(b.data(), k, n, lb);
  std::vector<char> workspace(gemm_workspace<T>(m, n, k), static_cast<char>(0xff));
  gemm<T>(m, n, k, sa, sb, c.data(), add, workspace.data());
  if (!check) return c;
  int bad = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = add ? before[i * n + j] : 0, size = std::fabs(sum);
      for (int64_t p = 0; p < k; ++p) {
        const double t =
            static_cast<double>(sa.data[i * sa.row + p * sa.col]) * sb.data[p * sb.row + j * sb.col];
        sum += t;
        size += std::fabs(t);
      }
      if (!(std::fabs(c[i * n + j] - sum) <= kEpsilon<T> * (std::sqrt(k) + 4) * size) && ++bad < 3)
        ADD_FAILURE() << m << 'x' << n << 'x' << k << " layouts " << la << lb << " at " << i << ',' << j
                      << ": " << c[i * n + j] << " for " << sum;
    }
  return c;
}

template <class T>
void sweep() {
  for (int64_t m : {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13})
    for (int64_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33})
      for (int64_t k : {0, 1, 2, 3, 4, 5, 7, 9, 17})
        for (int layout = 0; layout < 9; ++layout)
          product<T>(m, n, k, Layout(layout / 3), Layout(layout % 3), (m + n + k) % 2 != 0);
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{63, 65, 33},
                                                            {64, 64, 64},
                                                            {65, 63, 511},
                                                            {129, 130, 131},
                                                            {5, 9, 513},
                                                            {3, 1025, 7},
                                                            {1027, 5, 3},
                                                            {1025, 1026, 2},
                                                            {1, 40, 1030},
                                                            {40, 1, 1030},
                                                            {70, 70, 1025}})
    for (int layout = 0; layout < 9; ++layout)
      product<T>(m, n, k, Layout(layout / 3), Layout(layout % 3), layout % 2 != 0);
}
TEST(Gemm, Float) { sweep<float>(); }
TEST(Gemm, Double) { sweep<double>(); }

// An element's value is that of the one-by-one product of its row and column, wherever it stands.
TEST(Gemm, ValueDoesNotDependOnPlace) {
  const int64_t m = 13, n = 29, k = 600;
  const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
  std::vector<float> c(m * n);
  std::vector<char> workspace(gemm_workspace<float>(m, n, k));
  gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), false, workspace.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float one;
      gemm<float>(1, 1, k, {a.data() + i * k, k, 1}, {b.data() + j, n, 1}, &one, false, workspace.data());
      ASSERT_EQ(one, c[i * n + j]) << i << ' ' << j;
    }
}

template <class T>
std::vector<T> batched(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const auto a = numbers<T>(batch * m * k, 1), b = numbers<T>(k * n, 2);
  std::vector<int64_t> at, zero(static_cast<size_t>(batch));
  for (int64_t i = 0; i < batch; ++i) at.push_back((batch - 1 - i) * m * k);
  std::vector<T> c(static_cast<size_t>(batch * m * n));
  std::vector<char> workspace(gemm_batched_workspace<T>(batch, m, n, k));
  gemm_batched<T>(batch, m, n, k, {a.data(), k, 1}, at.data(), {b.data(), 1, k}, zero.data(), c.data(), false,
                  workspace.data());
  std::vector<char> scratch(gemm_workspace<T>(m, n, k));
  for (int64_t i = 0; i < batch; ++i) {
    std::vector<T> one(static_cast<size_t>(m * n));
    gemm<T>(m, n, k, {a.data() + at[i], k, 1}, {b.data(), 1, k}, one.data(), false, scratch.data());
    EXPECT_TRUE(std::equal(one.begin(), one.end(), c.begin() + i * m * n)) << batch << ' ' << i;
  }
  return c;
}

template <class T>
std::vector<std::vector<T>> threaded_results() {
  std::vector<std::vector<T>> r;
  for (auto [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{128, 128, 128}, {131, 257, 1030}, {1, 3000, 700}, {1030, 65, 40}})
    for (Layout layout : {kPlain, kTransposed})
      r.push_back(product<T>(m, n, k, layout, layout, false, false));
  r.push_back(batched<T>(37, 33, 34, 35));
  r.push_back(batched<T>(2, 250, 200, 210));
  return r;
}

template <class T>
void same_on_any_threads() {
  const auto serial = threaded_results<T>();
  for (int threads : {1, 2, 3, 4}) {
    parallel::start(threads);
    const auto r = threaded_results<T>();
    parallel::stop();
    for (size_t i = 0; i < r.size(); ++i)
      EXPECT_EQ(0, std::memcmp(r[i].data(), serial[i].data(), r[i].size() * sizeof(T)))
          << i << " on " << threads;
  }
}
TEST(Gemm, SameBitsOnAnyThreads) {
  same_on_any_threads<float>();
  same_on_any_threads<double>();
}

TEST(Gemm, BatchedEdges) {
  for (int64_t batch : {0, 1, 2, 15, 16, 17, 40}) {
    batched<float>(batch, 3, 5, 7);
    batched<double>(batch, 3, 5, 7);
  }
  batched<float>(3, 0, 5, 7);
  batched<float>(3, 4, 5, 0);
}

}  // namespace
}  // namespace omnigrad::kernels
