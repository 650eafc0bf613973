// The schema builder, out of line: every op calls it.
#include "omnigrad/op.h"

namespace omnigrad {

Schema::Schema(const char* name, Doc doc) {
  info.name = name;
  info.doc = doc;
}

Schema::Schema(const Schema& other) = default;
Schema::~Schema() = default;

const OpInfo& make_info(const Schema& schema, const OpFunctions& functions) {
  auto* info = new OpInfo(schema.info);
  static_cast<OpFunctions&>(*info) = functions;
  return *info;
}

Schema& Schema::in(const char* name, Kind kind, Doc doc) {
  InputInfo& i = info.inputs.emplace_back();
  i.name = name;
  i.doc = doc;
  i.kind = kind;
  i.order = order_++;
  i.differentiable = kind != Kind::index && kind != Kind::boolean;
  last_ = Last::input;
  return *this;
}

Schema& Schema::out(const char* name) {
  info.outputs.emplace_back().name = name;
  last_ = Last::output;
  return *this;
}

Schema& Schema::option(const char* name, size_t offset, const OptionAccess& access, bool positional, Doc doc,
                       Choices choices) {
  OptionInfo& o = info.options.emplace_back();
  o.name = name;
  o.doc = doc;
  o.type = access.type;
  o.nullable = access.nullable;
  o.positional = positional;
  o.order = order_++;
  o.choices.assign(choices.begin(), choices.end());
  o.offset = offset;
  o.write = access.write;
  o.read = access.read;
  last_ = Last::option;
  return *this;
}

Schema& Schema::saved() {
  (last_ == Last::input ? info.inputs.back().saved : info.outputs.back().saved) = true;
  return *this;
}
Schema& Schema::nondiff() {
  (last_ == Last::input ? info.inputs.back().differentiable : info.outputs.back().differentiable) = false;
  return *this;
}
Schema& Schema::optional() {
  info.inputs.back().optional = true;
  return *this;
}
Schema& Schema::variadic() {
  info.inputs.back().variadic = true;
  return *this;
}
Schema& Schema::mutated() {
  info.inputs.back().mutated = true;
  return nondiff();
}
Schema& Schema::when(const char* option) {
  info.outputs.back().when = option;
  return *this;
}
Schema& Schema::no_gradient(const char* why) {
  info.no_gradient = why;
  return *this;
}
Schema& Schema::internal() {
  info.internal = true;
  return *this;
}

}  // namespace omnigrad
