// The one path of a call: schema checks, the op's shape rule, allocation, forward, recording.
#include <algorithm>

#include "autograd/checkpoint.h"
#include "autograd/node.h"
#include "omnigrad/autograd.h"
#include "omnigrad/profile.h"
#include "tensor/tensor_impl.h"

namespace omnigrad {
namespace {

bool admits(Kind kind, DType t) {
  switch (kind) {
    case Kind::floating:
      return is_floating(t);
    case Kind::number:
      return is_floating(t) || is_integer(t);
    case Kind::index:
      return is_integer(t);
    case Kind::boolean:
      return t == DType::boolean;
    case Kind::any:
    case Kind::free:
      return !is_half(t);
    case Kind::storage:
      return true;
  }
  return false;
}

const char* describe(Kind kind) {
  switch (kind) {
    case Kind::floating:
      return "float32 or float64";
    case Kind::number:
      return "a floating or integer dtype";
    case Kind::index:
      return "an integer dtype";
    case Kind::boolean:
      return "bool";
    case Kind::any:
    case Kind::free:
      return "any dtype but the halves, which are storage: cast it to float32 first";
    case Kind::storage:
      break;
  }
  return "any dtype";
}

bool takes(const OpInfo& op, size_t count) {
  const size_t fixed = op.fixed_inputs(), groups = op.inputs.size() - fixed;
  return groups == 0 ? count == fixed : count >= fixed && (count - fixed) % groups == 0;
}

void check_count(const OpInfo& op, size_t count) {
  if (takes(op, count)) return;
  const size_t fixed = op.fixed_inputs(), groups = op.inputs.size() - fixed;
  fail(Code::argument, "takes ", fixed, " inputs", groups ? " and lists of equal length" : "", ", got ",
       count);
}

void check_inputs(const OpInfo& op, const TensorList& inputs) {
  check_count(op, inputs.size());
  const Tensor* first[7] = {};  // of each kind, to compare dtypes with
  for (size_t i = 0; i < inputs.size(); ++i) {
    const InputInfo& info = op.input_at(i, inputs.size());
    const Tensor& t = inputs[i];
    if (!t.defined()) {
      if (!info.optional) fail(Code::argument, "input ", info.name, " is missing");
      continue;
    }
    if (!admits(info.kind, t.dtype())) {
      fail(Code::dtype, info.name, " has dtype ", t.dtype(), ", it needs ", describe(info.kind));
    }
    if (info.mutated && grad_enabled() && t.requires_grad()) {
      fail(Code::graph, info.name,
           " requires a gradient and is written in place: do it under noGrad, on a leaf");
    }
    if (info.mutated && !t.is_leaf()) {
      fail(Code::graph, info.name, " was made by recorded op ", t.impl()->node->op->name,
           ": only leaves and buffers are written in place");
    }
    if (info.kind != Kind::floating && info.kind != Kind::number && info.kind != Kind::any) continue;
    const Tensor*& other = first[static_cast<int>(info.kind)];
    if (!other) other = &t;
    if (other->dtype() != t.dtype()) {
      fail(Code::dtype, info.name, " has dtype ", t.dtype(), " but ", other->dtype(),
           " came before it: dtypes are never mixed silently, cast one");
    }
  }
}

// Adds the op's name and its inputs' shapes to an error, once: the op that the user called is named.
void annotate(Error& e, const OpInfo& op, const TensorList& inputs) {
  e.op = op.name;
  std::string shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    e.shapes.push_back(inputs[i].shape());
    if (e.shapes.size() <= 8) {
      const std::string name = takes(op, inputs.size()) ? op.input_at(i, inputs.size()).name : "input";
      shapes += (shapes.empty() ? "; " : ", ") + name + " " + text(inputs[i].shape());
    }
  }
  e.message = op.name + ": " + e.message + shapes;
}

int call_depth = 0;

struct Depth {
  Depth() { ++call_depth; }
  ~Depth() { --call_depth; }
};

TensorList run(const OpInfo& op, const void* options, const TensorList& inputs) {
  check_inputs(op, inputs);
  const OutSpecs specs = op.shape(options, inputs);
  if (op.compose) return op.compose(options, inputs);
  TensorList outputs;
  if (op.view) {
    outputs.push_back(op.view(options, inputs));
  } else {
    for (const OutSpec& spec : specs) outputs.push_back(Tensor::empty(spec.shape, spec.dtype));
    op.forward(options, inputs, outputs);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (op.input_at(i, inputs.size()).mutated && inputs[i].defined()) inputs[i].bump_version();
  }
  if (op.vjp) record_call(op, options, inputs, outputs);
  return outputs;
}

bool should_record(const OpInfo& op, const TensorList& inputs) {
  if (!grad_enabled()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined() && inputs[i].requires_grad() && op.input_at(i, inputs.size()).differentiable)
      return true;
  }
  return false;
}

}  // namespace

