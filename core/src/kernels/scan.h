// Running sums and extremes along the middle axis of a contiguous [outer, n, inner] array.
#pragma once

#include <cstdint>

#include "kernels/reduce.h"

namespace omnigrad::kernels {

// y[i] = x[0] + ... + x[i], or from the end where `reverse`. Floating dtypes and int64.
void running_sum(DType dtype, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
                 bool reverse) noexcept;

// The extreme so far and where it is; a later equal one takes over, as does a NaN for good. Not for bool.
void running_extreme(Extreme which, DType dtype, const void* x, void* y, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner) noexcept;

}  // namespace omnigrad::kernels
