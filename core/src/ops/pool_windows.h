// Windows over the spatial axes, as the pooling ops take them. Private to ops/pool.cpp and max_pool.cpp.
#pragma once

#include "omnigrad/ops.h"
#include "resample.h"

namespace omnigrad {

// How many of x's axes a window covers: as many as kernelSize or outputSize lists, which allows x without a
// batch axis; one number is for all but the first two.
inline int64_t window_axes(const Tensor& x, const Dims& given, const char* option) {
  const int64_t listed = static_cast<int64_t>(given.size()), rank = x.rank();
  const int64_t axes = listed > 1 || rank == 2 ? listed : rank - 2;
  if (axes < 1 || (rank != axes + 1 && rank != axes + 2)) {
    fail("x has rank ", rank, ", it needs [N, C, ...spatial] or [C, ...spatial] for ", option, " ", given);
  }
  for (const int64_t n : spatial_sizes(x, axes)) {
    if (n < 1) fail("spatial sizes ", spatial_sizes(x, axes), " must be at least 1");
  }
  return axes;
}

inline Dims with_spatial(const Tensor& x, const Dims& sizes) {
  Dims shape(x.shape().begin(), x.shape().end() - sizes.size());
  shape.append(sizes.begin(), sizes.end());
  return shape;
}

// One value an axis of everything that describes windows; padding flattened.
struct Windows {
  Dims in, out, kernel, stride, padding, dilation;
};

template <class Options>
Windows windows(const Options& o, const Dims& given_dilation, const Tensor& x) {
  Windows w;
  const int64_t axes = window_axes(x, o.kernel_size, "kernelSize");
  w.in = spatial_sizes(x, axes);
  w.kernel = per_axis(o.kernel_size, axes, "kernelSize");
  w.stride = o.stride ? per_axis(*o.stride, axes, "stride") : w.kernel;
  w.padding = per_axis(o.padding, axes, "padding");
  w.dilation = per_axis(given_dilation, axes, "dilation");
  constexpr int64_t limit = int64_t{1} << 27;
  for (size_t a = 0; a < w.in.size(); ++a) {
    const int64_t k = w.kernel[a], s = w.stride[a], d = w.dilation[a];
    if (k < 1 || k > limit) fail(Code::option, "kernelSize ", w.kernel, " must be at least 1");
    if (s < 1 || s > limit) fail(Code::option, "stride ", w.stride, " must be at least 1");
    if (d < 1 || d > limit) fail(Code::option, "dilation ", w.dilation, " must be at least 1");
    const int64_t reach = (k - 1) * d + 1, lo = w.padding[2 * a], hi = w.padding[2 * a + 1];
    if (lo < 0 || hi < 0 || lo > reach / 2 || hi > reach / 2) {
      fail(Code::option, "padding [", lo, ", ", hi,
           "] must be from 0 to half of the window, which reaches over ", reach);
    }
    const int64_t out = pooled_size(w.in[a], k, s, lo, hi, d, o.ceil_mode);
    if (out < 1)
      fail("a window of ", reach, " does not fit into axis of size ", w.in[a], " with padding [", lo, ", ",
           hi, "]");
    w.out.push_back(out);
  }
  return w;
}

// Sizes of an adaptive pooling's result.
inline Dims adaptive_sizes(const Dims& given, const Tensor& x) {
  const Dims out = per_axis(given, window_axes(x, given, "outputSize"), "outputSize");
  for (const int64_t n : out) {
    if (n < 1) fail(Code::option, "outputSize ", out, " must be at least 1");
  }
  return out;
}

}  // namespace omnigrad