// `t` as the node keeps it, or a slot of the checkpoint that the call is in.
static SavedTensor save(Node& node, const Tensor& t, Tensor kept) {
  Checkpoint* checkpoint = Checkpoint::current();
  const int slot = checkpoint ? checkpoint->save(t) : -1;
  if (slot < 0 || checkpoint->recomputing()) return {std::move(kept), t.version()};
  node.checkpoint = Ref<Checkpoint>(checkpoint);
  return {{}, 0, slot};
}

void record_call(const OpInfo& op, const void* options, const TensorList& inputs, const TensorList& outputs) {
  if (!should_record(op, inputs)) return;
  Ref<Node> node = Node::make(op, options);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    const InputInfo& info = op.input_at(i, inputs.size());
    Edge edge;
    if (t.defined() && info.differentiable && t.requires_grad())
      edge = {t.impl()->node, t.impl()->output_index};
    node->edges.push_back(std::move(edge));
    node->inputs.push_back(t.defined() ? ShapeAndType{t.shape(), t.dtype()}
                                       : ShapeAndType{{}, DType::float32});
    node->saved_inputs.push_back(info.saved && t.defined() ? save(*node, t, t) : SavedTensor{});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    const OutputInfo& info = op.outputs[std::min(i, op.outputs.size() - 1)];
    node->outputs.push_back({t.shape(), t.dtype()});
    node->saved_outputs.push_back(info.saved ? save(*node, t, t.detach()) : SavedTensor{});
    if (info.differentiable && is_floating(t.dtype())) {
      t.impl()->node = node;
      t.impl()->output_index = static_cast<int>(i);
    }
  }
}

TensorList dispatch(const OpInfo& op, const void* options, const TensorList& inputs) {
  Depth depth;
  profile::Span span(op);
  try {
    TensorList outputs = run(op, options, inputs);
    if (!op.view && !op.compose) span.made(outputs);
    return outputs;
  } catch (Error& e) {
    // Inside a composite or a vjp the outermost call speaks, and it is the one that the caller knows.
    if (call_depth == 1 && e.op.empty()) annotate(e, op, inputs);
    throw;
  }
}

TensorList dispatch(OpEntry& op, const void* options, const TensorList& inputs) {
  return dispatch(info_of(op), options, inputs);
}

Tensor dispatch1(OpEntry& op, const void* options, const TensorList& inputs) {
  return std::move(dispatch(info_of(op), options, inputs)[0]);
}

Tensor call(const char* name, const TensorList& inputs) {
  const OpInfo& op = *find_op(name);
  struct Defaults {
    const OpInfo& op;
    void* options;
    ~Defaults() { op.free_options(options); }
  } defaults{op, op.copy_options(nullptr)};
  TensorList outputs = dispatch(op, defaults.options, inputs);
  return outputs.empty() ? Tensor() : std::move(outputs[0]);
}

}  // namespace omnigrad
