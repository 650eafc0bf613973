// Ops that are random in training, and small rearrangements and activations: values that the schema-driven
// tests cannot know.
#include <gtest/gtest.h>

#include <cmath>

#include "omnigrad/ops.h"
#include "support/call.h"
#include "support/compare.h"

namespace omnigrad::test {
namespace {

Tensor numbers(const Dims& shape, std::initializer_list<double> of) {
  Tensor t = Tensor::empty(shape, DType::float64);
  std::copy(of.begin(), of.end(), t.data<double>());
  return t;
}

TEST(GaussianNoise, HasTheGivenDeviationAndMeanZero) {
  const Tensor x = full({200, 100}, 3, DType::float64);
  const Tensor y = Call("gaussianNoise", {x}).set("std", 0.5).set("seed", int64_t{4}).run()[0];
  const double mean_of = element(mean(y), 0), variance = element(mean(square(y - mean_of)), 0);
  EXPECT_NEAR(mean_of, 3, 0.5 * 4 / std::sqrt(20000));
  EXPECT_NEAR(variance, 0.25, 0.25 * 4 * std::sqrt(2.0 / 20000));
  const Tensor again = Call("gaussianNoise", {x}).set("std", 0.5).set("seed", int64_t{4}).run()[0];
  EXPECT_TRUE(same_bits(y, again));
  EXPECT_FALSE(same_bits(y, Call("gaussianNoise", {x}).set("std", 0.5).set("seed", int64_t{5}).run()[0]));
  EXPECT_TRUE(same_bits(Call("gaussianNoise", {x}).set("std", 0.5).set("training", false).run()[0], x));
}

TEST(Rrelu, SlopesAreUniformInTrainingAndTheMiddleElse) {
  const Tensor x = full({100, 100}, -2, DType::float64);
  const Tensor slope = Call("rrelu", {x}).set("lower", 0.2).set("upper", 0.4).run()[0] / -2.0;
  EXPECT_GE(element(amin(slope), 0), 0.2);
  EXPECT_LT(element(amax(slope), 0), 0.4);
  EXPECT_NEAR(element(mean(slope), 0), 0.3, 4 * 0.2 / std::sqrt(12.0 * 10000));
  EXPECT_LT(element(amin(slope), 0), 0.201);
  EXPECT_GT(element(amax(slope), 0), 0.399);
  const Tensor given = numbers({3}, {-1, 0, 5});
  const Tensor y = Call("rrelu", {given}).set("lower", 0.2).set("upper", 0.4).set("training", false).run()[0];
  EXPECT_LT(relative_difference(y, numbers({3}, {-0.3, 0, 5})), 1e-15);
}

TEST(Tile, IsRepeatWithOnesInFront) {
  const Tensor x = numbers({2, 2}, {1, 2, 3, 4});
  const Tensor row = Call("tile", {x}).set("repeats", Dims{2}).run()[0];
  EXPECT_TRUE(same_bits(row, numbers({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})));
  const Tensor block = Call("tile", {x}).set("repeats", Dims{2, 1, 1}).run()[0];
  EXPECT_TRUE(same_bits(block, numbers({2, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4})));
  EXPECT_TRUE(same_bits(Call("tile", {x}).set("repeats", Dims{}).run()[0], x));
}

TEST(Activations, SoftminAndSwiglu) {
  const Tensor x = numbers({2}, {0, std::log(3.0)});
  EXPECT_LT(relative_difference(Call("softmin", {x}).run()[0], numbers({2}, {0.75, 0.25})), 1e-15);
  // silu(2) * 3, silu(-1) * 0.5
  const Tensor y = Call("swiglu", {numbers({4}, {2, -1, 3, 0.5})}).run()[0];
  const Tensor expected = numbers({2}, {6 / (1 + std::exp(-2.0)), -0.5 / (1 + std::exp(1.0))});
  EXPECT_LT(relative_difference(y, expected), 1e-15);
}

}  // namespace
}  // namespace omnigrad::test
