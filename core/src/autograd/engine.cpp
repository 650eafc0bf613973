// The backward pass. Nodes run from youngest to oldest: an edge always leads to an older node, so when a
// node's turn comes all of its cotangents are in, added in node order. Iterative and re-entrant: a vjp may
// run the engine itself.
#include <algorithm>
#include <deque>
#include <vector>

#include "autograd/node.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "omnigrad/profile.h"
#include "tensor/tensor_impl.h"

namespace omnigrad {

namespace autograd {
// A node's state in one run of the engine.
struct Visit {
  Ref<Node> node;
  const void* run = nullptr;  // whose state this is
  Visit* outer = nullptr;     // the node's state in a run that this one is nested in
  TensorList cotangents;      // one an output
  SmallVec<int, 2> targets;   // wanted outputs: index into the run's results, by output; -1: not wanted
  bool runs = false;          // its vjp leads to something wanted
};
}  // namespace autograd

namespace {

using autograd::Visit;

bool wanted(const Visit& v, int output) {
  return v.runs || (!v.targets.empty() && v.targets[static_cast<size_t>(output)] >= 0);
}

// Sums what broadcasting repeated, and holds every vjp to its input's shape and dtype.
Tensor fit(Tensor g, const ShapeAndType& input, const OpInfo& op, size_t index) {
  if (!(g.shape() == input.shape)) {
    bool broadcasts = g.shape().size() >= input.shape.size();
    const size_t lead = g.shape().size() - input.shape.size();
    for (size_t i = 0; broadcasts && i < input.shape.size(); ++i) {
      broadcasts = input.shape[i] == g.shape()[lead + i] || input.shape[i] == 1;
    }
    if (!broadcasts) {
      fail(Code::state, "vjp of ", op.name, " gave a gradient of shape ", g.shape(), " for input ", index,
           " of shape ", input.shape);
    }
    g = sum_to(g, input.shape);
  }
  if (g.dtype() != input.dtype) {
    fail(Code::state, "vjp of ", op.name, " gave a ", g.dtype(), " gradient for input ", index, " of ",
         input.dtype);
  }
  return g;
}

bool detects_anomalies = false;

bool has_nan(const Tensor& t) {
  if (!t.defined() || !is_floating(t.dtype())) return false;
  const Tensor dense = t.contiguous();
  return visit_floating(t.dtype(), [&]<class T>() {
    const T* x = dense.data<T>();
    for (int64_t i = 0; i < dense.numel(); ++i) {
      if (x[i] != x[i]) return true;
    }
    return false;
  });
}

// Stops where a NaN first appears on the way back.
void check_anomaly(const Node& n, const TensorList& cotangents, const Grads& grads) {
  for (const Tensor& g : cotangents) {
    if (has_nan(g)) return;
  }
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!has_nan(grads[i])) continue;
    fail(Code::numeric, "detectAnomaly: backward of ", n.op->name, " gave NaN for input ", i, " of shape ",
         n.inputs[i].shape, "; its cotangents hold none");
  }
}

class Run {
 public:
  explicit Run(const BackwardOptions& options) : options_(options) {}
  ~Run() {
    for (Visit& v : visits_) v.node->visit = v.outer;
  }

