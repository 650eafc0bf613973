// What a fused op may not do: save a value that depends on an input and use it in its gradient as a constant.
// First order stays right, second order does not, and the differences of gradcheck.h say so. Each case is the
// gradient of an op by hand: with that value made anew it passes, with the value held it passes first order
// and fails second.
#include <gtest/gtest.h>

#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "support/gradcheck.h"

namespace omnigrad::test {
namespace {

// The value as it depends on the inputs, or as saving it would leave it.
struct Hold {
  bool on;
  Tensor operator()(const Tensor& t) const { return on ? t.detach() : t; }
};

struct Fused {
  const char* name;
  Function f;  // of one output
  TensorList (*gradient)(const TensorList& x, const Tensor& g, const Hold& hold);
  TensorList x;
};

Function by_hand(const Fused& c, bool hold) {
  return [f = c.f, gradient = c.gradient, hold](const TensorList& x) {
    TensorList y;
    {
      GradMode off(false);
      y = f(x);
    }
    return record_external(x, y, [=](Cotangents g, const TensorList& inputs, const TensorList&) {
      return gradient(inputs, g[0], Hold{hold});
    });
  };
}

Tensor draw(const Dims& shape, double low = -1, double high = 1) {
  static Gen gen(17, DType::float64, true);
  return gen.tensor(shape, low, high);
}

// d/dx of (x - mean) * rstd over the last axis.
TensorList norm_gradient(const Tensor& x, const Tensor& g, const Hold& mean_held, const Hold& rstd_held) {
  const Tensor centre = mean_held(mean(x, {-1}, true));
  const Tensor variance = mean(square(x - mean(x, {-1}, true)), {-1}, true);
  const Tensor rstd = rstd_held(reciprocal(sqrt(variance + 0.1)));
  const Tensor unit = (x - centre) * rstd;
  return {rstd * (g - mean(g, {-1}, true) - unit * mean(g * unit, {-1}, true))};
}

std::vector<Fused> cases() {
  std::vector<Fused> all;
  const auto add = [&](const char* name, const Call& call, auto gradient) {
    const Differentiable d = differentiable(call);
    all.push_back({name, [f = d.f](const TensorList& x) { return TensorList{f(x)[0]}; }, gradient, d.x});
  };
  const Call layer_norm =
      Call("layerNorm", {draw({3, 5}), Tensor(), Tensor()}).set("normalizedShape", Dims{5}).set("eps", 0.1);
  add("the mean of a norm", layer_norm, [](const TensorList& x, const Tensor& g, const Hold& hold) {
    return norm_gradient(x[0], g, hold, Hold{false});
  });
  add("the deviation of a norm", layer_norm, [](const TensorList& x, const Tensor& g, const Hold& hold) {
    return norm_gradient(x[0], g, Hold{false}, hold);
  });
  add("the result of softmax", Call("softmax", {draw({3, 5})}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor y = hold(softmax(x[0], -1));
        return TensorList{y * (g - sum(g * y, {-1}, true))};
      });
  add("the sum of logSoftmax", Call("logSoftmax", {draw({3, 5})}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor total = hold(sum(exp(x[0]), {-1}, true));
        return TensorList{g - exp(x[0]) / total * sum(g, {-1}, true)};
      });
  // Of the mean over 3 rows, whose targets are 1, 0, 1.
  const Tensor targets = Tensor::zeros({3}, DType::int64);
  targets.data<int64_t>()[0] = targets.data<int64_t>()[2] = 1;
  add("the probabilities of crossEntropy", Call("crossEntropy", {draw({3, 4}), targets, Tensor()}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        Tensor one_hot = Tensor::zeros({3, 4}, DType::float64);
        for (int64_t at : {1, 4, 9}) one_hot.data<double>()[at] = 1;
        return TensorList{(hold(softmax(x[0], -1)) - one_hot) * (g / 3)};
      });
  add("the weights of attention",
      Call("scaledDotProductAttention", {draw({2, 3}), draw({4, 3}), draw({4, 2}), Tensor()})
          .set("scale", 0.5),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor p = hold(softmax(matmul(x[0], transpose(x[1], 0, 1)) * 0.5, -1));
        const Tensor gp = matmul(g, transpose(x[2], 0, 1));
        const Tensor gs = p * (gp - sum(gp * p, {-1}, true)) * 0.5;
        return TensorList{matmul(gs, x[1]), matmul(transpose(gs, 0, 1), x[0]), matmul(transpose(p, 0, 1), g)};
      });
  add("the sums of lpPool",
      Call("lpPool", {draw({1, 1, 6}, 0.5, 2)}).set("normType", 3.0).set("kernelSize", Dims{2}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor parts = reshape(x[0], {3, 2});
        const Tensor total = hold(sum(parts * square(parts), {-1}, true));
        const Tensor root = pow(total, Tensor::scalar(1.0 / 3 - 1, DType::float64));
        return TensorList{reshape(square(parts) * root * reshape(g, {3, 1}), {1, 1, 6})};
      });
  add("the distances of cdist", Call("cdist", {draw({3, 2}), draw({2, 2}, 2, 3)}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor apart = unsqueeze(x[0], 1) - unsqueeze(x[1], 0);
        const Tensor distance = hold(sqrt(sum(square(apart), {-1}, true)));
        const Tensor t = apart / distance * unsqueeze(g, -1);
        return TensorList{sum(t, {1}), -sum(t, {0})};
      });
  Tensor square_matrix = draw({2, 2});
  for (int64_t at : {0, 3}) square_matrix.data<double>()[at] += 3;
  add("the inverse", Call("inverse", {square_matrix}),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor y = transpose(hold(call("inverse", {x[0]})), 0, 1);
        return TensorList{-matmul(matmul(y, g), y)};
      });
  add("the gates of a recurrent net",
      Call("rnn", {draw({1, 2, 3}), Tensor(), Tensor(), draw({2, 3}), draw({2, 2})}).set("bias", false),
      [](const TensorList& x, const Tensor& g, const Hold& hold) {
        const Tensor h = hold(tanh(matmul(reshape(x[0], {2, 3}), transpose(x[1], 0, 1))));
        const Tensor t = reshape(g, {2, 2}) * (1 - square(h));
        return TensorList{reshape(matmul(t, x[1]), {1, 2, 3}),
                          matmul(transpose(t, 0, 1), reshape(x[0], {2, 3})), zeros({2, 2}, DType::float64)};
      });
  return all;
}

