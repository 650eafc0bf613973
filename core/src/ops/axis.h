// A contiguous tensor seen around one axis, as kernels take it: [outer, n, inner].
#pragma once

#include "omnigrad/op.h"

namespace omnigrad {

struct AxisView {
  int64_t outer = 1, n = 1, inner = 1;

  AxisView(const Dims& shape, int64_t dim) {
    dim = normalize_dim(dim, static_cast<int64_t>(shape.size()));
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
      (i < dim ? outer : i > dim ? inner : n) *= shape[static_cast<size_t>(i)];
    }
  }
};

}  // namespace omnigrad
