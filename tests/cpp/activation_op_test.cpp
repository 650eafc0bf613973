// The fused activations against their formulas, far beyond where the gradient checks draw from, and linear
// with an activation against the two in turn.
#include <gtest/gtest.h>

#include <cmath>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "support/call.h"
#include "support/compare.h"
#include "support/gen.h"

namespace omnigrad {
namespace {

using test::Call;

struct Formula {
  const char* name;
  double (*value)(double);
  double (*slope)(double);
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double normal_of(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double bent(double x) { return std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)); }
double slope_by_difference(double (*f)(double), double x) {
  const double h = 1e-4;  // Richardson's, of fourth order
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}
double silu_of(double x) { return x * sigmoid_of(x); }
double gelu_of(double x) { return x * normal_of(x); }
double gelu_tanh_of(double x) { return 0.5 * x * (1 + bent(x)); }
double mish_of(double x) { return x * std::tanh(softplus_of(x)); }

template <double (*F)(double)>
double slope_of(double x) {
  return slope_by_difference(F, x);
}
const Formula kFormulas[] = {{"silu", silu_of, slope_of<silu_of>},
                             {"gelu", gelu_of, slope_of<gelu_of>},
                             {"geluTanh", gelu_tanh_of, slope_of<gelu_tanh_of>},
                             {"mish", mish_of, slope_of<mish_of>}};

TEST(ActivationOp, AgreesWithItsFormula) {
  for (const Formula& f : kFormulas)
    for (const DType dtype : {DType::float32, DType::float64}) {
      Tensor x = cast(arange(-30, 30, 0.0625, DType::float64), dtype).set_requires_grad(true);
      const Tensor y = call(f.name, {x}), g = grad({sum(y)}, {x})[0];
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double at = test::element(x, i), close = dtype == DType::float32 ? 4e-7 : 2e-11;
        ASSERT_NEAR(test::element(y, i), f.value(at), close * std::fmax(1, std::fabs(at))) << f.name << at;
        ASSERT_NEAR(test::element(g, i), f.slope(at), 6 * close) << f.name << at;
      }
    }
}

// Where exponentials underflow and squares overflow: x or 0, with slopes 1 and 0.
TEST(ActivationOp, FarOut) {
  const double far[] = {-1e30, -1e4, 1e4, 1e30};
  for (const Formula& f : kFormulas)
    for (const DType dtype : {DType::float32, DType::float64}) {
      Tensor x = cast(Tensor::from({4}, far), dtype).set_requires_grad(true);
      const Tensor y = call(f.name, {x}), g = grad({sum(y)}, {x})[0];
      for (int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(test::element(y, i), i < 2 ? 0 : test::element(x, i)) << f.name << far[i];
        EXPECT_EQ(test::element(g, i), i < 2 ? 0 : 1) << f.name << far[i];
      }
    }
}

TEST(LinearActivation, IsLinearAndTheActivation) {
  test::Gen gen(3, DType::float64, true);
  for (const char* name : {"relu", "silu", "gelu", "geluTanh", "mish"}) {
    TensorList in{gen.tensor({3, 5, 7}), gen.tensor({9, 7}), gen.tensor({9})};
    for (Tensor& t : in) t.set_requires_grad(true);
    const Tensor fused = Call("linearActivation", in).choose("activation", name).run()[0],
                 apart = call(name, {linear(in[0], in[1], in[2])}), g = gen.tensor(apart.shape());
    EXPECT_LE(test::relative_difference(fused, apart), 1e-14) << name;
    const TensorList a = grad({fused}, in, {g}), b = grad({apart}, in, {g});
    for (size_t i = 0; i < 3; ++i) EXPECT_LE(test::relative_difference(a[i], b[i]), 1e-13) << name << i;
  }
}

}  // namespace
}  // namespace omnigrad
