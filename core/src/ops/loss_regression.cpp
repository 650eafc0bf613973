// Losses of regression and divergences: composites over (input, target), differentiable to any order in both.
#include <cmath>

#include "ops/loss_reduce.h"

namespace omnigrad {
namespace {

constexpr double kHalfLog2Pi = 0.9189385332046727;

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

// `Op` gives kName, kDoc, options with a reduction, `options(schema)` and `of(x, t, o)`, the loss of
// elements.
template <class Op, class O = LossOptions>
struct PairLoss {
  using Options = O;
  static constexpr Schema schema() {
    Schema s = op(Op::kName, Op::kDoc)
                   .in("input", Kind::floating, "any shape")
                   .in("target", Kind::floating, "input's shape");
    Op::options(s);
    return s.opt("reduction", &Options::reduction, "over all elements", kReductions).out("loss");
  }
  static constexpr void options(Schema&) {}
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(in[0].shape() == in[1].shape())) {
      fail("input ", in[0].shape(), " and target ", in[1].shape(), " must have one shape");
    }
    Op::check(o);
    return loss_spec(in[0].shape(), in[0].dtype(), o.reduction);
  }
  static void check(const Options&) {}
  static TensorList compose(const Options& o, Inputs in) {
    return {reduce(Op::of(in[0], in[1], o), o.reduction)};
  }
};

#define LOSS_NAME(NAME, DOC)                 \
  static constexpr const char* kName = NAME; \
  static constexpr Doc kDoc = DOC

struct MseLoss : PairLoss<MseLoss> {
  LOSS_NAME("mseLoss", "(input - target)^2.");
  static Tensor of(const Tensor& x, const Tensor& t, const Options&) { return square(x - t); }
};
OMNIGRAD_OP(MseLoss)

struct L1Loss : PairLoss<L1Loss> {
  LOSS_NAME("l1Loss", "|input - target|.");
  static Tensor of(const Tensor& x, const Tensor& t, const Options&) { return abs(x - t); }
};
OMNIGRAD_OP(L1Loss)

struct LpOptions : LossOptions {
  double p = 2;
};
struct LpLoss : PairLoss<LpLoss, LpOptions> {
  LOSS_NAME("lpLoss", "|input - target|^p.");
  static constexpr void options(Schema& s) { s.arg("p", &Options::p, "the power, greater than 0"); }
  static void check(const Options& o) {
    if (!(o.p > 0)) fail(Code::option, "p ", o.p, " must be greater than 0");
  }
  static Tensor of(const Tensor& x, const Tensor& t, const Options& o) {
    const Tensor d = abs(x - t), at_zero = eq(d, number(0, d));
    return where(at_zero, number(0, d), pow(where(at_zero, number(1, d), d), number(o.p, d)));
  }
};
OMNIGRAD_OP(LpLoss)

struct SmoothOptions : LossOptions {
  double beta = 1;
};
struct SmoothL1 : PairLoss<SmoothL1, SmoothOptions> {
  LOSS_NAME("smoothL1Loss", "d^2 / (2 beta) where d = |input - target| is below beta, d - beta / 2 beyond.");
  static constexpr void options(Schema& s) {
    s.opt("beta", &Options::beta, "where the parabola ends, not negative");
  }
  static void check(const Options& o) {
    if (!(o.beta >= 0)) fail(Code::option, "beta ", o.beta, " must not be negative");
  }
  static Tensor of(const Tensor& x, const Tensor& t, const Options& o) {
    const Tensor difference = x - t, d = abs(difference);
    if (o.beta == 0) return d;
    return where(lt(d, number(o.beta, d)), square(difference) * (0.5 / o.beta), d - 0.5 * o.beta);
  }
};
OMNIGRAD_OP(SmoothL1)

struct HuberOptions : LossOptions {
  double delta = 1;
};
struct Huber : PairLoss<Huber, HuberOptions> {
  LOSS_NAME("huberLoss",
            "d^2 / 2 where d = |input - target| is at most delta, delta (d - delta / 2) beyond.");
  static constexpr void options(Schema& s) {
    s.opt("delta", &Options::delta, "where the parabola ends, greater than 0");
  }
  static void check(const Options& o) {
    if (!(o.delta > 0)) fail(Code::option, "delta ", o.delta, " must be greater than 0");
  }
  static Tensor of(const Tensor& x, const Tensor& t, const Options& o) {
    const Tensor difference = x - t, d = abs(difference);
    return where(le(d, number(o.delta, d)), square(difference) * 0.5, (d - 0.5 * o.delta) * o.delta);
  }
};
OMNIGRAD_OP(Huber)

struct SoftMargin : PairLoss<SoftMargin> {
  LOSS_NAME("softMarginLoss", "log(1 + exp(-target input)), targets -1 or 1.");
  static Tensor of(const Tensor& x, const Tensor& t, const Options&) { return call("softplus", {-(t * x)}); }
};
OMNIGRAD_OP(SoftMargin)

