// The linear map that interpolation and average pooling are composed of, over the last axes of a tensor.
// Private to ops: users see interpolate and avgPool.
#pragma once

#include "omnigrad/op.h"
#include "resample_table.h"

namespace omnigrad {

// Describes the table of every axis, so that a gradient rebuilds the same one.
struct ResampleOptions {
  Dims in, out;  // sizes of the last axes, before and after
  ResampleMode mode = ResampleMode::nearest;
  double scale = 0;  // interpolation: used in coordinates in place of out / in where above 0
  bool align_corners = false, antialias = false;
  Dims kernel, stride, padding;  // average: one value an axis, padding [before, after] flattened
  bool count_include_pad = true;
  int64_t divisor = 0;  // average: what to divide by where above 0
};

Tensor resample(const Tensor& x, const ResampleOptions& o);          // [..., in] to [..., out]
Tensor resample_adjoint(const Tensor& g, const ResampleOptions& o);  // [..., out] to [..., in]

// Sizes of the axes that a spatial op works on: all but the first two.
Dims spatial_sizes(const Tensor& x, int64_t axes);

}  // namespace omnigrad
