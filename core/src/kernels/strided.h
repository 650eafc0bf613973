// Walks N strided operands over one broadcast shape, row by row: adjacent axes are collapsed first, the work
// is cut into chunks of fixed size, and a row comes with one stride an operand. Strides count elements; 0
// repeats.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel/parallel.h"

namespace omnigrad::kernels {

inline constexpr int kMaxAxes = 16;

template <int N>
struct Strided {
  int rank = 0;
  int64_t shape[kMaxAxes];
  int64_t strides[N][kMaxAxes];

  // Drops axes of size 1, merges axes that every operand walks as one. A rank of 0 becomes one axis of
  // size 1.
  Strided(const int64_t* dims, int axes, const int64_t* const (&operand)[N]) {
    for (int a = 0; a < axes; ++a) {
      if (dims[a] == 1) continue;
      bool merges = rank > 0;
      for (int k = 0; merges && k < N; ++k) merges = strides[k][rank - 1] == operand[k][a] * dims[a];
      const int at = merges ? rank - 1 : rank++;
      shape[at] = merges ? shape[at] * dims[a] : dims[a];
      for (int k = 0; k < N; ++k) strides[k][at] = operand[k][a];
    }
    if (rank == 0) {
      rank = 1;
      shape[0] = 1;
      for (int k = 0; k < N; ++k) strides[k][0] = 0;
    }
  }

  int64_t count() const {
    int64_t n = 1;
    for (int a = 0; a < rank; ++a) n *= shape[a];
    return n;
  }
  int64_t inner_stride(int k) const { return strides[k][rank - 1]; }

  // row(offsets, n): n elements from `offsets[k]` on, `inner_stride(k)` apart.
  template <class Row>
  void for_rows(int64_t grain, const Row& row) const noexcept {
    parallel::parallel_for(count(), grain,
                           [&](int64_t begin, int64_t end) noexcept { walk(begin, end, row); });
  }

 private:
  template <class Row>
  void walk(int64_t begin, int64_t end, const Row& row) const noexcept {
    int64_t index[kMaxAxes], offset[N] = {};
    int64_t rest = begin;
    for (int a = rank - 1; a >= 0; --a) {
      index[a] = rest % shape[a];
      rest /= shape[a];
      for (int k = 0; k < N; ++k) offset[k] += index[a] * strides[k][a];
    }
    const int last = rank - 1;
    while (begin < end) {
      const int64_t n = std::min(end - begin, shape[last] - index[last]);
      row(offset, n);
      begin += n;
      index[last] += n;
      for (int k = 0; k < N; ++k) offset[k] += n * strides[k][last];
      for (int a = last; a > 0 && index[a] == shape[a]; --a) {
        index[a] = 0;
        ++index[a - 1];
        for (int k = 0; k < N; ++k) offset[k] += strides[k][a - 1] - shape[a] * strides[k][a];
      }
    }
  }
};

// Elements in one chunk of a cheap elementwise loop.
inline constexpr int64_t kGrain = 32768;

}  // namespace omnigrad::kernels
