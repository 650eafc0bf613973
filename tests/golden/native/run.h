// Runs one plan (lib/plan.mjs says what a plan is) in one dtype. Judges nothing.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "omnigrad/tensor.h"
#include "safetensors.h"

namespace omnigrad::golden {

// By the golden names: out.y, grad.x, recorded.grad.x (with create_graph), grad2.x, grad2.gy.y, params.
using Results = std::map<std::string, Tensor>;

Results run_plan(const nlohmann::json& plan, const SafetensorsReader& file, DType dtype);

}  // namespace omnigrad::golden
