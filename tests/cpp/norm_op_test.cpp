// Normalisation, attention, dropout and sampling: what the schema-driven tests cannot know.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "ops/norm_groups.h"
#include "support/compare.h"
#include "support/gradcheck.h"

namespace omnigrad::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor list(const Dims& shape, std::initializer_list<double> values) {
  return Tensor::from<double>(shape, values.begin());
}

// ---- one kernel for all norms

// Sizes that reach every path: long and short runs, tails, many groups, weights by element and by run.
std::vector<NormGroupsOptions> norm_sizes() {
  std::vector<NormGroupsOptions> out;
  const auto add = [&](int64_t outer, int64_t groups, int64_t inner, int64_t period, int64_t per) {
    for (bool centered : {true, false}) {
      NormGroupsOptions o;
      o.outer = outer, o.groups = groups, o.inner = inner, o.period = period, o.per = per,
      o.centered = centered;
      o.eps = 1e-3;
      out.push_back(o);
    }
  };
  for (int64_t n : {1, 2, 3, 5, 16, 17, 511, 512, 515, 1100}) add(1, 7, n, 1, n);
  add(1, 100, 33, 1, 33);
  for (int64_t space : {1, 3, 16, 70}) add(1, 12, 4 * space, 3, 4);
  for (int64_t space : {1, 5, 16, 600}) add(3, 4, space, 4, 1);
  add(1, 6, 40, 3, 1);
  return out;
}

TEST(NormGroups, FusedAndCompositeAgree) {
  for (const NormGroupsOptions& o : norm_sizes()) {
    Gen gen(5, DType::float64, true);
    TensorList in{gen.tensor({o.outer, o.groups, o.inner}, -1, 2), gen.tensor({o.period, o.per}),
                  gen.tensor({o.period, o.per})};
    const Function fused = [&](const TensorList& x) {
      return TensorList{norm_groups(x[0], x[1], x[2], o)[0]};
    };
    const Function composite = [&](const TensorList& x) {
      const Dims spread{o.outer, o.groups / o.period, o.period, o.per, o.run()};
      return TensorList{norm_groups_composite(x[0], x[1], o) +
                        reshape(expand(reshape(x[2], {o.period, o.per, 1}), spread), x[0].shape())};
    };
    const TensorList gy{gen.tensor({o.outer, o.groups, o.inner})};
    const std::string where =
        std::to_string(o.outer) + " " + std::to_string(o.groups) + " " + std::to_string(o.inner);
    EXPECT_LE(relative_difference(fused(in)[0], composite(in)[0]), 1e-12) << where;
    const TensorList a = gradient(fused, in, gy), b = gradient(composite, in, gy);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LE(relative_difference(a[i], b[i]), 1e-11) << where << " input " << i;
    // float32 loses no more than its rounding.
    TensorList narrow, narrow_g{cast(gy[0], DType::float32)};
    for (const Tensor& t : in) narrow.push_back(cast(t, DType::float32));
    EXPECT_LE(relative_difference(fused(narrow)[0], cast(fused(in)[0], DType::float32)), 2e-6) << where;
    const TensorList c = gradient(fused, narrow, narrow_g);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_LE(relative_difference(c[i], cast(a[i], DType::float32)), 2e-5) << where << " input " << i;
  }
}

TEST(NormGroups, AbsentWeightsCountAsOne) {
  NormGroupsOptions o;
  o.groups = 5, o.inner = o.per = 9, o.eps = 1e-5;
  Gen gen(3, DType::float32, true);
  const Tensor x = gen.tensor({5, 9}), g = gen.tensor({5, 9}), one = ones({9}, DType::float32);
  const Function plain = [&](const TensorList& in) { return TensorList{norm_groups(in[0], {}, {}, o)[0]}; };
  const Function weighted = [&](const TensorList& in) {
    return TensorList{norm_groups(in[0], one, {}, o)[0]};
  };
  EXPECT_TRUE(same_bits(plain({x}), weighted({x})));
  EXPECT_LE(relative_difference(gradient(plain, {x}, {g})[0], gradient(weighted, {x}, {g})[0]), 1e-6);
}

