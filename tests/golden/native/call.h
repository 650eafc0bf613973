// Calls an op by name with options from JSON, through its schema alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "omnigrad/op.h"

namespace omnigrad::golden {

const OpInfo& op_named(const std::string& name);

// The outputs that the options show. An option that `options` lacks keeps its default.
TensorList call(const OpInfo& op, const nlohmann::json& options, const TensorList& inputs);

}  // namespace omnigrad::golden
