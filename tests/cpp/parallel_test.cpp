// parallel.h's promises, on whichever of threads.cpp and serial.cpp this build links.
#include "parallel/parallel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

namespace omnigrad::parallel {
namespace {

class Parallel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { start(GetParam()); }
  void TearDown() override {
    set_deterministic(true);
    stop();
  }
};
INSTANTIATE_TEST_SUITE_P(Threads, Parallel, testing::Values(1, 2, 3, 4));

TEST_P(Parallel, CoversEachElementExactlyOnce) {
  for (int64_t n : {0, 1, 2, 7, 63, 64, 65, 1000}) {
    for (int64_t grain : {-1, 0, 1, 3, 64, 2000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(n));
      const int64_t size = grain < 1 ? 1 : grain;
      std::atomic<int> odd_sizes{0};
      parallel_for(n, grain, [&](int64_t begin, int64_t end) noexcept {
        if (begin % size != 0 || end <= begin || (end - begin != size && end != n)) ++odd_sizes;
        for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (auto& hit : hits) EXPECT_EQ(hit.load(), 1) << "n " << n << " grain " << grain;
      EXPECT_EQ(odd_sizes.load(), 0) << "n " << n << " grain " << grain;
    }
  }
}

TEST_P(Parallel, PlainWritesAreSeenAfterTheRegion) {
  std::vector<int64_t> values(5000);
  for (int64_t round = 1; round <= 20; ++round) {
    parallel_for(5000, 100, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += round * i;
    });
  }
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], 210 * i);
}

TEST_P(Parallel, NestedRegionRunsOnItsOwnThread) {
  std::vector<int> counts(64 * 64);
  parallel_for(64, 4, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) {
      int order = 0;  // not atomic: the inner region must not leave this thread
      parallel_for(64, 4, [&, i](int64_t from, int64_t to) noexcept {
        for (int64_t j = from; j < to; ++j) counts[static_cast<size_t>(i * 64 + j)] = ++order;
      });
    }
  });
  for (size_t k = 0; k < counts.size(); ++k) ASSERT_EQ(counts[k], static_cast<int>(k % 64) + 1);
}

TEST_P(Parallel, ManyTinyRegions) {
  int64_t total = 0;
  for (int round = 0; round < 20000; ++round) {
    int64_t parts[3] = {};
    parallel_for(3, 1, [&](int64_t begin, int64_t) noexcept { parts[begin] = begin + 1; });
    total += parts[0] + parts[1] + parts[2];
  }
  EXPECT_EQ(total, 20000 * 6);
}

TEST_P(Parallel, StartsAndStopsAgain) {
  for (int round = 0; round < 10; ++round) {
    stop();
    EXPECT_EQ(threads(), 1);
    start(GetParam());
    std::atomic<int> sum{0};
    parallel_for(100, 1, [&](int64_t begin, int64_t) noexcept { sum += static_cast<int>(begin); });
    ASSERT_EQ(sum.load(), 4950);
  }
}

TEST_P(Parallel, WorkersAreUsed) {
  if (threads() == 1) return;  // serial.cpp, or one thread asked for
  EXPECT_EQ(threads(), GetParam());
  // Each chunk holds its thread until another has begun: this ends only if two threads run at once.
  std::atomic<int> begun{0};
  parallel_for(2, 1, [&](int64_t, int64_t) noexcept {
    ++begun;
    while (begun.load() < 2) {
    }
  });
  EXPECT_EQ(begun.load(), 2);
}

template <class T, class Index>
struct Scatter {
  int64_t rows, width, n;
  std::vector<Index> index;
  std::vector<T> src, start;

  Scatter(int64_t rows_, int64_t width_, int64_t n_) : rows(rows_), width(width_), n(n_) {
    uint32_t seed = 12345;
    auto next = [&seed] { return (seed = seed * 1664525u + 1013904223u) >> 8; };
    for (int64_t i = 0; i < n; ++i) index.push_back(static_cast<Index>(next() % static_cast<uint32_t>(rows)));
    for (int64_t i = 0; i < n * width; ++i) src.push_back(static_cast<T>(next() % 2000) / T(997) - T(1));
    for (int64_t i = 0; i < rows * width; ++i) start.push_back(static_cast<T>(next() % 2000) / T(991));
  }
  std::vector<T> expected() const {
    std::vector<T> dst = start;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        dst[static_cast<size_t>(index[static_cast<size_t>(i)] * width + j)] +=
            src[static_cast<size_t>(i * width + j)];
      }
    }
    return dst;
  }
  std::vector<T> actual() const {
    std::vector<T> dst = start;
    scatter_add(dst.data(), rows, width, index.data(), n, src.data());
    return dst;
  }
};

template <class T, class Index>
void expect_scatter_add() {
  for (auto [rows, width, n] : {std::array<int64_t, 3>{1, 1, 1},
                                {5, 3, 40},
                                {3, 64, 2000},
                                {64, 33, 4000},
                                {1000, 16, 4000},
                                {100, 1, 50000}}) {
    const Scatter<T, Index> scatter(rows, width, n);
    const std::vector<T> expected = scatter.expected();
    set_deterministic(true);
    const std::vector<T> owned = scatter.actual();
    EXPECT_EQ(std::memcmp(owned.data(), expected.data(), owned.size() * sizeof(T)), 0)
        << "bits differ: " << rows << "x" << width << ", " << n;
    set_deterministic(false);
    const std::vector<T> swapped = scatter.actual();
    for (size_t k = 0; k < expected.size(); ++k) {
      const T tolerance = std::is_same_v<T, float> ? T(2e-3) : T(1e-10);  // up to 50000 terms of size 1
      ASSERT_NEAR(swapped[k], expected[k], tolerance) << rows << "x" << width << ", " << n << " at " << k;
    }
  }
}

TEST_P(Parallel, ScatterAddHasSerialBitsUnlessTold) {
  expect_scatter_add<float, int32_t>();
  expect_scatter_add<float, int64_t>();
  expect_scatter_add<double, int32_t>();
  expect_scatter_add<double, int64_t>();
}

TEST_P(Parallel, AtomicAddLosesNothing) {
  double sum = 0;
  parallel_for(10000, 10, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) atomic_add(&sum, 1.0);
  });
  EXPECT_EQ(sum, 10000.0);
}

}  // namespace
}  // namespace omnigrad::parallel
