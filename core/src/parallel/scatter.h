// The loop that both parallel builds' scatter_add share. No threads here.
#pragma once

#include <cstdint>

namespace omnigrad::parallel {

// Adds the rows of src whose index lies in [begin, end) to dst, in src's order.
template <class T, class Index>
void scatter_rows(T* dst, int64_t begin, int64_t end, int64_t width, const Index* index, int64_t n,
                  const T* src) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = index[i];
    if (row < begin || row >= end) continue;
    T* to = dst + row * width;
    const T* from = src + i * width;
    for (int64_t j = 0; j < width; ++j) to[j] += from[j];
  }
}

}  // namespace omnigrad::parallel

// The element and index types scatter_add exists for.
#define OMNIGRAD_SCATTER_ADD(T, Index)                                                                 \
  template void omnigrad::parallel::scatter_add<T, Index>(T*, int64_t, int64_t, const Index*, int64_t, \
                                                          const T*) noexcept;
#define OMNIGRAD_SCATTER_ADD_ALL        \
  OMNIGRAD_SCATTER_ADD(float, int32_t)  \
  OMNIGRAD_SCATTER_ADD(float, int64_t)  \
  OMNIGRAD_SCATTER_ADD(double, int32_t) \
  OMNIGRAD_SCATTER_ADD(double, int64_t)
