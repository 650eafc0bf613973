// The engine's promises: iterative on every path, fan-in in order, one use of a graph unless retained,
// changed saved tensors noticed, errors that leave everything usable.
#include "omnigrad/autograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "omnigrad/ops.h"
#include "support/call.h"
#include "support/compare.h"
#include "support/gen.h"

namespace omnigrad::test {
namespace {

Tensor vector(std::initializer_list<double> values) {
  return Tensor::from({static_cast<int64_t>(values.size())}, values.begin());
}
Tensor leaf(std::initializer_list<double> values) { return vector(values).set_requires_grad(true); }

// Each test gives back every tensor that it made.
class Autograd : public testing::Test {
 protected:
  void SetUp() override { alive_ = live_tensors(); }
  void TearDown() override {
    EXPECT_EQ(live_tensors(), alive_);
    EXPECT_TRUE(grad_enabled());
  }

 private:
  int64_t alive_ = 0;
};

template <class F>
Error error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(Code::state, "");
}
bool mentions(const Error& e, const char* what) { return e.message.find(what) != std::string::npos; }

TEST_F(Autograd, ChainOfManyOpsBuildsRunsAndFreesWithoutRecursion) {
  constexpr int kOps = 200000;
  const Tensor x = leaf({1.5});
  {
    Tensor y = x;
    for (int i = 0; i < kOps; ++i) y = -y;
    backward(y);
    EXPECT_EQ(x.grad().item(), 1);
    // And where it is freed without having run, and while it is recorded.
    y = x;
    for (int i = 0; i < kOps; ++i) y = -y;
  }
  Tensor y = x;
  for (int i = 0; i < kOps / 4; ++i) y = y * 1.0;
  const Tensor g = grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(g.item(), 1);
}

TEST_F(Autograd, FanInAddsInNodeOrder) {
  // Cotangents arrive from the youngest user to the oldest: ((1e16 + 1) - 1e16) in that order.
  const Tensor x = leaf({1});
  const Tensor a = x * -1e16, b = x * 1.0, c = x * 1e16;
  const double expected = (1e16 + 1.0) + -1e16;
  for (int k = 0; k < 2; ++k) {
    const Tensor y = k == 0 ? a + b + c : (c + b) + a;
    EXPECT_EQ(grad({y}, {x}, {}, {.retain_graph = true})[0].item(), expected);
    EXPECT_EQ(grad({y}, {x}, {}, {.create_graph = true})[0].item(), expected);
  }
}

TEST_F(Autograd, AGraphIsUsedOnceUnlessRetained) {
  const Tensor x = leaf({2});
  const Tensor y = exp(x);
  backward(y, {}, {.retain_graph = true});
  backward(y);
  EXPECT_DOUBLE_EQ(x.grad().item(), 2 * std::exp(2));
  const Error e = error_of([&] { backward(y); });
  EXPECT_EQ(e.code, Code::graph);
  EXPECT_TRUE(mentions(e, "exp")) << e.message;
  EXPECT_TRUE(mentions(e, "retainGraph")) << e.message;
  EXPECT_DOUBLE_EQ(x.grad().item(), 2 * std::exp(2));
}

TEST_F(Autograd, LeavesAccumulateAndGradDoesNot) {
  const Tensor x = leaf({3}), w = leaf({5});
  for (int i = 0; i < 3; ++i) backward(x * w);
  EXPECT_EQ(x.grad().item(), 15);
  EXPECT_EQ(w.grad().item(), 9);
  EXPECT_EQ(grad({x * w}, {w})[0].item(), 3);
  EXPECT_EQ(w.grad().item(), 9);
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Autograd, AccumulatedGradientsShareNoStorage) {
  // add's vjp hands the same cotangent to both inputs.
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  backward(sum(a + b));
  EXPECT_NE(a.grad().storage(), b.grad().storage());
  const Tensor one = a.grad();
  backward(sum(a * 2.0));
  EXPECT_EQ(b.grad().data<double>()[0], 1);
  EXPECT_EQ(a.grad().data<double>()[0], 3);
}

TEST_F(Autograd, AnUnusedInputIsAnErrorUnlessAllowed) {
  const Tensor x = leaf({1}), unused = leaf({1, 2});
  const Tensor y = x * 2.0;
  const Error e = error_of([&] { grad({y}, {x, unused}, {}, {.retain_graph = true}); });
  EXPECT_EQ(e.code, Code::graph);
  EXPECT_TRUE(mentions(e, "[2]")) << e.message;
  const TensorList g = grad({y}, {x, unused}, {}, {.allow_unused = true});
  EXPECT_EQ(g[0].item(), 2);
  EXPECT_FALSE(g[1].defined());
}

TEST_F(Autograd, WhatHasNoGradientIsRefused) {
  const Tensor x = leaf({1, 2}), plain = vector({1});
  EXPECT_EQ(error_of([&] { backward(plain); }).code, Code::graph);
  EXPECT_EQ(error_of([&] { backward(x * 2.0); }).code, Code::graph);  // not one element
  EXPECT_EQ(error_of([&] { grad({sum(x)}, {plain}); }).code, Code::graph);
  EXPECT_EQ(error_of([&] { backward(x * 2.0, plain); }).code, Code::shape);
  Tensor index = Tensor::zeros({2}, DType::int64);
  EXPECT_EQ(error_of([&] { index.set_requires_grad(true); }).code, Code::dtype);
  Tensor made = x * 2.0;
  EXPECT_EQ(error_of([&] { made.set_requires_grad(false); }).code, Code::graph);
}

TEST_F(Autograd, NothingIsRecordedWhileOff) {
  const Tensor x = leaf({1});
  {
    GradMode off(false);
    EXPECT_FALSE((x * 2.0).requires_grad());
    GradMode on(true);
    EXPECT_TRUE((x * 2.0).requires_grad());
  }
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_FALSE(gt(x, x).requires_grad());
}

TEST_F(Autograd, ASavedTensorThatChangedIsNamed) {
  const Tensor x = leaf({1, 2});
  Tensor weight = vector({3, 4});
  const Tensor y = sum(x * weight);
  weight.assign(vector({5, 6}));
  weight.bump_version();
  const Error e = error_of([&] { backward(y); });
  EXPECT_EQ(e.code, Code::graph);
  EXPECT_TRUE(mentions(e, "mul")) << e.message;
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Autograd, AWriteThroughAViewIsNoticed) {
  const Tensor x = leaf({1, 2});
  const Tensor base = vector({3, 4});
  const Tensor y = sum(x * base);
  Call("fill_", {slice(base, 0, 0, 1)}).run();
  EXPECT_TRUE(mentions(error_of([&] { backward(y); }), "mul"));
}

TEST_F(Autograd, BroadcastingIsUndone) {
  const Tensor x = Tensor::zeros({2, 1, 3}, DType::float64).set_requires_grad(true);
  const Tensor w = Tensor::zeros({4, 1}, DType::float64).set_requires_grad(true);
  const Tensor s = Tensor::scalar(1, DType::float64).set_requires_grad(true);
  backward(sum((x + w) + s));
  EXPECT_EQ(x.grad().shape(), (Dims{2, 1, 3}));
  EXPECT_EQ(element(x.grad(), 5), 4);
  EXPECT_EQ(w.grad().shape(), (Dims{4, 1}));
  EXPECT_EQ(element(w.grad(), 3), 6);
  EXPECT_EQ(s.grad().shape(), Dims{});
  EXPECT_EQ(s.grad().item(), 24);
}

TEST_F(Autograd, GradientsOfWhatLiesBetween) {
  const Tensor x = leaf({2});
  const Tensor h = square(x), y = h * h;
  const TensorList g = grad({y}, {h, x, h}, {});
  EXPECT_EQ(g[0].item(), 8);
  EXPECT_EQ(g[1].item(), 32);
  EXPECT_EQ(g[2].item(), 8);
  // Of itself.
  EXPECT_EQ(grad({x}, {x})[0].item(), 1);
}

TEST_F(Autograd, ThirdOrderOfSmoothFunctions) {
  // y = tanh(x) exp(x): the third derivative in closed form.
  const double v = 0.3;
  const Tensor x = leaf({v});
  Tensor d = tanh(x) * exp(x);
  for (int order = 0; order < 3; ++order) d = grad({d}, {x}, {}, {.create_graph = true})[0];
  const double t = std::tanh(v), s = 1 - t * t;                           // tanh' = s
  const double t1 = s, t2 = -2 * t * s, t3 = -2 * s * s + 4 * t * t * s;  // its derivatives
  EXPECT_NEAR(d.item(), std::exp(v) * (t + 3 * t1 + 3 * t2 + t3), 1e-13);

  // sum((A x)^4): the third derivative in direction e, e, e is 24 sum(A x (A e)^3).
  Gen g(1, DType::float64, true);
  const Tensor a = g.tensor({3, 4}), e = g.tensor({4, 1});
  const Tensor p = g.tensor({4, 1}).set_requires_grad(true);
  Tensor along = sum(square(square(matmul(a, p))));
  for (int order = 0; order < 3; ++order) along = sum(grad({along}, {p}, {}, {.create_graph = true})[0] * e);
  const Tensor ap = matmul(a, p.detach()), ae = matmul(a, e);
  EXPECT_NEAR(along.item() / (sum(ap * ae * ae * ae) * 24.0).item(), 1, 1e-12);
}

// ---- customGrad

TEST_F(Autograd, AVjpMayRunTheEngine) {
  // y = x^3 whose vjp differentiates a recomputation.
  const Tensor x = leaf({2});
  const auto cube = [](const Tensor& t) { return t * square(t); };
  Tensor y;
  {
    GradMode off(false);
    y = cube(x);
  }
  y = record_external({x}, {y}, [&](Cotangents g, const TensorList& inputs, const TensorList&) {
    const bool recording = grad_enabled();
    GradMode on(true);
    const Tensor t = recording ? alias(inputs[0]) : inputs[0].detach().set_requires_grad(true);
    return grad({cube(t)}, {t}, {g[0]}, {.create_graph = recording});
  })[0];
  const Tensor first = grad({y}, {x}, {}, {.create_graph = true})[0];
  EXPECT_EQ(first.item(), 12);
  EXPECT_EQ(grad({first}, {x}, {}, {.retain_graph = true})[0].item(), 12);
}

TEST_F(Autograd, AnExceptionInAVjpLeavesEverythingUsable) {
  const Tensor x = leaf({2});
  bool armed = true;
  const int64_t before = live_tensors();
  {
    const Tensor h = x * 3.0;
    const Tensor y =
        record_external({h}, {h.detach()}, [&](Cotangents g, const TensorList&, const TensorList&) {
          if (armed) throw std::runtime_error("from outside");
          return TensorList{g[0]};
        })[0];
    const Tensor z = exp(y) + y;
    EXPECT_THROW(backward(z, {}, {.retain_graph = true}), std::runtime_error);
    EXPECT_TRUE(grad_enabled());
    EXPECT_FALSE(x.grad().defined());
    // Nested: the inner run fails inside an outer one.
    const Tensor outer =
        record_external({x}, {x.detach()}, [&](Cotangents, const TensorList&, const TensorList&) {
          return grad({z}, {x}, {}, {.retain_graph = true});
        })[0];
    EXPECT_THROW(backward(outer, {}, {.retain_graph = true}), std::runtime_error);
    EXPECT_TRUE(grad_enabled());
    armed = false;
    backward(z, {}, {.retain_graph = true});
    EXPECT_NEAR(x.grad().item(), 3 * (std::exp(6) + 1), 1e-10);
    backward(outer);
  }
  x.set_grad({});
  EXPECT_EQ(live_tensors(), before);
}

TEST_F(Autograd, AnErrorInAVjpNamesBothOps) {
  const Tensor x = leaf({1, 2});
  const Tensor y =
      record_external({x}, {vector({3, 4})}, [](Cotangents g, const TensorList&, const TensorList&) {
        return Grads{matmul(g[0], ones({5}, DType::float64))};
      })[0];
  const Error e = error_of([&] { backward(y, ones({2}, DType::float64)); });
  EXPECT_EQ(e.op, "matmul");
  EXPECT_TRUE(mentions(e, "matmul: ")) << e.message;
  EXPECT_TRUE(mentions(e, "; in the gradient of customGrad")) << e.message;
}

TEST_F(Autograd, AVjpOfTheWrongFormIsNamed) {
  const Tensor x = leaf({1, 2});
  const auto with = [&](TensorList grads) {
    const Tensor y = record_external(
        {x}, {x.detach()}, [=](Cotangents, const TensorList&, const TensorList&) { return grads; })[0];
    return error_of([&] { backward(sum(y)); });
  };
  for (const TensorList& grads :
       {TensorList{}, TensorList{x.detach(), x.detach()}, TensorList{vector({1, 2, 3})},
        TensorList{Tensor::zeros({2}, DType::float32)}}) {
    const Error e = with(grads);
    EXPECT_EQ(e.code, Code::state);
    EXPECT_TRUE(mentions(e, "customGrad")) << e.message;
  }
}

// ---- fused ops: y = x sigmoid(x), its gradient fused, the composite behind both

Tensor swish_composite(const Tensor& x) { return x * sigmoid(x); }

struct SwishGrad {
  static constexpr Schema schema() {
    return op("testSwishGrad", "d.")
        .in("x", Kind::floating)
        .saved()
        .in("g", Kind::floating)
        .saved()
        .out("gx");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    for (int64_t i = 0; i < in[0].numel(); ++i) {
      const double x = element(in[0], i), s = 1 / (1 + std::exp(-x));
      out[0].data<double>()[i] = element(in[1], i) * s * (1 + x * (1 - s));
    }
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents v, Need need) {
    return double_backward([](const TensorList& in) { return TensorList{swish_composite(in[0])}; }, {s.in(0)},
                           {s.in(1)}, {v[0]}, need);
  }
};
struct Swish {
  static constexpr Schema schema() {
    return op("testSwish", "x sigmoid(x).").in("x", Kind::floating).saved().out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    for (int64_t i = 0; i < in[0].numel(); ++i) {
      const double x = element(in[0], i);
      out[0].data<double>()[i] = x / (1 + std::exp(-x));
    }
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    return {apply1<SwishGrad>({s.in(0), g[0]})};
  }
};

TEST_F(Autograd, DoubleBackwardAgreesWithPlainDifferentiation) {
  Gen gen(3, DType::float64, true);
  const Tensor v = gen.tensor({4}), w = gen.tensor({4}), start = gen.tensor({4});
  std::vector<TensorList> results;
  for (bool fused : {true, false}) {
    const Tensor x = copy_of(start).set_requires_grad(true), gy = copy_of(v).set_requires_grad(true);
    const Tensor y = fused ? apply1<Swish>({x}) : swish_composite(x);
    const Tensor g1 = grad({y}, {x}, {gy}, {.create_graph = true})[0];
    const TensorList g2 = grad({g1}, {x, gy}, {w}, {.create_graph = true});
    const TensorList g3 = grad({g2[0]}, {x, gy}, {v}, {.create_graph = true});
    const TensorList g4 = grad({g3[0]}, {x}, {w}, {});
    TensorList all{y.detach(), g1.detach()};
    for (const TensorList& list : {g2, g3, g4}) {
      for (const Tensor& t : list) all.push_back(t.detach());
    }
    results.push_back(all);
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_LE(relative_difference(results[0][i], results[1][i]), 1e-13) << i;
  }
}

TEST_F(Autograd, AFusedGradientHasOneSetOfBits) {
  Gen gen(4, DType::float64, true);
  const Tensor x = gen.tensor({50}).set_requires_grad(true), gy = gen.tensor({50});
  const Tensor plain = grad({apply1<Swish>({x})}, {x}, {gy})[0];
  EXPECT_TRUE(same_bits(plain, grad({apply1<Swish>({x})}, {x}, {gy}, {.create_graph = true})[0]));
}

}  // namespace
}  // namespace omnigrad::test
