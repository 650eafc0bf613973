// Softmax with cross-entropy, fused: what crossEntropy is for class indices without weights. Private to ops.
#pragma once

#include "omnigrad/ops.h"

namespace omnigrad {

// -log_softmax(x)[target] along an axis, 0 where the target is `ignored`; of x's shape without the axis.
// Every other target is a class.
Tensor cross_entropy_each(const Tensor& x, const Tensor& target, int64_t axis, int64_t ignored);

}  // namespace omnigrad
