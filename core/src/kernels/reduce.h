// Reductions of the middle axis of a contiguous [outer, n, inner] array into [outer, inner]. Sums are
// pairwise over fixed blocks: their order depends on sizes alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

// float32 and float64 keep their dtype; integers and bool are summed into int64.
size_t sum_workspace(DType dtype, int64_t outer, int64_t n, int64_t inner);
void sum(DType dtype, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
         void* workspace) noexcept;

// The extreme of n >= 1 elements; a NaN wins. Not for bool.
enum class Extreme { max, min };
void extreme(Extreme which, DType dtype, const void* x, void* y, int64_t outer, int64_t n,
             int64_t inner) noexcept;
// Where the extreme is, int64; the first of equals.
void arg_extreme(Extreme which, DType dtype, const void* x, int64_t* y, int64_t outer, int64_t n,
                 int64_t inner) noexcept;

}  // namespace omnigrad::kernels
