#include "call.h"

#include <stdexcept>

namespace omnigrad::test {

namespace {
const OpInfo& op_named(std::string_view name) {
  const OpInfo* op = find_op(name);
  if (!op) throw std::runtime_error("no op " + std::string(name));
  return *op;
}
}  // namespace

Call::Call(std::string_view op, TensorList in) : Call(op_named(op), std::move(in)) {}
Call::Call(const OpInfo& op, TensorList in)
    : inputs(std::move(in)), op_(&op), options_(op.copy_options(nullptr)) {}
Call::Call(const Call& other)
    : inputs(other.inputs), op_(other.op_), options_(op_->copy_options(other.options_)) {}
Call& Call::operator=(const Call& other) {
  Call copy(other);
  std::swap(inputs, copy.inputs);
  std::swap(op_, copy.op_);
  std::swap(options_, copy.options_);
  return *this;
}
Call::~Call() { op_->free_options(options_); }

const OptionInfo* Call::option(std::string_view name) const {
  for (const OptionInfo& o : op_->options) {
    if (o.name == name) return &o;
  }
  return nullptr;
}
OptionValue Call::get(std::string_view name) const {
  const OptionInfo* o = option(name);
  if (!o) throw std::runtime_error(op_->name + " has no option " + std::string(name));
  return o->get(options_);
}
Call& Call::set(std::string_view name, OptionValue value) {
  const OptionInfo* o = option(name);
  if (!o) throw std::runtime_error(op_->name + " has no option " + std::string(name));
  o->set(options_, value);
  return *this;
}
Call& Call::choose(std::string_view name, std::string_view choice) {
  const OptionInfo* o = option(name);
  for (size_t i = 0; o && i < o->choices.size(); ++i) {
    if (o->choices[i] == choice) return set(name, static_cast<int64_t>(i));
  }
  throw std::runtime_error(op_->name + ": option " + std::string(name) + " cannot be " + std::string(choice));
}

bool Call::mutates() const {
  for (const InputInfo& i : op_->inputs) {
    if (i.mutated) return true;
  }
  return false;
}

std::string text_of(const OptionValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return omnigrad::text(b); }
    std::string operator()(int64_t i) const { return omnigrad::text(i); }
    std::string operator()(double d) const { return omnigrad::text(d); }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(const Dims& d) const { return omnigrad::text(d); }
    std::string operator()(const Padding& p) const {
      return (p.pairs ? "pairs " : "") + omnigrad::text(p.values);
    }
  };
  return std::visit(Visitor(), value);
}

std::string Call::text() const {
  std::string s = op_->name + "(";
  for (const OptionInfo& o : op_->options) s += o.name + " " + text_of(o.get(options_)) + ", ";
  s += ";";
  for (size_t i = 0; i < inputs.size(); ++i) {
    s += " " + std::to_string(i) + ":";
    s += inputs[i] ? std::string(name_of(inputs[i].dtype())) + omnigrad::text(inputs[i].shape()) : "none";
  }
  return s + ")";
}

}  // namespace omnigrad::test
