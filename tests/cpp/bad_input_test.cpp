// Bad input to every op, from its schema: an Error with a code, a message that starts with the op and ends
// with the shapes, and names what is wrong, thrown before anything is allocated or recorded; and the op works
// on.
#include <gtest/gtest.h>

#include <algorithm>

#include "omnigrad/autograd.h"
#include "support/compare.h"
#include "support/mutations.h"
#include "support/per_op.h"
#include "tensor/pool.h"

namespace omnigrad::test {
namespace {

class BadInput : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Op, BadInput, testing::ValuesIn(op_names(false)), OpName());

// An error of an option says which one it does not like. The many that name axes are all "dim".
bool names_an_option(const Error& e, const OpInfo& op) {
  return std::any_of(op.options.begin(), op.options.end(), [&](const OptionInfo& o) {
    return e.message.find(o.name.compare(0, 3, "dim") == 0 ? "dim" : o.name) != std::string::npos;
  });
}

// Runs a mutated call; true if it was refused, and then properly.
bool refused(const Mutation& m) {
  for (const Tensor& t : m.call.inputs) {
    // On a recording tensor, so that a record would be seen.
    if (t.defined() && is_floating(t.dtype()) && !m.call.mutates()) Tensor(t).set_requires_grad(true);
  }
  const int64_t tensors = live_tensors();
  pool::reset_peak();
  const size_t live = pool::stats().live;
  const std::string where = m.call.text() + " with " + m.what;
  try {
    m.call.run();
    return false;
  } catch (const Error& e) {
    const std::string& name = m.call.op().name;
    EXPECT_EQ(e.op, name) << where;
    EXPECT_EQ(e.message.rfind(name + ": ", 0), 0u) << where << "\n" << e.message;
    std::vector<Dims> shapes;
    for (const Tensor& t : m.call.inputs) {
      if (t.defined()) shapes.push_back(t.shape());
    }
    EXPECT_EQ(e.shapes, shapes) << where;
    for (size_t i = 0; i < shapes.size() && i < 8; ++i) {
      EXPECT_NE(e.message.find(text(shapes[i])), std::string::npos) << where << "\n" << e.message;
    }
    EXPECT_STRNE(name_of(e.code), "") << where;
    EXPECT_NE(e.message.find(m.says), std::string::npos) << where << "\n" << e.message;
    EXPECT_TRUE(e.code != Code::option || names_an_option(e, m.call.op())) << where << "\n" << e.message;
    EXPECT_EQ(live_tensors(), tensors) << where << "\n" << e.message;
    EXPECT_EQ(pool::stats().live, live) << where << "\n" << e.message;
    // What depends on the data itself, a singular matrix, shows while computing.
    if (e.code != Code::memory && e.code != Code::numeric)
      EXPECT_EQ(pool::stats().peak, live) << where << ": allocated first\n" << e.message;
    return true;
  }
}

void expect_works(const std::string& op) {
  const Call call = sample(op, 3, DType::float32, true);
  EXPECT_NO_THROW(call.run()) << call.text();
}

void check(const std::string& op, std::vector<Mutation> (*mutations)(const Call&)) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Call call = sample(op, seed, seed % 2 ? DType::float32 : DType::float64, true);
    for (const Mutation& m : mutations(call)) {
      const bool bad = refused(m);
      if (m.must_fail) EXPECT_TRUE(bad) << call.text() << " with " << m.what << " was accepted";
      if (testing::Test::HasFailure()) return;
    }
  }
  expect_works(op);
}

TEST_P(BadInput, WrongDType) { check(GetParam(), dtype_mutations); }
TEST_P(BadInput, MissingOrTooManyInputs) { check(GetParam(), missing_inputs); }
TEST_P(BadInput, WrongOption) { check(GetParam(), option_mutations); }
TEST_P(BadInput, IndexOutOfRange) { check(GetParam(), index_mutations); }

// Where several inputs or an option must fit each other's shape, some change of shape must be refused.
TEST_P(BadInput, WrongShape) {
  const OpInfo& op = *find_op(GetParam());
  size_t refusals = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (const Mutation& m : shape_mutations(sample(GetParam(), seed, DType::float64, true)))
      refusals += refused(m);
    if (HasFailure()) return;
  }
  if (op.inputs.size() > 1) EXPECT_GT(refusals, 0u);
  expect_works(GetParam());
}

TEST(BadInput, WritingARecordedTensorIsRefused) {
  for (const OpInfo* op : all_ops()) {
    if (!samples().count(op->name)) continue;
    Call call = sample(op->name, 1, DType::float64, true);
    if (!call.mutates()) continue;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      Tensor& t = call.inputs[i];
      if (!call.input(i).mutated || !t.defined() || !is_floating(t.dtype())) continue;
      const Tensor old = t;
      t = copy_of(old).set_requires_grad(true);
      try {
        call.run();
        ADD_FAILURE() << call.text() << " wrote a tensor that requires a gradient";
      } catch (const Error& e) {
        EXPECT_EQ(e.code, Code::graph) << e.message;
        EXPECT_EQ(e.op, op->name);
      }
      const Tensor made = find_op("exp") ? Call("exp", {t}).run()[0] : t;
      t = made;
      GradMode off(false);
      try {
        call.run();
        ADD_FAILURE() << call.text() << " wrote the result of a recorded op";
      } catch (const Error& e) {
        EXPECT_EQ(e.code, Code::graph) << e.message;
      }
      t = old;
    }
  }
}

}  // namespace
}  // namespace omnigrad::test