class SavedConstant : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Case, SavedConstant, testing::Range<size_t>(0, cases().size()));

TEST_P(SavedConstant, FailsSecondOrderOnly) {
  const Fused c = cases()[GetParam()];
  Gen gen(23, DType::float64, true);
  const TensorList gy = cotangents(c.f, c.x, gen);
  TensorList v;
  for (const Tensor& t : c.x) v.push_back(gen.tensor(t.shape(), -1, 1));
  EXPECT_EQ(check_first_order(by_hand(c, false), c.x, gy), "") << c.name;
  EXPECT_EQ(check_second_order(by_hand(c, false), c.x, gy, v), "") << c.name;
  EXPECT_EQ(check_first_order(by_hand(c, true), c.x, gy), "") << c.name;
  EXPECT_NE(check_second_order(by_hand(c, true), c.x, gy, v), "") << c.name << " could be saved unnoticed";
}

// What CTC and the transducer make of their lattice: the whole gradient is such a value.
TEST(SavedConstant, AnOpWhoseGradientIsHeldIsNoticed) {
  for (const char* name : {"ctcLoss", "rnntLoss"}) {
    bool bent = false;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const Call call = sample(name, seed, DType::float64, true);
      const Differentiable d = differentiable(call);
      Gen gen(seed, DType::float64, true);
      const TensorList gy = cotangents(d.f, d.x, gen), v{gen.tensor(d.x[0].shape(), -1, 1)};
      ASSERT_EQ(check_second_order(d.f, d.x, gy, v), "") << call.text();
      const Function broken = with_constant(d.f, 0);
      ASSERT_EQ(check_first_order(broken, d.x, gy), "") << call.text();
      bent |= !check_second_order(broken, d.x, gy, v).empty();
    }
    EXPECT_TRUE(bent) << name;
  }
}

}  // namespace
}  // namespace omnigrad::test
