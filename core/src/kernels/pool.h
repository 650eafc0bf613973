// Max pooling of any spatial rank with the positions of the maxima, and reading and adding by such positions
// within a plane. Average pooling is a resampling (resample.h).
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

inline constexpr int kMaxPoolAxes = 16;

// Windows along one axis: output o covers `kernel` taps, `dilation` apart, from o * stride - pad on; taps
// outside the input are left out. An adaptive axis covers floor(o in / out) to ceil((o + 1) in / out)
// instead. No window is empty.
struct PoolAxis {
  int64_t in, out;
  int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
  bool adaptive = false;
};

// Whether each window covers an element; dilation over a short axis may step across all of them.
bool every_window_covers(const PoolAxis& axis);

// x [planes, in...] to y [planes, out...], and where in its input plane, flattened, each maximum was. The
// first of equal maxima counts; a NaN beats every number, and the last NaN of a window counts, as in PyTorch;
// a window of -infinity gives its first position.
template <class T>
void max_pool(int64_t planes, int rank, const PoolAxis* axes, const T* x, T* y, int64_t* index);

// The same for windows of 2x2, side by side from the first element on: x [planes, h, w] to y [planes, h / 2,
// w / 2], and the gradient gx for g, both from x alone.
template <class T>
void max_pool2x2(int64_t planes, int64_t h, int64_t w, const T* x, T* y) noexcept;
template <class T>
void max_pool2x2_grad(int64_t planes, int64_t h, int64_t w, const T* x, const T* g, T* gx) noexcept;

// y[p, j] = x[p, index[p, j]] for x [planes, in], y and index [planes, out]. Every index is in [0, in).
template <class T>
void plane_gather(int64_t planes, int64_t in, int64_t out, const T* x, const int64_t* index, T* y);

// The adjoint: x[p, index[p, j]] += y[p, j] in order of j, from zero.
template <class T>
void plane_scatter_add(int64_t planes, int64_t in, int64_t out, const T* y, const int64_t* index, T* x);

// Whether 0 <= index < limit for all n.
bool indices_within(const int64_t* index, int64_t n, int64_t limit);

}  // namespace omnigrad::kernels
