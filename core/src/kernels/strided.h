// Walks up to four strided operands over one broadcast shape, row by row: adjacent axes are collapsed first,
// the work is cut into chunks of fixed size, and a row comes with one stride an operand. Strides count
// elements; 0 repeats. The walk is compiled once; what a row does is the caller's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "parallel/parallel.h"

namespace omnigrad::kernels {

inline constexpr int kMaxAxes = 16;
inline constexpr int kMaxOperands = 4;

// Elements in one chunk of a cheap elementwise loop.
inline constexpr int64_t kGrain = 32768;

// Before a loop that is compiled for many types and seldom hot: small code, neither vectorised nor unrolled.
#define OMNIGRAD_SMALL_LOOP _Pragma("clang loop vectorize(disable) interleave(disable) unroll(disable)")

void dense_strides(const int64_t* shape, int rank, int64_t (&out)[kMaxAxes]) noexcept;

class Strided {
 public:
  // Drops axes of size 1, merges axes that every operand walks as one. A rank of 0 becomes one axis of
  // size 1.
  Strided(const int64_t* dims, int axes, std::initializer_list<const int64_t*> operands) noexcept;

  int64_t count() const noexcept;
  int64_t inner_stride(int operand) const noexcept { return strides_[operand][rank_ - 1]; }

  // row(offsets, n): n elements from `offsets[operand]` on, `inner_stride(operand)` apart.
  template <class Row>
  void for_rows(int64_t grain, const Row& row) const noexcept {
    run(
        grain,
        [](const void* r, const int64_t* offsets, int64_t n) noexcept {
          (*static_cast<const Row*>(r))(offsets, n);
        },
        &row);
  }

 private:
  using RowFunction = void (*)(const void* row, const int64_t* offsets, int64_t n) noexcept;
  void run(int64_t grain, RowFunction function, const void* row) const noexcept;
  void walk(int64_t begin, int64_t end, RowFunction function, const void* row) const noexcept;

  int operands_ = 0, rank_ = 0;
  int64_t shape_[kMaxAxes];
  int64_t strides_[kMaxOperands][kMaxAxes];
};

}  // namespace omnigrad::kernels