TEST(NormGroups, ThirdOrder) {
  Gen gen(8, DType::float64, true);
  const Tensor gy = gen.tensor({2, 4}), v = gen.tensor({2, 4}), w = gen.tensor({2, 4});
  const Function second = [&](const TensorList& in) {
    const Tensor x = alias(in[0]);
    const Tensor y = Call("layerNorm", {x, {}, {}}).set("normalizedShape", Dims{4}).run()[0];
    const Tensor g = grad({y}, {x}, {gy}, {.create_graph = true})[0];
    return TensorList{grad({g}, {x}, {v}, {.create_graph = true})[0]};
  };
  const auto at = [&](const TensorList& in) {
    GradMode on(true);
    Tensor x = in[0].detach();
    x.set_requires_grad(true);
    return second({x});
  };
  const Tensor x = gen.tensor({2, 4}, -1, 1).set_requires_grad(true);
  const Tensor third = grad(second({x}), {x}, {w})[0];
  const Tensor base = x.detach();
  for (int64_t i = 0; i < 8; ++i) {
    const double old = base.data<double>()[i];
    base.data<double>()[i] = old + 1e-5;
    const double up = sum(at({base})[0].detach() * w).item();
    base.data<double>()[i] = old - 1e-5;
    const double down = sum(at({base})[0].detach() * w).item();
    base.data<double>()[i] = old;
    EXPECT_NEAR(element(third, i), (up - down) / 2e-5, 1e-6 * std::max(1.0, std::abs(element(third, i))));
  }
}

TEST(NormGroups, AMeanFarFromZeroDoesNotCancel) {
  Tensor x = Tensor::empty({1, 4096}, DType::float32);
  for (int64_t i = 0; i < 4096; ++i) x.data<float>()[i] = 1000.0f + static_cast<float>(i % 2);
  const Tensor y = Call("layerNorm", {x, {}, {}}).set("normalizedShape", Dims{4096}).set("eps", 0.0).run()[0];
  EXPECT_EQ(y.data<float>()[0], -1.0f);
  EXPECT_EQ(y.data<float>()[1], 1.0f);
}

// ---- running statistics

TEST(BatchNorm, RunningStatisticsMoveAsInPyTorch) {
  const Tensor x = list({2, 2, 1}, {1, 10, 3, 14}), mean = list({2}, {0, 1}), var = list({2}, {1, 2});
  const uint32_t version = mean.version();
  const Tensor y = Call("batchNorm", {x, mean, var, {}, {}})
                       .set("training", true)
                       .set("momentum", 0.5)
                       .set("eps", 0.0)
                       .run()[0];
  EXPECT_EQ(values(mean), values(list({2}, {1, 6.5})));
  EXPECT_EQ(values(var), values(list({2}, {0.5 + 0.5 * 2, 1 + 0.5 * 8})));  // unbiased
  EXPECT_EQ(values(y), values(list({2, 2, 1}, {-1, -1, 1, 1})));
  EXPECT_NE(mean.version(), version);
}

TEST(BatchNorm, EvaluationLeavesRunningStatisticsAlone) {
  const Tensor x = list({1, 2}, {3, 5}), mean = list({2}, {1, 1}), var = list({2}, {4, 1});
  const Tensor y = Call("batchNorm", {x, mean, var, {}, {}}).set("eps", 0.0).run()[0];
  EXPECT_EQ(values(y), values(list({1, 2}, {1, 4})));
  EXPECT_EQ(values(mean), values(list({2}, {1, 1})));
}

TEST(BatchNorm, NeedsMoreThanOneValueAndStatistics) {
  EXPECT_THROW(Call("batchNorm", {list({1, 2}, {3, 5}), {}, {}, {}, {}}).set("training", true).run(), Error);
  EXPECT_THROW(Call("batchNorm", {list({2, 1}, {3, 5}), {}, {}, {}, {}}).run(), Error);
  EXPECT_NO_THROW(Call("batchNorm", {list({2, 1}, {3, 5}), {}, {}, {}, {}}).set("training", true).run());
}