  void discover(const TensorList& roots, uint64_t oldest) {
    std::vector<Node*> stack;
    for (const Tensor& t : roots) stack.push_back(t.impl()->node.get());
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      if (n->sequence < oldest || find(n)) continue;
      Visit& v = visits_.emplace_back();
      v.node = Ref<Node>(n);
      v.run = this;
      v.outer = n->visit;
      v.cotangents.resize(n->outputs.size());
      n->visit = &v;
      for (const Edge& e : n->edges) {
        if (e.node) stack.push_back(e.node.get());
      }
    }
    order_.reserve(visits_.size());
    for (Visit& v : visits_) order_.push_back(&v);
    std::sort(order_.begin(), order_.end(),
              [](const Visit* a, const Visit* b) { return a->node->sequence > b->node->sequence; });
  }

  void want(const Tensor& x, int result) {
    if (Visit* v = find(x.impl()->node.get())) {
      if (v->targets.empty()) v->targets.resize(v->node->outputs.size(), -1);
      v->targets[static_cast<size_t>(x.impl()->output_index)] = result;
    }
  }
  void want_all_leaves() {
    for (Visit* v : order_) {
      if (!v->node->op) v->targets.resize(1, 0);
    }
  }
  // Oldest first: a node runs if one of its edges leads to a wanted output.
  void plan() {
    for (size_t i = order_.size(); i-- > 0;) {
      for (const Edge& e : order_[i]->node->edges) {
        const Visit* to = e.node ? find(e.node.get()) : nullptr;
        if (to && wanted(*to, e.output)) order_[i]->runs = true;
      }
    }
  }

  void seed(const Tensor& y, Tensor g) {
    // A root older than everything wanted was not visited: nothing depends on its gradient.
    if (find(y.impl()->node.get())) accumulate(y.impl()->node.get(), y.impl()->output_index, std::move(g));
  }

  // `deliver(node, output, gradient)` gets each wanted gradient, complete.
  template <class Deliver>
  void execute(Deliver&& deliver) {
    for (Visit* v : order_) {
      for (size_t i = 0; i < v->targets.size(); ++i) {
        if (v->targets[i] >= 0 && v->cotangents[i].defined()) deliver(*v, v->targets[i], v->cotangents[i]);
      }
      if (v->runs) step(*v);
      v->cotangents.clear();
    }
  }

 private:
  Visit* find(Node* n) const { return n->visit && n->visit->run == this ? n->visit : nullptr; }

  void step(Visit& v) {
    Node& n = *v.node;
    if (std::none_of(v.cotangents.begin(), v.cotangents.end(), [](const Tensor& t) { return t.defined(); }))
      return;
    if (n.released) {
      fail(Code::graph, "backward of ", n.op->name,
           " a second time: its graph was freed by the first; pass retainGraph to keep it");
    }
    SmallVec<bool, 8> need;
    for (const Edge& e : n.edges) {
      const Visit* to = e.node ? find(e.node.get()) : nullptr;
      need.push_back(to && wanted(*to, e.output));
    }
    profile::Span span(*n.op, true);
    Grads grads = vjp_of(v, need);
    if (grads.size() != n.edges.size()) {
      fail(Code::state, "vjp of ", n.op->name, " gave ", grads.size(), " gradients for ", n.edges.size(),
           " inputs");
    }
    if (detects_anomalies) check_anomaly(n, v.cotangents, grads);
    v.cotangents.clear();
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!need[i] || !grads[i].defined()) continue;
      accumulate(n.edges[i].node.get(), n.edges[i].output, fit(std::move(grads[i]), n.inputs[i], *n.op, i));
    }
    if (!options_.retain_graph && !options_.create_graph) n.release_saved();
  }

  // An error in it names an op that the caller may never have called: it says whose gradient that was part
  // of.
  static Grads vjp_of(const Visit& v, const SmallVec<bool, 8>& need) {
    const Node& n = *v.node;
    try {
      return n.op->vjp(n.options, Saved(v.node), v.cotangents, Need(need));
    } catch (Error& e) {
      if (e.message.find(n.op->name) == std::string::npos) e.message += "; in the gradient of " + n.op->name;
      throw;
    }
  }

  void accumulate(Node* n, int output, Tensor g) {
    Tensor& sum = find(n)->cotangents[static_cast<size_t>(output)];
    if (!sum.defined()) {
      sum = std::move(g);
    } else if (options_.create_graph) {
      sum = add(sum, g);
    } else {
      omnigrad::accumulate(sum, g);
    }
  }

  BackwardOptions options_;
  std::deque<Visit> visits_;
  std::vector<Visit*> order_;
};

