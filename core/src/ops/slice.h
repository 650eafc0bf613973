// Slices along one axis as views: what slice, its adjoint, and the ops that cut and join share.
#pragma once

#include <optional>

#include "omnigrad/tensor.h"

namespace omnigrad {

struct SliceOptions {
  int64_t dim = 0, start = 0;
  std::optional<int64_t> stop;
  int64_t step = 1;
};

// Elements start, start + step, ... before stop of an axis, as Python slices resolve them.
Tensor slice_view(const SliceOptions& o, const Tensor& x);

}  // namespace omnigrad
