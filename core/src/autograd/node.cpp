#include "autograd/node.h"

#include <vector>

#include "autograd/checkpoint.h"
#include "omnigrad/autograd.h"
#include "tensor/tensor_impl.h"

namespace omnigrad {
namespace {
uint64_t next_sequence = 1;
bool recording = true;
}  // namespace

bool grad_enabled() { return recording; }
bool set_grad_enabled(bool enabled) { return std::exchange(recording, enabled); }
GradMode::GradMode(bool enabled) : previous_(set_grad_enabled(enabled)) {}
GradMode::~GradMode() { set_grad_enabled(previous_); }

Ref<Node> Node::make_leaf(TensorImpl* tensor) {
  Ref<Node> n(new Node);
  n->leaf = tensor;
  n->sequence = next_sequence++;
  n->outputs.push_back({tensor->shape, tensor->dtype});
  return n;
}

Ref<Node> Node::make(const OpInfo& op, const void* options) {
  Ref<Node> n(new Node);
  n->op = &op;
  n->options = op.copy_options(options);
  n->sequence = next_sequence++;
  return n;
}

void retain(Node* n) noexcept { ++n->refs; }

// A chain of a million nodes must not recurse: what a node releases is queued while another one is being
// destroyed. The queue runs through the nodes themselves, since freeing must not need memory.
void release(Node* n) noexcept {
  if (--n->refs) return;
  static Node* queue = nullptr;
  static bool draining = false;
  n->next_to_free = std::exchange(queue, n);
  if (draining) return;
  draining = true;
  while (queue) {
    Node* next = std::exchange(queue, queue->next_to_free);
    if (next->options) next->op->free_options(next->options);
    delete next;
  }
  draining = false;
}

void Node::release_saved() {
  saved_inputs.clear();
  saved_outputs.clear();
  checkpoint = Ref<Checkpoint>();
  released = true;
}

namespace {

// The saved tensor; history as it was saved, which of a checkpoint is none.
Tensor load(const Node& n, const SmallVec<SavedTensor, 3>& list, size_t i) {
  if (n.released) {
    fail(Code::graph, "backward of ", n.op->name,
         " a second time: its saved tensors were freed; pass retainGraph to keep them");
  }
  const SavedTensor& s = list[i];
  if (s.slot >= 0) return n.checkpoint->load(s.slot);
  if (s.tensor.defined() && s.tensor.version() != s.version) {
    fail(Code::graph, "a tensor that ", n.op->name,
         " saved for backward was changed in place since (version ", s.tensor.version(), ", saved at ",
         s.version, ")");
  }
  return s.tensor;
}

}  // namespace

Tensor Saved::in(size_t i) const {
  Tensor t = load(*node_, node_->saved_inputs, i);
  const Edge& edge = node_->edges[i];
  if (node_->saved_inputs[i].slot < 0 || !edge.node) return t;
  t = t.detach();
  t.impl()->node = edge.node;
  t.impl()->output_index = edge.output;
  return t;
}

Tensor Saved::out(size_t i) const {
  Tensor t = load(*node_, node_->saved_outputs, i).detach();
  t.impl()->node = node_;
  t.impl()->output_index = static_cast<int>(i);
  return t;
}

const Dims& Saved::shape(size_t input) const { return node_->inputs[input].shape; }
DType Saved::dtype(size_t input) const { return node_->inputs[input].dtype; }
const Dims& Saved::out_shape(size_t output) const { return node_->outputs[output].shape; }
size_t Saved::inputs() const { return node_->inputs.size(); }

}  // namespace omnigrad