struct HingeOptions : LossOptions {
  double margin = 1;
};
struct HingeEmbedding : PairLoss<HingeEmbedding, HingeOptions> {
  LOSS_NAME("hingeEmbeddingLoss", "input where the target is 1, max(0, margin - input) where it is -1.");
  static constexpr void options(Schema& s) {
    s.nondiff().opt("margin", &Options::margin,
                    "distance wanted of dissimilar pairs");  // the target: a choice
  }
  static Tensor of(const Tensor& x, const Tensor& t, const Options& o) {
    return where(eq(t, number(1, t)), x, relu(o.margin - x));
  }
};
OMNIGRAD_OP(HingeEmbedding)

struct PoissonOptions : LossOptions {
  bool logInput = true, full = false;
  double eps = 1e-8;
};
struct PoissonNll : PairLoss<PoissonNll, PoissonOptions> {
  LOSS_NAME("poissonNllLoss", "Negative log-likelihood of counts under a Poisson distribution.");
  static constexpr void options(Schema& s) {
    s.opt("logInput", &Options::logInput, "input is the logarithm of the rate")
        .opt("full", &Options::full, "add Stirling's term for targets above 1")
        .opt("eps", &Options::eps, "added to a rate before its logarithm");
  }
  static Tensor of(const Tensor& x, const Tensor& t, const Options& o) {
    const Tensor loss = o.logInput ? exp(x) - t * x : x - t * log(x + o.eps);
    if (!o.full) return loss;
    const Tensor one = number(1, t), large = gt(t, one), safe = where(large, t, one);
    const Tensor stirling = safe * log(safe) - safe + log(safe) * 0.5 + kHalfLog2Pi;
    return loss + where(large, stirling, number(0, t));
  }
};
OMNIGRAD_OP(PoissonNll)

struct KlDiv {
  enum class KlReduction { none, mean, sum, batchmean };
  struct Options {
    KlReduction reduction = KlReduction::mean;
    bool logTarget = false;
  };
  static constexpr Schema schema() {
    return op("klDiv", "target (log(target) - input), the Kullback-Leibler divergence of elements.")
        .in("input", Kind::floating, "log-probabilities, any shape")
        .in("target", Kind::floating, "probabilities, input's shape")
        .opt("reduction", &Options::reduction,
             "batchmean: the sum over the size of axis 0, the mathematical divergence",
             {"none", "mean", "sum", "batchmean"})
        .opt("logTarget", &Options::logTarget, "target holds logarithms")
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(in[0].shape() == in[1].shape())) {
      fail("input ", in[0].shape(), " and target ", in[1].shape(), " must have one shape");
    }
    if (o.reduction == KlReduction::batchmean && in[0].rank() == 0) fail("batchmean needs an axis 0");
    return loss_spec(in[0].shape(), in[0].dtype(),
                     o.reduction == KlReduction::none ? Reduction::none : Reduction::sum);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor &x = in[0], &t = in[1];
    Tensor loss;
    if (o.logTarget) {
      loss = exp(t) * (t - x);
    } else {
      const Tensor positive = gt(t, number(0, t)), safe = where(positive, t, number(1, t));
      loss = where(positive, safe * log(safe), number(0, t)) - t * x;
    }
    if (o.reduction == KlReduction::batchmean) return {sum(loss) / static_cast<double>(x.size(0))};
    return {reduce(loss, static_cast<Reduction>(o.reduction))};
  }
};
OMNIGRAD_OP(KlDiv)

struct GaussianNll {
  struct Options : LossOptions {
    bool full = false;
    double eps = 1e-6;
  };
  static constexpr Schema schema() {
    return op("gaussianNllLoss", "(log(var) + (input - target)^2 / var) / 2, the variance held above eps.")
        .in("input", Kind::floating, "means, any shape")
        .in("target", Kind::floating, "input's shape")
        .in("var", Kind::floating, "variances, broadcasts to input")
        .opt("full", &Options::full, "add log(2 pi) / 2")
        .opt("eps", &Options::eps, "the least variance, greater than 0")
        .opt("reduction", &Options::reduction, "over all elements", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(in[0].shape() == in[1].shape())) {
      fail("input ", in[0].shape(), " and target ", in[1].shape(), " must have one shape");
    }
    if (!(broadcast_shapes(in[2].shape(), in[0].shape()) == in[0].shape())) {
      fail("var ", in[2].shape(), " does not broadcast to input ", in[0].shape());
    }
    if (!(o.eps > 0)) fail(Code::option, "eps ", o.eps, " must be greater than 0");
    return loss_spec(in[0].shape(), in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor least = number(o.eps, in[2]), var = where(lt(in[2], least), least, in[2]);
    Tensor loss = (log(var) + square(in[0] - in[1]) / var) * 0.5;
    if (o.full) loss = loss + kHalfLog2Pi;
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(GaussianNll)

}  // namespace
}  // namespace omnigrad
