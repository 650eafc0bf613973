// Stable sort of the middle axis of a contiguous [outer, n, inner] array, with indices. NaN counts as the
// greatest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

size_t sort_workspace(int64_t outer, int64_t n, int64_t inner);
void sort(DType dtype, const void* x, void* y, int64_t* index, int64_t outer, int64_t n, int64_t inner,
          bool descending, void* workspace) noexcept;

}  // namespace omnigrad::kernels
