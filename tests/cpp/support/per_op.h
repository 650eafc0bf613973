// Test suites with one test an op.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "samples.h"

namespace omnigrad::test {

// Ops that have gradients: of their own, or of what they are composed of.
inline bool has_gradient(const OpInfo& op) {
  return op.no_gradient.empty() &&
         std::any_of(op.inputs.begin(), op.inputs.end(), [](const InputInfo& i) { return i.differentiable; });
}

inline std::vector<std::string> op_names(bool with_gradient_only) {
  std::vector<std::string> names;
  for (const OpInfo* op : all_ops()) {
    if (samples().count(op->name) && (!with_gradient_only || has_gradient(*op))) names.push_back(op->name);
  }
  return names;
}

struct OpName {
  std::string operator()(const testing::TestParamInfo<std::string>& info) const { return info.param; }
};

}  // namespace omnigrad::test
