// How a fused gradient op is differentiated: through the composite, recorded afresh.
#include "autograd/node.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

// A stand-in for t that the composite alone depends on, so that gradients with respect to it are partial
// ones. While recording it stays tied to t's history, which gives the orders beyond.
Tensor stand_in(const Tensor& t) {
  if (!t.defined() || !is_floating(t.dtype())) return t;
  if (grad_enabled() && t.requires_grad()) return alias(t);
  Tensor leaf = t.detach();
  leaf.set_requires_grad(true);
  return leaf;
}

}  // namespace

Grads double_backward(const std::function<TensorList(const TensorList&)>& composite, const TensorList& inputs,
                      const TensorList& gy, const TensorList& v, Need need) {
  const bool create_graph = grad_enabled();
  TensorList xs, gys, all;
  for (const Tensor& t : inputs) xs.push_back(stand_in(t));
  for (const Tensor& t : gy) gys.push_back(stand_in(t));
  all.append(xs.begin(), xs.end());
  all.append(gys.begin(), gys.end());

  GradMode mode(true);
  TensorList ys = composite(xs), y_used, gy_used;
  for (size_t i = 0; i < gys.size(); ++i) {
    if (!gys[i].defined()) continue;
    y_used.push_back(ys[i]);
    gy_used.push_back(gys[i]);
  }
  // First order, recorded: d<y, gy>/dx for each x whose gradient has a cotangent.
  TensorList x_used, v_used;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].defined() || i >= v.size() || !v[i].defined()) continue;
    x_used.push_back(xs[i]);
    v_used.push_back(v[i]);
  }
  const TensorList first =
      grad(y_used, x_used, gy_used, {.retain_graph = true, .create_graph = true, .allow_unused = true});

  // Second order: d<first, v>/d(inputs, gy). v itself has its gradient from the recorded graph of `first`.
  TensorList roots, seeds, targets;
  for (size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined()) continue;
    roots.push_back(first[i]);
    seeds.push_back(v_used[i]);
  }
  SmallVec<size_t, 8> places;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined() || !all[i].requires_grad() || !need[i]) continue;
    targets.push_back(all[i]);
    places.push_back(i);
  }
  const TensorList second =
      grad(roots, targets, seeds,
           {.retain_graph = create_graph, .create_graph = create_graph, .allow_unused = true});
  Grads out(all.size());
  for (size_t i = 0; i < places.size(); ++i) out[places[i]] = second[i];
  return out;
}

namespace {

struct ExternalOptions {
  ExternalVjp vjp;
};

struct External {
  static constexpr Schema schema() {
    return op("customGrad", "An op whose vjp is given from outside.")
        .in("x", Kind::free)
        .variadic()
        .saved()
        .out("y")
        .saved();
  }
  static void* copy(const void* o) { return new ExternalOptions(*static_cast<const ExternalOptions*>(o)); }
  static void free(void* o) { delete static_cast<ExternalOptions*>(o); }
  static Grads vjp(const void* o, const Saved& s, Cotangents g, Need) {
    TensorList inputs, outputs;
    for (size_t k = 0; k < s.inputs(); ++k) inputs.push_back(s.in(k));
    for (size_t k = 0; k < g.size(); ++k) outputs.push_back(s.out(k));
    return static_cast<const ExternalOptions*>(o)->vjp(g, inputs, outputs);
  }
};

// Not in the list of ops: nobody calls it by name.
const OpInfo& external_op() {
  static constexpr SchemaText<External> text;
  static constexpr OpFunctions functions{
      .copy_options = &External::copy, .free_options = &External::free, .vjp = &External::vjp};
  static constinit OpEntry entry{text.text, &functions};
  return info_of(entry);
}

}  // namespace

TensorList record_external(const TensorList& inputs, const TensorList& outputs, ExternalVjp vjp) {
  TensorList results;
  for (const Tensor& t : outputs) results.push_back(t.detach());
  const ExternalOptions options{std::move(vjp)};
  record_call(external_op(), &options, inputs, results);
  return results;
}

}  // namespace omnigrad
