// ctcLoss and rnntLoss: the fused lattices against sums over all paths and against the composite; what other
// libraries got wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "omnigrad/autograd.h"
#include "ops/alignment.h"
#include "support/compare.h"
#include "support/gradcheck.h"

namespace omnigrad {
namespace {

using test::Call;
using test::Function;
using test::Gen;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor ints(const Dims& shape, std::initializer_list<int64_t> v) { return Tensor::from(shape, v.begin()); }
Tensor doubles(const Dims& shape, std::initializer_list<double> v) { return Tensor::from(shape, v.begin()); }

struct Sequences {
  Dims shape;
  Tensor targets, inputs, lengths;
  int64_t blank = 0;
};
// Repeated labels, a blank that is not 0, an empty target, shorter inputs, one target in full.
const Sequences kSequences[] = {
    {{6, 3, 4}, ints({3, 3}, {1, 1, 2, 3, 0, 0, 2, 1, 3}), ints({3}, {6, 4, 5}), ints({3}, {3, 1, 3})},
    {{5, 2, 5}, ints({2, 2}, {0, 0, 4, 1}), ints({2}, {5, 3}), ints({2}, {2, 0}), 3},
    {{7, 1, 3}, ints({3}, {0, 2, 2}), {}, {}, 1},
};

Tensor loss_of(const Tensor& log_probs, const Sequences& s, bool mean = false, bool zero_infinity = false) {
  Call c("ctcLoss", {log_probs, s.targets, s.inputs, s.lengths});
  return c.set("blank", s.blank)
      .choose("reduction", mean ? "mean" : "none")
      .set("zeroInfinity", zero_infinity)
      .run()[0];
}
Function fused(const Sequences& s) {
  return [&s](const TensorList& in) { return TensorList{loss_of(in[0], s)}; };
}
Function composite(const Sequences& s) {
  return [&s](const TensorList& in) {
    const CtcTargets targets({in[0], s.targets, s.inputs, s.lengths}, s.blank);
    return TensorList{cast(ctc_composite(in[0], targets, s.blank), in[0].dtype())};
  };
}

// Minus the log of the sum over every sequence of classes that collapses to the target.
double by_enumeration(const Tensor& p, int64_t n, const CtcTargets& t, int64_t blank) {
  const auto i = static_cast<size_t>(n);
  const int64_t time = t.input_lengths[i], classes = p.size(2), labels = t.target_lengths[i];
  double total = 0;
  int64_t paths = 1;
  for (int64_t k = 0; k < time; ++k) paths *= classes;
  for (int64_t path = 0; path < paths; ++path) {
    Integers collapsed;
    int64_t rest = path, before = -1;
    double log_p = 0;
    for (int64_t k = 0; k < time; ++k, rest /= classes) {
      const int64_t c = rest % classes;
      log_p += test::element(p, (k * p.size(1) + n) * classes + c);
      if (c != before && c != blank) collapsed.push_back(c);
      before = c;
    }
    if (collapsed == Integers(t.labels.begin() + t.start[i], t.labels.begin() + t.start[i] + labels))
      total += std::exp(log_p);
  }
  return -std::log(total);
}

TEST(CtcOp, IsTheSumOverAllPaths) {
  for (const Sequences& s : kSequences) {
    Gen gen(3, DType::float64, true);
    const Tensor p = gen.tensor(s.shape, -3, 0), loss = loss_of(p, s);
    const CtcTargets targets({p, s.targets, s.inputs, s.lengths}, s.blank);
    for (int64_t n = 0; n < s.shape[1]; ++n)
      EXPECT_NEAR(test::element(loss, n), by_enumeration(p, n, targets, s.blank), 1e-13) << n;
  }
}

TEST(CtcOp, FusedIsTheComposite) {
  for (const Sequences& s : kSequences)
    for (DType dtype : {DType::float32, DType::float64}) {
      const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-13;
      Gen gen(5, dtype, true);
      const TensorList in{gen.tensor(s.shape, -3, 0)};
      const Tensor gy = gen.tensor({s.shape[1]});
      EXPECT_LE(test::relative_difference(fused(s)(in)[0], composite(s)(in)[0]), tolerance);
      EXPECT_LE(test::relative_difference(test::gradient(fused(s), in, {gy})[0],
                                          test::gradient(composite(s), in, {gy})[0]),
                tolerance);
    }
}

TEST(CtcOp, ThirdOrderMeetsDifferences) {
  const Sequences& s = kSequences[1];
  Gen gen(7, DType::float64, true);
  const TensorList in{gen.tensor(s.shape, -3, 0)};
  const TensorList gy = test::cotangents(fused(s), in, gen);
  const Function first = [&](const TensorList& x) {
    TensorList leaves{x[0].requires_grad() ? x[0] : x[0].detach().set_requires_grad(true)};
    GradMode recording(true);
    return grad(fused(s)(leaves), leaves, gy, {.retain_graph = true, .create_graph = true});
  };
  const TensorList gg = test::cotangents(first, in, gen);
  EXPECT_EQ(test::check_second_order(first, in, gg, {gen.tensor(s.shape, -1, 1)}), "");
}

// The gradient is that of the loss, not of the loss after a log-softmax: each step's shares add up to 1.
TEST(CtcOp, GradientOfEachStepAddsUpToMinusOne) {
  const Sequences& s = kSequences[0];
  const Tensor p = Gen(1, DType::float64, true).tensor(s.shape, -3, 0);
  const Tensor g = test::gradient(fused(s), {p}, {ones({3}, DType::float64)})[0], total = sum(g, {2});
  for (int64_t t = 0; t < 6; ++t)
    for (int64_t n = 0; n < 3; ++n) {
      const double steps = test::element(s.inputs, n);
      EXPECT_NEAR(test::element(total, t * 3 + n), t < steps ? -1 : 0, 1e-14);
    }
}

// Two labels in six steps: kept columns and recomputed ones, odd lengths, a target that just fits.
TEST(CtcOp, LongSequencesRecomputeTheirColumns) {
  for (const auto& [time, labels] : {std::pair<int64_t, int64_t>{701, 300}, {600, 600}, {401, 201}}) {
    Gen gen(9, DType::float64, true);
    Tensor target = Tensor::empty({1, labels}, DType::int64);
    for (int64_t j = 0; j < labels; ++j) target.data<int64_t>()[j] = 1 + (j * 7 + j / 5) % 4;
    int64_t needed = labels;
    for (int64_t j = 1; j < labels; ++j) needed += target.data<int64_t>()[j] == target.data<int64_t>()[j - 1];
    const Sequences s{{std::max(time, needed), 1, 5}, target, {}, {}};
    const TensorList in{gen.tensor(s.shape, -6, 0)};
    const Tensor gy = ones({1}, DType::float64);
    const Tensor a = fused(s)(in)[0], b = composite(s)(in)[0];
    EXPECT_LE(test::relative_difference(a, b), 1e-12);
    EXPECT_LE(test::relative_difference(test::gradient(fused(s), in, {gy})[0],
                                        test::gradient(composite(s), in, {gy})[0]),
              1e-10);
  }
}

TEST(CtcOp, LogProbabilitiesOfAnySize) {
  // One path: its log-probability is the sum, however small.
  for (double scale : {-1.0, -1.5e4, -3e7, -1e30}) {
    const Tensor p = doubles({2, 1, 2}, {scale, scale, scale, scale});
    const Sequences s{{2, 1, 2}, ints({1, 2}, {1, 1}), {}, {}};  // needs a blank between: no alignment
    EXPECT_EQ(loss_of(p, s).item(), kInfinity);
    const Sequences one{{2, 1, 2}, ints({1, 1}, {1}), {}, {}};  // three paths of equal weight
    EXPECT_NEAR(loss_of(p, one).item(), -2 * scale - std::log(3.0), 1e-15 * std::abs(scale) + 1e-14);
    const Tensor g = test::gradient(fused(one), {p}, {ones({1}, DType::float64)})[0];
    for (int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(test::element(g, i), i % 2 ? -2.0 / 3 : -1.0 / 3, std::abs(scale) > 1e20 ? 1 : 1e-8);
  }
  // Far below the best path, yet the only way.
  const Tensor p = doubles({3, 1, 3}, {0, -2e4, -3e4, 0, -2e4, -3e4, 0, -2e4, -3e4});
  const Sequences s{{3, 1, 3}, ints({1, 2}, {1, 2}), {}, {}};
  EXPECT_NEAR(loss_of(p, s).item(), 5e4 - std::log(3.0), 1e-10);
  // -Infinity is a probability of 0.
  const Tensor none = doubles({2, 1, 2}, {0, -kInfinity, 0, -kInfinity});
  const Sequences label{{2, 1, 2}, ints({1, 1}, {1}), {}, {}}, blank{{2, 1, 2}, ints({1, 0}, {}), {}, {}};
  EXPECT_EQ(loss_of(none, label).item(), kInfinity);
  EXPECT_EQ(loss_of(none, blank).item(), 0);
  for (const Sequences* one : {&label, &blank}) {
    const Function first = [&](const TensorList& x) { return TensorList{loss_of(x[0], *one)}; };
    const Tensor x = none.detach().set_requires_grad(true);
    const Tensor g = grad(first({x}), {x}, {}, {.create_graph = true})[0];
    const Tensor gg = grad({sum(g)}, {x}, {}, {.allow_unused = true})[0];
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(test::element(g, i), one == &blank && i % 2 == 0 ? -1 : 0) << i;
      if (gg) EXPECT_EQ(test::element(gg, i), 0) << i;
    }
  }
}

TEST(CtcOp, TargetsWithoutAlignment) {
  // Input shorter than its target, and as long as it but with a repeated label.
  const Sequences s{{3, 3, 3}, ints({3, 3}, {1, 2, 1, 1, 1, 2, 1, 2, 1}), ints({3}, {2, 3, 3}), {}};
  const Tensor p = Gen(2, DType::float64, true).tensor(s.shape, -3, 0);
  const Tensor loss = loss_of(p, s), zeroed = loss_of(p, s, false, true);
  for (int64_t n = 0; n < 3; ++n) {
    EXPECT_EQ(std::isinf(test::element(loss, n)), n < 2) << n;
    EXPECT_EQ(test::element(zeroed, n), n < 2 ? 0 : test::element(loss, n));
  }
  EXPECT_EQ(loss_of(p, s, true).item(), kInfinity);
  EXPECT_TRUE(std::isfinite(loss_of(p, s, true, true).item()));
  for (bool zero : {false, true}) {
    const Function f = [&](const TensorList& x) { return TensorList{loss_of(x[0], s, false, zero)}; };
    const Tensor g = test::gradient(f, {p}, {ones({3}, DType::float64)})[0];
    for (int64_t i = 0; i < 27; ++i)
      EXPECT_EQ(test::element(g, i) == 0, i / 3 % 3 < 2 || test::element(g, i) == 0) << i;
    EXPECT_TRUE(test::all_finite(g));
    Gen gen(4, DType::float64, true);
    EXPECT_EQ(test::check_second_order(f, {p}, {ones({3}, DType::float64)}, {gen.tensor(s.shape, -1, 1)}),
              "");
  }
}

TEST(CtcOp, EmptyTargetsAndInputs) {
  const Tensor p = Gen(6, DType::float64, true).tensor({4, 2, 3}, -3, 0);
  const Sequences s{{4, 2, 3}, ints({2, 1}, {1, 1}), ints({2}, {4, 0}), ints({2}, {0, 0})};
  double blanks = 0;
  for (int64_t t = 0; t < 4; ++t) blanks -= test::element(p, t * 6);
  EXPECT_NEAR(test::element(loss_of(p, s), 0), blanks, 1e-13);
  EXPECT_EQ(test::element(loss_of(p, s), 1), 0);
  EXPECT_NEAR(loss_of(p, s, true).item(), blanks / 2, 1e-13);  // divided by at least 1
  EXPECT_EQ(loss_of(Tensor::empty({0, 2, 3}, DType::float64), {{0, 2, 3}, ints({2, 0}, {}), {}, {}}).shape(),
            Dims{2});
}

TEST(CtcOp, TargetsInOneAxisAndUnbatched) {
  const Tensor p = Gen(8, DType::float64, true).tensor({6, 3, 4}, -3, 0);
  const Sequences& s = kSequences[0];
  const Sequences joined{s.shape, ints({7}, {1, 1, 2, 3, 2, 1, 3}), s.inputs, s.lengths};
  EXPECT_TRUE(test::same_bits(loss_of(p, s), loss_of(p, joined)));
  const Tensor alone = squeeze(slice(p, 1, 0, 1), 1).contiguous();
  const Tensor one = loss_of(alone, {{6, 4}, ints({3}, {1, 1, 2}), {}, {}});
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(one.item(), test::element(loss_of(p, s), 0));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "";
}
TEST(CtcOp, Errors) {
  const Tensor p = Tensor::zeros({4, 2, 3}, DType::float64);
  const auto has = [&](const Sequences& s, const std::string& part) {
    const std::string m = message_of([&] { loss_of(p, s); });
    EXPECT_NE(m.find("ctcLoss: " + part), std::string::npos) << m;
  };
  has({{}, ints({2, 1}, {1, 3}), {}, {}}, "target class 3 is out of range for 3 classes");
  has({{}, ints({2, 1}, {1, 0}), {}, {}}, "targets hold 0, which is the blank");
  has({{}, ints({2, 1}, {1, 1}), ints({2}, {5, 1}), {}}, "inputLengths has 5, it must be in [0, 4]");
  has({{}, ints({2, 1}, {1, 1}), {}, ints({3}, {1, 1, 1})}, "targetLengths [3] must be [2]");
  has({{}, ints({3}, {1, 1, 1}), {}, ints({2}, {1, 1})},
      "targetLengths add up to more or less than the 3 targets");
  has({{}, ints({3}, {1, 1, 1}), {}, {}}, "targets in one axis need targetLengths");
  has({{}, ints({2, 1}, {1, 1}), {}, {}, 3}, "blank 3 is out of range for 3 classes");
}

// ---- the transducer

struct Paths {
  Dims shape;  // batch, time, labels + 1
  Integers times, labels;
};
const Paths kPaths[] = {
    {{2, 4, 4}, {4, 3}, {3, 1}}, {{1, 1, 3}, {1}, {2}}, {{3, 5, 1}, {5, 1, 2}, {0, 0, 0}}};

Tensor tensor_of(const Integers& v) { return Tensor::from({static_cast<int64_t>(v.size())}, v.data()); }
Function lattice(const Paths& p) {
  return [&p](const TensorList& in) {
    return Call("transducer", {in[0], in[1], tensor_of(p.times), tensor_of(p.labels)}).run();
  };
}
Function lattice_composite(const Paths& p) {
  return [&p](const TensorList& in) {
    return TensorList{cast(transducer_composite(in[0], in[1], p.times, p.labels), in[0].dtype())};
  };
}
TensorList lattice_inputs(const Paths& p, DType dtype) {
  Gen gen(13, dtype, true);
  return {gen.tensor(p.shape, -3, 0), gen.tensor({p.shape[0], p.shape[1], p.shape[2] - 1}, -3, 0)};
}

// Of the paths from cell (t, u) to the end.
double paths_from(const TensorList& in, int64_t n, int64_t t, int64_t u, int64_t time, int64_t labels) {
  const double on = std::exp(test::element(in[0], (n * in[0].size(1) + t) * in[0].size(2) + u));
  double total = 0;
  if (t + 1 < time) total += on * paths_from(in, n, t + 1, u, time, labels);
  if (t + 1 == time && u == labels) total += on;
  if (u < labels) {
    total += std::exp(test::element(in[1], (n * in[1].size(1) + t) * in[1].size(2) + u)) *
             paths_from(in, n, t, u + 1, time, labels);
  }
  return total;
}

TEST(TransducerOp, IsTheSumOverAllPathsAndTheComposite) {
  for (const Paths& p : kPaths)
    for (DType dtype : {DType::float32, DType::float64}) {
      const double tolerance = dtype == DType::float32 ? 1e-6 : 1e-13;
      const TensorList in = lattice_inputs(p, dtype);
      const Tensor loss = lattice(p)(in)[0], other = lattice_composite(p)(in)[0];
      EXPECT_LE(test::relative_difference(loss, other), tolerance);
      for (int64_t n = 0; n < p.shape[0]; ++n) {
        const auto i = static_cast<size_t>(n);
        EXPECT_NEAR(test::element(loss, n), -std::log(paths_from(in, n, 0, 0, p.times[i], p.labels[i])),
                    tolerance * 10);
      }
      const Tensor gy = Gen(1, dtype, true).tensor({p.shape[0]});
      const TensorList a = test::gradient(lattice(p), in, {gy}),
                       b = test::gradient(lattice_composite(p), in, {gy});
      for (size_t i = 0; i < 2; ++i) EXPECT_LE(test::relative_difference(a[i], b[i]), tolerance);
    }
}

TEST(TransducerOp, LossOfLogits) {
  // As after a log-softmax, and with the blank in another place.
  Gen gen(17, DType::float64, true);
  const Tensor x = gen.tensor({2, 3, 3, 4}), p = log_softmax(x, -1);
  const Tensor targets = ints({2, 2}, {1, 2, 2, 1}), counts = ints({2}, {2, 1});
  const auto loss = [&](const Tensor& t, bool fused, int64_t blank) {
    return Call("rnntLoss", {t, targets, {}, counts})
        .set("fusedLogSoftmax", fused)
        .set("blank", blank)
        .run()[0];
  };
  EXPECT_NEAR(loss(x, true, -1).item(), loss(p, false, 3).item(), 1e-14);
  EXPECT_NE(loss(x, true, 0).item(), loss(x, true, -1).item());
  // torchaudio's own example of one step, one label: -log p(label) - log p(blank).
  const Tensor two = doubles({1, 1, 2, 2}, {-1, -2, -3, -4});
  const Tensor one = Call("rnntLoss", {two, ints({1, 1}, {1}), {}, {}})
                         .set("fusedLogSoftmax", false)
                         .set("blank", int64_t{0})
                         .run()[0];
  EXPECT_NEAR(one.item(), 2 + 3, 1e-15);
}

}  // namespace
}  // namespace omnigrad
