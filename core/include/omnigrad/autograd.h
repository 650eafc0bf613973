// Reverse-mode differentiation of any order. vjps are written in differentiable ops, so `create_graph` means
// no more than: keep recording while backward runs.
#pragma once

#include <functional>

#include "omnigrad/op.h"

namespace omnigrad {

bool grad_enabled();
// Turns recording on or off while it lives.
class GradMode {
 public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};
bool set_grad_enabled(bool enabled);  // returns what it was

struct BackwardOptions {
  bool retain_graph = false;  // keep saved tensors for another pass; create_graph implies it
  bool create_graph = false;  // record the backward pass itself
  bool allow_unused = false;  // grad: undefined for an x that y does not depend on, instead of an error
};

// Adds dy/dleaf to the grad of every leaf that y depends on. `gy` defaults to 1 where y has one element.
void backward(const Tensor& y, const Tensor& gy = {}, const BackwardOptions& options = {});

// d(sum of <y, gy>)/dx for each x, without touching any grad.
TensorList grad(const TensorList& y, const TensorList& x, const TensorList& gy = {},
                const BackwardOptions& options = {});

// The vjp of a fused gradient op. `composite` computes, in differentiable ops, the same function as the fused
// op whose gradients (of inputs, at cotangents gy) that op returned; v are the cotangents of those gradients,
// undefined for a zero. Returns gradients for inputs, then gy, where `need` asks for them. Of any order
// itself, since the composite is recorded on top of its inputs' own history.
Grads double_backward(const std::function<TensorList(const TensorList&)>& composite, const TensorList& inputs,
                      const TensorList& gy, const TensorList& v, Need need);

// Runs f and records it, keeping none of the tensors that its ops save: backward runs f again to have them. f
// must do the same each time; in a second run `again` is true. Gradients of any order are as without.
TensorList checkpoint(const std::function<TensorList(const TensorList& x, bool again)>& f,
                      const TensorList& x);

// Whether a checkpointed function is running again: running statistics are left alone then.
bool recomputing();

// While on, backward stops at the first vjp that makes a NaN out of cotangents that hold none, naming the op.
// Returns what it was.
bool set_anomaly_detection(bool on);

// An op whose vjp lives outside the core (JavaScript's customGrad). `vjp` gets the cotangents of `outputs`
// (undefined: zero), the inputs and the outputs, in their places in the graph, and returns one gradient an
// input, undefined for none.
using ExternalVjp =
    std::function<TensorList(Cotangents, const TensorList& inputs, const TensorList& outputs)>;
TensorList record_external(const TensorList& inputs, const TensorList& outputs, ExternalVjp vjp);

}  // namespace omnigrad
