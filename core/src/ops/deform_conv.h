// The same function as op deformConv in differentiable ops: what higher orders run through, and what tests
// hold the fused kernels against.
#pragma once

#include "omnigrad/ops.h"

namespace omnigrad {

Tensor deform_conv_composite(const Tensor& x, const Tensor& offset, const Tensor& weight, const Tensor& mask,
                             const DeformConvOptions& o);

}  // namespace omnigrad