Tensor default_cotangent(const Tensor& y, const Tensor& gy) {
  if (!gy.defined()) {
    if (y.numel() != 1)
      fail(Code::graph, "backward of shape ", y.shape(),
           " needs gradOutputs; only one element has a default");
    return ones(y.shape(), y.dtype());
  }
  if (!(gy.shape() == y.shape()) || gy.dtype() != y.dtype()) {
    fail("gradOutputs ", gy.dtype(), " ", gy.shape(), " must match the output, ", y.dtype(), " ", y.shape());
  }
  return gy;
}

void add_to_leaf(const Visit& v, const Tensor& g, bool create_graph) {
  if (!v.node->leaf) return;  // the tensor is gone, and with it whoever would read its gradient
  Ref<TensorImpl> leaf(v.node->leaf);
  if (create_graph) {
    leaf->grad = leaf->grad.defined() ? add(leaf->grad, g) : g;
  } else if (leaf->grad.defined()) {
    accumulate(leaf->grad, g);
  } else {
    // The caller may go on to scale the gradient in place: it shares its storage with nobody.
    leaf->grad = g.uniquely_held() && g.is_contiguous() ? g : clone(g).detach();
  }
}

}  // namespace

bool set_anomaly_detection(bool on) { return std::exchange(detects_anomalies, on); }

void backward(const Tensor& y, const Tensor& gy, const BackwardOptions& options) {
  if (!y.requires_grad())
    fail(Code::graph, "backward: the output does not depend on a tensor that requires a gradient");
  Tensor seed = default_cotangent(y, gy);
  Run run(options);
  run.discover({y}, 0);
  run.want_all_leaves();
  run.plan();
  run.seed(y, std::move(seed));
  GradMode mode(options.create_graph);
  run.execute([&](const Visit& v, int, const Tensor& g) { add_to_leaf(v, g, options.create_graph); });
}

TensorList grad(const TensorList& y, const TensorList& x, const TensorList& gy,
                const BackwardOptions& options) {
  TensorList roots, seeds;
  for (size_t i = 0; i < y.size(); ++i) {
    Tensor seed = default_cotangent(y[i], i < gy.size() ? gy[i] : Tensor());
    if (!y[i].requires_grad()) continue;
    roots.push_back(y[i]);
    seeds.push_back(std::move(seed));
  }
  uint64_t oldest = UINT64_MAX;
  for (const Tensor& t : x) {
    if (!t.requires_grad())
      fail(Code::graph, "grad: an input of shape ", t.shape(), " does not require a gradient");
    oldest = std::min(oldest, t.impl()->node->sequence);
  }
  TensorList results(x.size());
  {
    Run run(options);
    run.discover(roots, oldest);
    // Two entries of x may be the same tensor: the first stands for both.
    SmallVec<size_t, 8> same;
    for (size_t i = 0; i < x.size(); ++i) {
      size_t j = 0;
      while (x[j].impl()->node.get() != x[i].impl()->node.get() ||
             x[j].impl()->output_index != x[i].impl()->output_index)
        ++j;
      same.push_back(j);
      if (i == j) run.want(x[i], static_cast<int>(i));
    }
    run.plan();
    for (size_t i = 0; i < roots.size(); ++i) run.seed(roots[i], seeds[i]);
    GradMode mode(options.create_graph);
    run.execute([&](const Visit&, int result, const Tensor& g) { results[static_cast<size_t>(result)] = g; });
    for (size_t i = 0; i < x.size(); ++i) results[i] = results[same[i]];
  }
  if (!options.allow_unused) {
    for (size_t i = 0; i < x.size(); ++i) {
      if (results[i].defined()) continue;
      fail(Code::graph, "grad: the output does not depend on input ", i, " of shape ", x[i].shape(),
           "; pass allowUnused to get nothing for it");
    }
  }
  return results;
}

}  // namespace omnigrad