TEST(InstanceNorm, RunningStatisticsAreMeansOverTheBatch) {
  const Tensor x = list({2, 1, 2}, {0, 2, 4, 8}), mean = list({1}, {0}), var = list({1}, {0});
  Call("instanceNorm", {x, mean, var, {}, {}}).set("momentum", 1.0).run();
  EXPECT_EQ(mean.item(), 3.5);
  EXPECT_EQ(var.item(), 5.0);  // (2 + 8) / 2, unbiased
}

// ---- attention

TEST(Attention, AQueryWithoutKeysGivesZeroAndNoGradient) {
  Gen gen(4, DType::float64, true);
  const TensorList in{gen.tensor({3, 2}), gen.tensor({3, 2}), gen.tensor({3, 2})};
  Tensor mask = ones({3, 3}, DType::boolean);
  for (int j = 0; j < 3; ++j) mask.data<bool>()[3 + j] = false;
  const Tensor added =
      where(mask, Tensor::scalar(0, DType::float64), Tensor::scalar(-kInfinity, DType::float64));
  for (const Tensor& m : {mask, added}) {
    const Function f = [&](const TensorList& x) {
      return TensorList{scaled_dot_product_attention(x[0], x[1], x[2], m)};
    };
    const Tensor y = f(in)[0];
    EXPECT_TRUE(all_finite(y));
    EXPECT_EQ(element(y, 2), 0);
    EXPECT_EQ(element(y, 3), 0);
    const TensorList g = gradient(f, in, {gen.tensor({3, 2})});
    for (const Tensor& t : g) EXPECT_TRUE(all_finite(t));
    EXPECT_EQ(element(g[0], 2), 0);
  }
}

TEST(Attention, GroupedQueriesShareHeads) {
  Gen gen(4, DType::float64, true);
  const Tensor q = gen.tensor({1, 4, 3, 2}), k = gen.tensor({1, 2, 3, 2}), v = gen.tensor({1, 2, 3, 2});
  const Tensor y = Call("scaledDotProductAttention", {q, k, v, {}}).set("enableGqa", true).run()[0];
  const Tensor last = scaled_dot_product_attention(slice(q, 1, 3, 4), slice(k, 1, 1, 2), slice(v, 1, 1, 2));
  EXPECT_LE(relative_difference(slice(y, 1, 3, 4), last), 1e-15);
}

TEST(Rotary, TurnsPairsByPositionAndKeepsLengths) {
  const Tensor x = list({2, 2}, {1, 0, 1, 0});
  const Tensor y = Call("rotaryEmbedding", {x, {}, {}}).set("offset", int64_t{1}).run()[0];
  EXPECT_NEAR(element(y, 0), std::cos(1), 1e-15);
  EXPECT_NEAR(element(y, 1), std::sin(1), 1e-15);
  EXPECT_NEAR(element(y, 2), std::cos(2), 1e-15);
  EXPECT_NEAR(element(y, 3), std::sin(2), 1e-15);
}

// ---- randomness

double share_of_zeros(const Tensor& t) {
  double n = 0;
  for (int64_t i = 0; i < t.numel(); ++i) n += element(t, i) == 0;
  return n / static_cast<double>(t.numel());
}

TEST(Dropout, DropsItsShareAndKeepsTheMean) {
  const Tensor x = ones({100, 1001}, DType::float32);
  for (double p : {0.1, 0.5, 0.9}) {
    const Tensor y = dropout(x, p, 1, 2);
    EXPECT_NEAR(share_of_zeros(y), p, 0.006);
    EXPECT_NEAR(mean(y).item(), 1, 0.03);
    EXPECT_TRUE(same_bits(y, dropout(x, p, 1, 2)));
    EXPECT_FALSE(same_bits(y, dropout(x, p, 2, 2)));
  }
  EXPECT_EQ(share_of_zeros(dropout(x, 1, 1, 2)), 1);
}

TEST(Dropout, TheGradientHasTheSameMask) {
  Gen gen(4, DType::float64, true);
  const Tensor x = gen.away({57}), g = gen.away({57});
  const Function f = [](const TensorList& in) { return TensorList{dropout(in[0], 0.4, 7, 3)}; };
  const Tensor y = f({x})[0], gx = gradient(f, {x}, {g})[0];
  for (int64_t i = 0; i < 57; ++i) EXPECT_EQ(element(y, i) == 0, element(gx, i) == 0);
}

