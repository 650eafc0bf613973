#include "call.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace omnigrad::golden {
namespace {

using nlohmann::json;

Dims dims_of(const json& value) {
  if (!value.is_array()) return {value.get<int64_t>()};
  const auto list = value.get<std::vector<int64_t>>();
  return Dims(list.begin(), list.end());
}

Padding padding_of(const json& value) {
  if (!value.is_array() || value.empty() || !value[0].is_array()) return {dims_of(value), false};
  Padding padding{{}, true};
  for (const json& pair : value) {
    padding.values.push_back(pair.at(0).get<int64_t>());
    padding.values.push_back(pair.at(1).get<int64_t>());
  }
  return padding;
}

int64_t choice_of(const OptionInfo& option, const std::string& value) {
  const auto found = std::find(option.choices.begin(), option.choices.end(), value);
  if (found == option.choices.end()) throw std::runtime_error(option.name + " has no choice " + value);
  return found - option.choices.begin();
}

OptionValue value_of(const OptionInfo& option, const json& value) {
  switch (option.type) {
    case OptionType::boolean:
      return value.get<bool>();
    case OptionType::integer:
      return value.get<int64_t>();
    case OptionType::number:
      return value.get<double>();
    case OptionType::text:
      return value.get<std::string>();
    case OptionType::choice:
      return choice_of(option, value.get<std::string>());
    case OptionType::dims:
      return dims_of(value);
    case OptionType::padding:
      return padding_of(value);
  }
  return {};
}

bool shown(const OpInfo& op, const void* options, const OutputInfo& output) {
  for (const OptionInfo& o : op.options) {
    if (o.name == output.when) return std::get<bool>(o.get(options));
  }
  return true;
}

}  // namespace

const OpInfo& op_named(const std::string& name) {
  const OpInfo* op = find_op(name);
  if (!op) throw std::runtime_error("there is no op " + name);
  return *op;
}

TensorList call(const OpInfo& op, const json& options, const TensorList& inputs) {
  const std::unique_ptr<void, void (*)(void*)> values(op.copy_options(nullptr), op.free_options);
  for (const OptionInfo& o : op.options) {
    if (options.contains(o.name)) o.set(values.get(), value_of(o, options.at(o.name)));
  }
  TensorList outputs = dispatch(op, values.get(), inputs), visible;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputInfo& info = op.outputs[std::min(i, op.outputs.size() - 1)];
    if (shown(op, values.get(), info)) visible.push_back(std::move(outputs[i]));
  }
  return visible;
}

}  // namespace omnigrad::golden
