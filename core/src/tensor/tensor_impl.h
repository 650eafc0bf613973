// What a Tensor points to. Only tensor/ and autograd/ look inside.
#pragma once

#include "omnigrad/tensor.h"
#include "tensor/recycled.h"

namespace omnigrad {

struct TensorImpl : Recycled<TensorImpl> {
  int refs = 0;
  DType dtype = DType::float32;
  int output_index = 0;  // which output of `node` this is
  int64_t offset = 0;
  Dims shape, strides;
  Ref<Storage> storage;
  Ref<Node> node;  // the op that made it, or a leaf's own node; none: no gradient
  Tensor grad;     // of a leaf
};

}  // namespace omnigrad
