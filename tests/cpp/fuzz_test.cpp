// Random calls of every op, valid and mutated: a result, finite where mathematics says so, or an Error; never
// a crash. OMNIGRAD_FUZZ=N sets how many of each kind an op gets, OMNIGRAD_FUZZ_SEED the first one's number;
// scripts/fuzz.mjs goes on from there without end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "omnigrad/autograd.h"
#include "support/compare.h"
#include "support/gradcheck.h"
#include "support/mutations.h"
#include "support/per_op.h"
#include "tensor/pool.h"

namespace omnigrad::test {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* n = std::getenv(name);
  return n ? std::strtoull(n, nullptr, 10) : otherwise;
}

// The numbers of the calls to be made. Each gives its own call, whatever the range it is in.
struct Range {
  uint64_t first = from_environment("OMNIGRAD_FUZZ_SEED", 0);
  uint64_t end = first + from_environment("OMNIGRAD_FUZZ", 2000);
};

// What is named where a test fails.
std::string named(const Call& call, uint64_t seed) { return call.text() + ", seed " + std::to_string(seed); }

class Fuzz : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Op, Fuzz, testing::ValuesIn(op_names(false)), OpName());

// Where finite inputs that a mutation made may give infinity or NaN, and why. Valid samples never do.
bool may_be_infinite(const Call& call) {
  static const std::set<std::string> ops{
      // outside their domain, or at its end
      "acos",
      "acosh",
      "asin",
      "atanh",
      "digamma",
      "div",
      "erfinv",
      "fmod",
      "lgamma",
      "log",
      "log10",
      "log1p",
      "log2",
      "poissonNllLoss",
      "polygamma",
      "pow",
      "reciprocal",
      "remainder",
      "rsqrt",
      "sqrt",
      // a target that cannot be aligned
      "ctcLoss",
      "ctcLossEach",
      // of one element, of order below 0 at 0, an odd order's root of a negative sum
      "lpPool",
      "std",
      "var",
      "norm",
      "pairwiseDistance",
      "tripletMarginLoss",
      // a variance below 0, a base below 0, a direction of length 0
      "batchNorm",
      "instanceNorm",
      "localResponseNorm",
      "weightNorm",
      // the mean over rows that are all ignored
      "crossEntropy",
      "nllLoss",
      // numbers that options give: a state of a negative square, scales that interpolate never asks for
      "adamStep",
      "sgdStep",
      "resample",
      "resampleAdjoint",
  };
  if (ops.count(call.op().name)) return true;
  // The mean of nothing.
  for (const Tensor& t : call.inputs) {
    if (t.defined() && t.numel() == 0) return true;
  }
  return false;
}

bool finite_inputs(const Call& call) {
  for (const Tensor& t : call.inputs) {
    if (t.defined() && !all_finite(t)) return false;
  }
  return true;
}

void check_result(const Call& call, uint64_t seed, bool valid) {
  for (const Tensor& y : call.run()) {
    ASSERT_LE(y.rank(), kMaxRank);
    if (valid || !may_be_infinite(call)) ASSERT_TRUE(all_finite(y)) << named(call, seed) << values(y);
  }
}

// Every fourth call is differentiated twice.
void check_gradients(const Call& call, uint64_t seed, bool valid) {
  const Differentiable d = differentiable(call);
  if (!has_gradient(call.op()) || d.x.empty()) return;
  Gen gen(seed, call.inputs[d.places[0]].dtype(), true);
  const TensorList gy = cotangents(d.f, d.x, gen);
  if (gy.empty()) return;
  TensorList xs;
  for (const Tensor& t : d.x) xs.push_back(t.detach().set_requires_grad(true));
  const TensorList first = grad(d.f(xs), xs, gy, {.create_graph = true, .allow_unused = true});
  TensorList roots, seeds;
  for (size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined()) continue;
    ASSERT_EQ(first[i].shape(), xs[i].shape()) << named(call, seed);
    if (valid || !may_be_infinite(call))
      ASSERT_TRUE(all_finite(first[i])) << named(call, seed) << values(first[i]);
    if (!first[i].requires_grad()) continue;
    roots.push_back(first[i]);
    seeds.push_back(gen.tensor(first[i].shape(), -1, 1, first[i].dtype()));
  }
  if (!roots.empty()) grad(roots, xs, seeds, {.allow_unused = true});
}

TEST_P(Fuzz, ValidCallsGiveResults) {
  const int64_t tensors = live_tensors();
  const size_t live = pool::stats().live;
  const Range range;
  for (uint64_t seed = range.first; seed < range.end; ++seed) {
    const Call call =
        sample(GetParam(), seed + 10000, seed % 2 ? DType::float32 : DType::float64, seed % 4 == 0);
    ASSERT_TRUE(finite_inputs(call)) << named(call, seed);
    try {
      check_result(call, seed, true);
      if (seed % 4 == 0) check_gradients(call, seed, true);
    } catch (const Error& e) {
      FAIL() << named(call, seed) << ": " << e.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(live_tensors(), tensors);
  EXPECT_EQ(pool::stats().live, live);
}

TEST_P(Fuzz, MutatedCallsGiveResultsOrErrors) {
  const int64_t tensors = live_tensors();
  const size_t live = pool::stats().live;
  const Range range;
  for (uint64_t seed = range.first; seed < range.end; ++seed) {
    const Call valid = sample(GetParam(), seed + 50000, seed % 2 ? DType::float32 : DType::float64, false);
    Gen gen(seed, DType::float32, false);
    const Call call = random_mutation(valid, gen);
    try {
      check_result(call, seed, false);
      if (seed % 4 == 0) check_gradients(call, seed, false);
    } catch (const Error& e) {
      ASSERT_EQ(e.op, GetParam()) << named(call, seed) << ": " << e.what();
    }
    if (HasFailure()) return;
  }
  EXPECT_EQ(live_tensors(), tensors);
  EXPECT_EQ(pool::stats().live, live);
}

}  // namespace
}  // namespace omnigrad::test
