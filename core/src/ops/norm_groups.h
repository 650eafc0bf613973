// The fused normalisation that layer, RMS, group, instance and batch norm are made of.
#pragma once

#include "kernels/norm.h"
#include "omnigrad/ops.h"

namespace omnigrad {

struct NormGroupsOptions : kernels::NormSizes {};

// [y, mean, population variance], the latter two of [groups] and without gradient. x of any shape with
// outer * groups * inner elements; weight and bias, each optional, of period * per elements.
TensorList norm_groups(const Tensor& x, const Tensor& weight, const Tensor& bias, const NormGroupsOptions& o);
// y in differentiable ops, without bias.
Tensor norm_groups_composite(const Tensor& x, const Tensor& weight, const NormGroupsOptions& o);

}  // namespace omnigrad
