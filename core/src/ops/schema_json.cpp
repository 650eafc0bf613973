// The schema of every op as JSON: what JavaScript, the generated TypeScript and the table of ops are made
// from.
#include <cmath>

#include "omnigrad/op.h"

namespace omnigrad {
namespace {

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string json(bool b) { return b ? "true" : "false"; }
std::string json(const char* s) { return quoted(s); }
std::string json(const std::string& s) { return quoted(s); }
std::string json(int i) { return std::to_string(i); }
std::string json(int64_t i) { return std::to_string(i); }
std::string json(double x) { return std::isfinite(x) ? text(x) : "null"; }
std::string json(const Dims& d) { return text(d); }

template <class List, class F>
std::string array(const List& list, const F& item) {
  std::string out = "[";
  for (const auto& x : list) out += (out.size() > 1 ? "," : "") + item(x);
  return out + "]";
}

// object("a", 1, "b", "x") is {"a":1,"b":"x"}; a value that is JSON already is wrapped in Raw.
struct Raw {
  std::string text;
};
std::string json(const Raw& r) { return r.text; }

void members(std::string&) {}
template <class V, class... Rest>
void members(std::string& out, const char* key, const V& value, const Rest&... rest) {
  out += (out.size() > 1 ? "," : "") + quoted(key) + ":" + json(value);
  members(out, rest...);
}
template <class... Members>
std::string object(const Members&... m) {
  std::string out = "{";
  members(out, m...);
  return out + "}";
}

const char* type_name(OptionType t) {
  constexpr const char* names[] = {"boolean", "integer", "number", "choice", "text", "dims", "padding"};
  return names[static_cast<int>(t)];
}

std::string default_json(const OptionInfo& o, const void* defaults) {
  const OptionValue v = o.get(defaults);
  if (o.type == OptionType::choice && std::holds_alternative<int64_t>(v)) {
    return quoted(o.choices[static_cast<size_t>(std::get<int64_t>(v))]);
  }
  return std::visit(
      []<class T>(const T& x) -> std::string {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "null";
        } else if constexpr (std::is_same_v<T, Padding>) {
          return json(x.values);
        } else {
          return json(x);
        }
      },
      v);
}

}  // namespace

std::string schema_json(const OpInfo& op) {
  void* defaults = op.copy_options(nullptr);
  std::string out =
      object("name", op.name, "doc", op.doc, "internal", op.internal, "noGradient", op.no_gradient, "inputs",
             Raw{array(op.inputs,
                       [](const InputInfo& i) {
                         return object("name", i.name, "doc", i.doc, "kind", name_of(i.kind), "optional",
                                       i.optional, "variadic", i.variadic, "diff", i.differentiable,
                                       "mutated", i.mutated, "order", i.order);
                       })},
             "options",
             Raw{array(op.options,
                       [&](const OptionInfo& o) {
                         return object("name", o.name, "doc", o.doc, "type", type_name(o.type), "optional",
                                       o.nullable, "positional", o.positional, "default",
                                       Raw{default_json(o, defaults)}, "choices",
                                       Raw{array(o.choices, [](const std::string& c) { return quoted(c); })},
                                       "order", o.order);
                       })},
             "outputs", Raw{array(op.outputs, [](const OutputInfo& o) {
               return object("name", o.name, "when", o.when, "diff", o.differentiable);
             })});
  op.free_options(defaults);
  return out;
}

std::string schema_json() {
  return object("maxRank", kMaxRank, "ops",
                Raw{array(all_ops(), [](const OpInfo* op) { return schema_json(*op); })});
}

}  // namespace omnigrad
