// A node of the autograd graph: one recorded call of an op, or a leaf. It keeps what the op's vjp needs, and
// edges to the nodes that made its inputs; edges lead from younger to older nodes only, so the graph has no
// cycle.
#pragma once

#include "omnigrad/op.h"
#include "omnigrad/tensor.h"
#include "tensor/recycled.h"

namespace omnigrad {

struct Edge {
  Ref<Node> node;  // none: this input has no gradient
  int output = 0;  // which of node's outputs
};

struct ShapeAndType {
  Dims shape;
  DType dtype;
};

class Checkpoint;  // checkpoint.h
void retain(Checkpoint* c) noexcept;
void release(Checkpoint* c) noexcept;

struct SavedTensor {
  Tensor tensor;  // a saved output has no history here: it is reattached when read
  uint32_t version = 0;
  int slot = -1;  // inside a checkpoint: where the checkpoint keeps it, and there is no tensor here
};

namespace autograd {
struct Visit;
}

struct Node : Recycled<Node> {
  int refs = 0;
  const OpInfo* op = nullptr;  // none: a leaf
  void* options = nullptr;     // owned
  TensorImpl* leaf = nullptr;  // a leaf's tensor while it lives
  uint64_t sequence = 0;       // grows with time
  bool released = false;       // its saved tensors are gone
  SmallVec<Edge, 3> edges;     // one an input
  SmallVec<ShapeAndType, 3> inputs;
  SmallVec<ShapeAndType, 1> outputs;
  SmallVec<SavedTensor, 3> saved_inputs, saved_outputs;  // undefined where the schema does not save
  Ref<Checkpoint> checkpoint;                            // that keeps the saved tensors, if any
  Node* next_to_free = nullptr;
  autograd::Visit* visit = nullptr;  // the engine's, while it runs

  static Ref<Node> make_leaf(TensorImpl* tensor);
  static Ref<Node> make(const OpInfo& op, const void* options);
  void release_saved();
};

// Makes `outputs` of a call depend on its inputs, where recording is on and one of them requires a gradient.
void record_call(const OpInfo& op, const void* options, const TensorList& inputs, const TensorList& outputs);

}  // namespace omnigrad
