// Optimizer steps against their formulas, written plainly.
#include <gtest/gtest.h>

#include <cmath>

#include "support/call.h"
#include "support/compare.h"
#include "support/gen.h"

namespace omnigrad::test {
namespace {

struct SgdCase {
  double momentum, dampening, weight_decay;
  bool nesterov, maximize;
};

TEST(OptimSteps, SgdFollowsItsFormula) {
  for (const SgdCase& k : {SgdCase{0, 0, 0, false, false}, SgdCase{0.9, 0, 0.1, false, false},
                           SgdCase{0.9, 0.3, 0, false, true}, SgdCase{0.8, 0, 0.01, true, false}}) {
    Gen g(1, DType::float64, true);
    const Tensor p = g.tensor({5}), v = Tensor::zeros({5}, DType::float64);
    double want[5], velocity[5] = {};
    for (int i = 0; i < 5; ++i) want[i] = element(p, i);
    for (int64_t step = 1; step <= 4; ++step) {
      const Tensor grad = g.tensor({5});
      Call("sgdStep", {p, grad, k.momentum != 0 ? v : Tensor()})
          .set("lr", 0.1)
          .set("momentum", k.momentum)
          .set("dampening", k.dampening)
          .set("weightDecay", k.weight_decay)
          .set("nesterov", k.nesterov)
          .set("maximize", k.maximize)
          .set("step", step)
          .run();
      for (int i = 0; i < 5; ++i) {
        double d = (k.maximize ? -1 : 1) * element(grad, i) + k.weight_decay * want[i];
        if (k.momentum != 0) {
          velocity[i] = step == 1 ? d : k.momentum * velocity[i] + (1 - k.dampening) * d;
          d = k.nesterov ? d + k.momentum * velocity[i] : velocity[i];
        }
        want[i] -= 0.1 * d;
        EXPECT_NEAR(element(p, i), want[i], 1e-14);
      }
    }
  }
}

struct AdamCase {
  double weight_decay;
  bool decoupled, amsgrad, maximize;
};

TEST(OptimSteps, AdamFollowsItsFormula) {
  for (const AdamCase& k : {AdamCase{0, false, false, false}, AdamCase{0.1, false, false, false},
                            AdamCase{0.1, true, false, true}, AdamCase{0.01, true, true, false}}) {
    Gen g(2, DType::float64, true);
    const auto zero = [] { return Tensor::zeros({5}, DType::float64); };
    const Tensor p = g.tensor({5}), mean = zero(), square = zero(), greatest = zero();
    double want[5], m[5] = {}, v[5] = {}, top[5] = {};
    for (int i = 0; i < 5; ++i) want[i] = element(p, i);
    for (int64_t step = 1; step <= 4; ++step) {
      const Tensor grad = g.tensor({5});
      Call("adamStep", {p, grad, mean, square, k.amsgrad ? greatest : Tensor()})
          .set("lr", 0.01)
          .set("beta1", 0.8)
          .set("beta2", 0.95)
          .set("eps", 1e-6)
          .set("weightDecay", k.weight_decay)
          .set("decoupled", k.decoupled)
          .set("amsgrad", k.amsgrad)
          .set("maximize", k.maximize)
          .set("step", step)
          .run();
      const double n = static_cast<double>(step);
      for (int i = 0; i < 5; ++i) {
        double d = (k.maximize ? -1 : 1) * element(grad, i);
        if (k.decoupled) {
          want[i] *= 1 - 0.01 * k.weight_decay;
        } else {
          d += k.weight_decay * want[i];
        }
        m[i] = 0.8 * m[i] + 0.2 * d;
        v[i] = 0.95 * v[i] + 0.05 * d * d;
        top[i] = std::max(top[i], v[i]);
        const double root = std::sqrt((k.amsgrad ? top[i] : v[i]) / (1 - std::pow(0.95, n)));
        want[i] -= 0.01 * m[i] / (1 - std::pow(0.8, n)) / (root + 1e-6);
        EXPECT_NEAR(element(p, i), want[i], 1e-14);
      }
    }
  }
}

TEST(OptimSteps, ListsMoveTogetherAndVersionsRise) {
  Gen g(3, DType::float32, true);
  const Tensor a = g.tensor({2, 3}), b = g.tensor({4}), ga = g.tensor({2, 3}), gb = g.tensor({4});
  const Tensor a0 = copy_of(a), b0 = copy_of(b);
  const uint32_t version = a.version();
  Call("sgdStep", {a, b, ga, gb, Tensor(), Tensor()}).set("lr", 0.5).run();
  EXPECT_GT(a.version(), version);
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_FLOAT_EQ(a.data<float>()[i], a0.data<float>()[i] - 0.5F * ga.data<float>()[i]);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_FLOAT_EQ(b.data<float>()[i], b0.data<float>()[i] - 0.5F * gb.data<float>()[i]);
}

}  // namespace
}  // namespace omnigrad::test
