// Calls that are not valid, or may not be, made from a valid one by its schema.
#pragma once

#include <string>
#include <vector>

#include "samples.h"

namespace omnigrad::test {

struct Mutation {
  std::string what;
  bool must_fail;  // the schema alone says so
  Call call;
  std::string says = {};  // a part of the message that must come of it
};

std::vector<Mutation> dtype_mutations(const Call& call);
std::vector<Mutation> missing_inputs(const Call& call);
std::vector<Mutation> shape_mutations(const Call& call);
std::vector<Mutation> option_mutations(const Call& call);
std::vector<Mutation> index_mutations(const Call& call);
std::vector<Mutation> all_mutations(const Call& call);

// One of many, with random sizes and numbers.
Call random_mutation(const Call& call, Gen& gen);

}  // namespace omnigrad::test
