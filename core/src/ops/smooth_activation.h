// The fused gradient of the smooth activations. Private to ops.
#pragma once

#include "kernels/activation.h"
#include "omnigrad/ops.h"

namespace omnigrad {

// g f'(x).
Tensor activation_grad(kernels::Activation kind, const Tensor& x, const Tensor& g);

}  // namespace omnigrad
