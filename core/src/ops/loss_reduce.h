// What losses share: the reduction over elements or rows.
#pragma once

#include "omnigrad/ops.h"

namespace omnigrad {

enum class Reduction { none, mean, sum };
inline constexpr Choices kReductions{"none", "mean", "sum"};

inline Tensor reduce(const Tensor& loss, Reduction reduction) {
  if (reduction == Reduction::mean) return mean(loss);
  return reduction == Reduction::sum ? sum(loss) : loss;
}

inline OutSpecs loss_spec(const Dims& shape, DType dtype, Reduction reduction) {
  return {{reduction == Reduction::none ? shape : Dims{}, dtype}};
}

struct LossOptions {
  Reduction reduction = Reduction::mean;
};

}  // namespace omnigrad
