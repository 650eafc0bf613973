// Direct kernels for the commonest members of the resampling family on two axes: nearest by 2 and average
// pooling 2x2 with stride 2, forward and adjoint. They give the bits of the table kernel (resample.h), which
// tests hold them to.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

// x [planes, h, w] to y [planes, 2h, 2w], each pixel four times.
template <class T>
void nearest2x(int64_t planes, int64_t h, int64_t w, const T* x, T* y);
// g [planes, 2h, 2w] to gx [planes, h, w], sums of 2x2.
template <class T>
void nearest2x_adjoint(int64_t planes, int64_t h, int64_t w, const T* g, T* gx);

// x [planes, h, w] to y [planes, h / 2, w / 2], means of 2x2; an odd last row or column is left out.
template <class T>
void average2x2(int64_t planes, int64_t h, int64_t w, const T* x, T* y);
// g [planes, h / 2, w / 2] to gx [planes, h, w].
template <class T>
void average2x2_adjoint(int64_t planes, int64_t h, int64_t w, const T* g, T* gx);

}  // namespace omnigrad::kernels