TEST(Dropout, FeatureDropoutDropsWholeChannels) {
  const Tensor y = Call("featureDropout", {ones({20, 30, 4}, DType::float32)}).set("p", 0.5).run()[0];
  for (int64_t c = 0; c < 600; ++c) {
    for (int64_t i = 1; i < 4; ++i) EXPECT_EQ(element(y, 4 * c + i), element(y, 4 * c));
  }
  EXPECT_NEAR(share_of_zeros(y), 0.5, 0.1);
}

TEST(Dropout, AlphaDropoutKeepsMeanAndVariance) {
  const Tensor x = Call("normal").set("shape", Dims{100000}).run()[0];
  const Tensor y = Call("alphaDropout", {x}).set("p", 0.3).set("seed", int64_t{5}).run()[0];
  EXPECT_NEAR(mean(y).item(), 0, 0.02);
  EXPECT_NEAR(call("var", {y}).item(), 1, 0.02);
}

TEST(Sampling, FrequenciesAreTheWeights) {
  const Tensor w = list({4}, {1, 0, 3, 4});
  const Tensor y =
      Call("multinomial", {w}).set("numSamples", int64_t{20000}).set("replacement", true).run()[0];
  double count[4] = {};
  for (int64_t i = 0; i < y.numel(); ++i) ++count[y.data<int64_t>()[i]];
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(count[i] / 20000, element(w, i) / 8, 0.015);
  // The first of draws without replacement has the same distribution.
  double first[4] = {};
  for (int64_t seed = 0; seed < 4000; ++seed) {
    const Tensor z = Call("multinomial", {w}).set("numSamples", int64_t{3}).set("seed", seed).run()[0];
    const int64_t* i = z.data<int64_t>();
    ASSERT_TRUE(i[0] != i[1] && i[1] != i[2] && i[0] != i[2]);
    ASSERT_TRUE(i[0] != 1 && i[1] != 1 && i[2] != 1);
    ++first[i[0]];
  }
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(first[i] / 4000, element(w, i) / 8, 0.03);
  EXPECT_THROW(Call("multinomial", {w}).set("numSamples", int64_t{4}).run(), Error);
}

TEST(Sampling, MomentsOfTheDistributions) {
  const Tensor e = Call("exponential").set("shape", Dims{100000}).set("rate", 2.0).run()[0];
  EXPECT_NEAR(mean(e).item(), 0.5, 0.01);
  EXPECT_NEAR(call("var", {e}).item(), 0.25, 0.01);
  const Tensor t = Call("truncNormal").set("shape", Dims{100000}).run()[0];
  EXPECT_NEAR(mean(t).item(), 0, 0.01);
  EXPECT_NEAR(call("var", {t}).item(), 0.7737, 0.01);  // 1 - 4 phi(2) / (2 Phi(2) - 1)
  EXPECT_LE(call("amax", {abs(t)}).item(), 2);
  EXPECT_NEAR(mean(Call("bernoulli", {full({100000}, 0.3, DType::float32)}).run()[0]).item(), 0.3, 0.01);
}

// The gradient takes forward's statistics or makes them again: the same bits.
TEST(NormOp, GradientMakesTheSameStatistics) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    test::Gen gen(9, dtype, true);
    const Tensor x = gen.tensor({6, 37}), weight = gen.tensor({37}), g = gen.tensor({6, 37});
    const auto sized = [](test::Call c) {
      return c.set("groups", int64_t{6}).set("inner", int64_t{37}).set("per", int64_t{37}).set("eps", 1e-5);
    };
    const TensorList y = sized(test::Call("normGroups", {x, weight, Tensor()})).run();
    const TensorList given = sized(test::Call("normGroupsGrad", {x, weight, g, y[1], y[2]})).run(),
                     made = sized(test::Call("normGroupsGrad", {x, weight, g, Tensor(), Tensor()})).run();
    EXPECT_TRUE(test::same_bits(given, made));
  }
}

}  // namespace
}  // namespace omnigrad::test
