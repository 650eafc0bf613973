// What a profile holds: the calls that were made, in their order, one inside another, and nothing outside of
// it.
#include "omnigrad/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad::test {
namespace {

std::vector<std::string> names(const std::vector<profile::Entry>& entries) {
  std::vector<std::string> out;
  for (const profile::Entry& e : entries) out.push_back(e.op->name + (e.vjp ? ".vjp" : ""));
  return out;
}

bool inside(const profile::Entry& inner, const profile::Entry& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

TEST(Profile, HoldsForwardAndBackwardCalls) {
  const double values[] = {1, 2, 3};
  Tensor x = Tensor::from({3}, values).set_requires_grad(true);
  neg(x);
  profile::start();
  Tensor y = sum(mul(x, x));
  backward(y);
  const std::vector<profile::Entry> entries = profile::stop();
  neg(x);
  EXPECT_TRUE(profile::stop().empty());

  const std::vector<std::string> all = names(entries);
  ASSERT_GE(all.size(), 5u);
  EXPECT_EQ(all[0], "mul");
  EXPECT_EQ(all[1], "sum");
  const auto index = [&](const std::string& name) {
    return static_cast<size_t>(std::find(all.begin(), all.end(), name) - all.begin());
  };
  const size_t vjp = index("mul.vjp");
  ASSERT_LT(vjp + 1, all.size());
  EXPECT_LT(index("sum.vjp"), vjp);
  // The products with the cotangent are calls of their own, within the step.
  EXPECT_EQ(all[vjp + 1], "mul");
  EXPECT_TRUE(inside(entries[vjp + 1], entries[vjp]));
  EXPECT_FALSE(inside(entries[0], entries[vjp]));
  EXPECT_EQ(entries[0].depth, 0);
  EXPECT_EQ(entries[vjp].depth, 0);
  EXPECT_EQ(entries[vjp + 1].depth, 1);
  for (const profile::Entry& e : entries) EXPECT_LE(e.begin, e.end);
  EXPECT_EQ(entries[0].bytes, 3 * sizeof(double));
  EXPECT_EQ(entries[vjp].bytes, 0u);
}

TEST(Profile, ViewsAndFailuresMakeNothing) {
  const double values[] = {1, 2, 3, 4};
  const Tensor x = Tensor::from({4}, values);
  profile::start();
  reshape(x, {2, 2});
  EXPECT_THROW(reshape(x, {3}), Error);
  const std::vector<profile::Entry> entries = profile::stop();
  ASSERT_EQ(names(entries), (std::vector<std::string>{"reshape", "reshape"}));
  EXPECT_EQ(entries[0].bytes, 0u);
  EXPECT_EQ(entries[1].bytes, 0u);
}

TEST(Profile, StopsInsideOfACall) {
  profile::start();
  {
    profile::Span outer(*find_op("neg"));
    EXPECT_EQ(profile::stop().size(), 1u);
    profile::start();
    {
      profile::Span inner(*find_op("abs"));
    }
    profile::Span last(*find_op("exp"));
  }
  const std::vector<profile::Entry> entries = profile::stop();
  ASSERT_EQ(names(entries), (std::vector<std::string>{"abs", "exp"}));
  EXPECT_LE(entries[0].end, entries[1].begin);
  EXPECT_EQ(entries[1].depth, 0);
}

}  // namespace
}  // namespace omnigrad::test
