// gridSample, affineGrid, lpPool, maxUnpool beyond golden and the checks over the schema: third order, what
// lies outside, and that each undoes what it is the inverse of.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "support/gradcheck.h"

namespace omnigrad::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor of(const Dims& shape, const std::vector<double>& values) { return Tensor::from(shape, values.data()); }
Tensor indices(const Dims& shape, const std::vector<int64_t>& values) {
  return Tensor::from(shape, values.data());
}
std::vector<double> values(const Tensor& t) {
  const Tensor c = t.contiguous();
  return {c.data<double>(), c.data<double>() + c.numel()};
}
Tensor grid_sample(const Tensor& x, const Tensor& grid, const char* mode, const char* padding,
                   bool align = false) {
  Call c("gridSample", {x, grid});
  return c.choose("mode", mode).choose("paddingMode", padding).set("alignCorners", align).run()[0];
}

// The gradient, as a function of its own, has right gradients of both orders.
TEST(GridSampleOp, ThirdOrder) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Gen gen(seed, DType::float64, true);
    Call call = sample("gridSample", seed, DType::float64, true);
    call.choose("mode", seed % 2 == 0 ? "bicubic" : "bilinear");
    const Function first = [&](const TensorList& in) {
      GradMode on(true);
      TensorList x;
      for (const Tensor& t : in) x.push_back(t.requires_grad() ? t : t.detach().set_requires_grad(true));
      const Tensor y = call.run(x)[0];
      return grad({y}, x, {square(y)}, {.create_graph = true});
    };
    const TensorList gy = cotangents(first, call.inputs, gen);
    TensorList v;
    for (const Tensor& t : call.inputs) v.push_back(gen.tensor(t.shape(), -1, 1));
    ASSERT_EQ(check_first_order(first, call.inputs, gy), "") << call.text();
    ASSERT_EQ(check_second_order(first, call.inputs, gy, v), "") << call.text();
  }
}

TEST(GridSampleOp, WhatLiesOutsideCountsAsZeroEvenBesideInfinity) {
  const Tensor x = of({1, 1, 2}, {kInfinity, 1}), grid = of({1, 3, 1}, {1, kInfinity, std::nan("")});
  EXPECT_EQ(values(grid_sample(x, grid, "bilinear", "zeros")), (std::vector<double>{0.5, 0, 0}));
  const Tensor far = of({1, 2, 1}, {-1e300, 1e300});
  EXPECT_EQ(values(grid_sample(of({1, 1, 2}, {3, 1}), far, "nearest", "border")),
            (std::vector<double>{3, 1}));
}

TEST(GridSampleOp, HalvesRoundToEven) {
  const Tensor x = of({1, 1, 4}, {0, 1, 2, 3});
  const Tensor grid = of({1, 3, 1}, {-2.0 / 3, 0, 2.0 / 3});  // pixels 0.5, 1.5, 2.5
  EXPECT_EQ(values(grid_sample(x, grid, "nearest", "zeros", true)), (std::vector<double>{0, 2, 2}));
}

TEST(GridSampleOp, TheIdentityGridGivesTheImage) {
  Gen gen(1, DType::float64, true);
  for (const Dims& size : {Dims{5}, Dims{3, 4}, Dims{2, 3, 4}}) {
    Dims shape{2, 3};
    shape.append(size.begin(), size.end());
    const auto n = static_cast<int64_t>(size.size());
    Tensor theta = Tensor::zeros({2, n, n + 1}, DType::float64);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < n; ++i) theta.data<double>()[(b * n + i) * (n + 1) + i] = 1;
    const Tensor x = gen.tensor(shape);
    for (const bool align : {false, true}) {
      const Tensor grid = Call("affineGrid", {theta}).set("size", shape).set("alignCorners", align).run()[0];
      for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
        const std::vector<double> y = values(grid_sample(x, grid, mode, "border", align)), e = values(x);
        for (size_t i = 0; i < e.size(); ++i) ASSERT_NEAR(y[i], e[i], 1e-12) << mode << i;
      }
    }
  }
}

TEST(MaxUnpoolOp, PutsBackWhatMaxPoolTook) {
  const Tensor x = of({1, 1, 2, 4}, {1, 5, 2, 3, 4, 0, 9, 8});
  MaxPoolOptions o;
  o.return_indices = true;
  const TensorList pooled = max_pool(x, o);
  const Tensor y = Call("maxUnpool", {pooled[0], pooled[1]}).set("kernelSize", Dims{2}).run()[0];
  EXPECT_EQ(values(y), (std::vector<double>{0, 5, 0, 0, 0, 0, 9, 0}));
}
TEST(MaxUnpoolOp, OfSeveralForOnePlaceTheLastStays) {
  Tensor x = of({1, 1, 3}, {1, 2, 3}).set_requires_grad(true);
  const Tensor index = indices({1, 1, 3}, {4, 4, 0});
  const Tensor y = Call("maxUnpool", {x, index}).set("kernelSize", Dims{2}).run()[0];
  EXPECT_EQ(values(y), (std::vector<double>{3, 0, 0, 0, 2, 0}));
  EXPECT_EQ(values(grad({sum(y)}, {x})[0]), (std::vector<double>{0, 1, 1}));
}

TEST(LpPoolOp, WhereTheSumIsZeroTheGradientIsZero) {
  for (const double p : {1.5, 2.0, 4.0}) {
    Tensor x = of({1, 1, 4}, {0, 0, 3, 0}).set_requires_grad(true);
    const Tensor y = Call("lpPool", {x}).set("normType", p).set("kernelSize", Dims{2}).run()[0];
    EXPECT_DOUBLE_EQ(values(y)[0], 0);
    EXPECT_DOUBLE_EQ(values(y)[1], 3);
    const Tensor g = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(values(g)[static_cast<size_t>(i)], i == 2, 1e-12) << p;
  }
}

}  // namespace
}  // namespace omnigrad::test
