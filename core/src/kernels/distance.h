// Euclidean distances between all pairs of points.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

// y[b, i, j] = |x1[b, i] - x2[b, j]|; x1 [batch, rows, width], x2 [batch, cols, width], y [batch, rows,
// cols].
template <class T>
void euclidean_distances(const T* x1, const T* x2, T* y, int64_t batch, int64_t rows, int64_t cols,
                         int64_t width) noexcept;

}  // namespace omnigrad::kernels
