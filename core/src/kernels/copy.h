// Strided copy with cast, and fills. Shapes and strides count elements.
#pragma once

#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

struct StridedView {
  void* data;
  DType dtype;
  const int64_t* strides;
};

// to[i] = from[i] over `shape`; casts as C++ does, except that floating to integer saturates (NaN to 0) and
// anything but zero becomes true. A stride of 0 in `from` repeats it.
void copy(const StridedView& to, const StridedView& from, const int64_t* shape, int rank) noexcept;

// to[i] = value over `shape`.
void fill(const StridedView& to, double value, const int64_t* shape, int rank) noexcept;

}  // namespace omnigrad::kernels
