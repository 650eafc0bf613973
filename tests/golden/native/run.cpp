#include "run.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "call.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad::golden {
namespace {

using nlohmann::json;

// The tensors of one case; an input that is asked for twice is one leaf.
class Case {
 public:
  Case(const json& plan, const SafetensorsReader& file, DType dtype)
      : prefix_(plan.at("name").get<std::string>() + "/"), file_(file), dtype_(dtype) {}

  bool has(const std::string& name) const { return file_.has(prefix_ + name); }
  Tensor load(const std::string& name) const { return file_.load(prefix_ + name, dtype_); }
  Tensor leaf(const std::string& name, bool requires_grad) {
    Tensor& t = leaves_[name];
    if (!t) {
      t = load(name);
      if (requires_grad) t.set_requires_grad(true);
    }
    return t;
  }
  DType dtype() const { return dtype_; }

 private:
  std::string prefix_;
  const SafetensorsReader& file_;
  DType dtype_;
  std::map<std::string, Tensor> leaves_;
};

TensorList inputs_of(const json& plan, Case& c) {
  const auto diff = plan.at("diff").get<std::vector<std::string>>();
  TensorList inputs;
  for (const json& slot : plan.at("inputs")) {
    if (slot.contains("number")) {
      inputs.push_back(Tensor::scalar(slot.at("number").get<double>(), c.dtype()));
      continue;
    }
    if (slot.at("tensors").empty() && !slot.at("variadic").get<bool>()) inputs.push_back({});
    for (const std::string name : slot.at("tensors")) {
      Tensor t = c.leaf(name, std::find(diff.begin(), diff.end(), name) != diff.end());
      if (plan.at("prepare").contains(name)) {
        const json& first = plan.at("prepare").at(name);
        t = call(op_named(first.at("op")), first.at("options"), {t})[0];
      }
      inputs.push_back(std::move(t));
    }
  }
  return inputs;
}

// Outputs that nothing was recorded for have gradient zero.
TensorList vjp(const TensorList& y, const TensorList& gy, const TensorList& x, BackwardOptions options) {
  options.allow_unused = true;
  TensorList grads = y.empty() ? TensorList(x.size()) : grad(y, x, gy, options);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!grads[i]) grads[i] = zeros_like(x[i]);
  }
  return grads;
}

struct Output {
  std::string name;
  Tensor y, gy;
};

void gradients(const json& plan, Case& c, const std::vector<Output>& outputs, Results& found) {
  const auto diff = plan.at("diff").get<std::vector<std::string>>();
  TensorList x, y, gy;
  for (const std::string& name : diff) x.push_back(c.leaf(name, true));
  for (const Output& o : outputs) {
    if (!o.gy || !o.y.requires_grad()) continue;
    y.push_back(o.y);
    gy.push_back(o.gy);
  }
  const TensorList first = vjp(y, gy, x, {.retain_graph = true});
  for (size_t i = 0; i < diff.size(); ++i) found["grad." + diff[i]] = first[i];
  if (!plan.at("secondOrder").get<bool>()) return;

  // ds for s = sum over x of <grad.x, v.x>
  const TensorList recorded = vjp(y, gy, x, {.create_graph = true});
  TensorList terms, v, targets = x;
  std::vector<std::string> names = diff;
  for (size_t i = 0; i < diff.size(); ++i) {
    found["recorded.grad." + diff[i]] = recorded[i];
    if (!recorded[i].requires_grad()) continue;
    terms.push_back(recorded[i]);
    v.push_back(c.load("v." + diff[i]));
  }
  for (const Output& o : outputs) {
    if (!o.gy) continue;
    targets.push_back(o.gy);
    names.push_back("gy." + o.name);
  }
  const TensorList second = vjp(terms, v, targets, {});
  for (size_t i = 0; i < names.size(); ++i) found["grad2." + names[i]] = second[i];
}

Results run_op(const json& plan, Case& c) {
  const TensorList results = call(op_named(plan.at("op")), plan.at("options"), inputs_of(plan, c));
  Results found;
  std::vector<Output> outputs;
  for (size_t i = 0; i < plan.at("outputs").size() && i < results.size(); ++i) {
    Output& o = outputs.emplace_back();
    o.name = plan.at("outputs")[i];
    o.y = results[i];
    found["out." + o.name] = o.y;
    if (!c.has("gy." + o.name)) continue;
    o.gy = c.load("gy." + o.name);
    if (plan.at("secondOrder").get<bool>()) o.gy.set_requires_grad(true);
  }
  if (!plan.at("diff").empty()) gradients(plan, c, outputs, found);
  return found;
}

// grads[i] is applied at step i; params[i] is the parameter after it.
Results run_optimizer(const json& plan, const Case& c) {
  if (!plan.contains("fused")) throw std::runtime_error("no fused step is known of this optimizer");
  const json& fused = plan.at("fused");
  const OpInfo& op = op_named(fused.at("op"));
  const auto states = fused.at("states").get<std::vector<std::string>>();
  const Tensor param = c.load("p0"), grads = c.load("grads");
  std::map<std::string, Tensor> tensors{{"params", param}};
  for (const std::string& name : states) tensors[name] = zeros_like(param);
  json options = fused.at("options");
  TensorList params;
  for (int64_t i = 0; i < grads.size(0); ++i) {
    tensors["grads"] = reshape(slice(grads, 0, i, i + 1), param.shape());
    options["step"] = i + 1;
    TensorList inputs;
    for (const InputInfo& input : op.inputs) inputs.push_back(tensors[input.name]);
    call(op, options, inputs);
    params.push_back(clone(param));
  }
  return {{"params", call(op_named("stack"), {{"dim", 0}}, params)[0]}};
}

}  // namespace

Results run_plan(const json& plan, const SafetensorsReader& file, DType dtype) {
  Case c(plan, file, dtype);
  return plan.contains("optimizer") ? run_optimizer(plan, c) : run_op(plan, c);
}

}  // namespace omnigrad::golden
