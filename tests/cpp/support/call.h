// A call of an op as data: the op, its options by schema name, its inputs. What the schema-driven tests
// generate, mutate and run. No generators here (gen.h, samples.h).
#pragma once

#include <string>
#include <string_view>

#include "omnigrad/op.h"

namespace omnigrad::test {

class Call {
 public:
  explicit Call(std::string_view op, TensorList inputs = {});
  explicit Call(const OpInfo& op, TensorList inputs = {});
  Call(const Call& other);
  Call& operator=(const Call& other);
  ~Call();

  const OpInfo& op() const { return *op_; }
  const void* options() const { return options_; }
  const OptionInfo* option(std::string_view name) const;
  OptionValue get(std::string_view name) const;
  Call& set(std::string_view name, OptionValue value);
  Call& choose(std::string_view name, std::string_view choice);

  const InputInfo& input(size_t i) const { return op_->input_at(i, inputs.size()); }
  bool mutates() const;

  TensorList run() const { return dispatch(*op_, options_, inputs); }
  TensorList run(const TensorList& other_inputs) const { return dispatch(*op_, options_, other_inputs); }

  // name(options; dtypes and shapes of inputs)
  std::string text() const;

  TensorList inputs;

 private:
  const OpInfo* op_;
  void* options_;
};

std::string text_of(const OptionValue& value);

}  // namespace omnigrad::test
