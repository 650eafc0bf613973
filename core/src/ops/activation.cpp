// Activations, as composites of elementwise ops: what is smooth is written so that it is smooth at 0 too. The
// commonest smooth ones are fused: smooth_activation.cpp.
//
// Points without a derivative, as PyTorch: hardtanh, relu6 and hardsigmoid have 0 at their corners, clamp 1,
// the shrinks 0, leakyRelu, elu and prelu that of the negative side.
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

// low up to and at `low`, high from `high` on; NaN stays.
Tensor between(const Tensor& x, double low, double high) {
  const Tensor l = number(low, x), h = number(high, x);
  return where(le(x, l), l, where(ge(x, h), h, x));
}
// f(x) below and at 0 by `negative` of x there, of 0 elsewhere, so that nothing overflows on the other side.
template <class F>
Tensor by_sign(const Tensor& x, const Tensor& positive, const F& negative) {
  const Tensor zero = number(0, x), is_positive = gt(x, zero);
  return where(is_positive, positive, negative(where(is_positive, zero, x)));
}
Tensor elu_of(const Tensor& x, double alpha, double scale, double slope) {
  return by_sign(x, scale == 1 ? x : x * scale, [=](const Tensor& t) {
    return call("expm1", {slope == 1 ? t : t * slope}) * (alpha * scale);
  });
}

// `Op` gives kName, kDoc and `of(x)`.
template <class Op>
struct Activation {
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc).in("x", Kind::floating, "any shape").out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static TensorList compose(const NoOptions&, Inputs in) { return {Op::of(in[0])}; }
};

#define ACTIVATION(CLASS, NAME, DOC, VALUE)             \
  struct CLASS : Activation<CLASS> {                    \
    static constexpr const char* kName = NAME;          \
    static constexpr Doc kDoc = DOC;                    \
    static Tensor of(const Tensor& x) { return VALUE; } \
  };                                                    \
  OMNIGRAD_OP(CLASS)

ACTIVATION(Relu6, "relu6", "min(max(x, 0), 6).", between(x, 0, 6))
ACTIVATION(Selu, "selu", "Scaled exponential linear unit (Klambauer et al. 2017).",
           elu_of(x, kSeluAlpha, kSeluScale, 1))
ACTIVATION(Softsign, "softsign", "x / (1 + |x|).", x / (abs(x) + 1))
ACTIVATION(Tanhshrink, "tanhshrink", "x - tanh(x).", x - tanh(x))
ACTIVATION(Hardsigmoid, "hardsigmoid", "min(max(x + 3, 0), 6) / 6.", between(x + 3, 0, 6) / 6)
ACTIVATION(Hardswish, "hardswish", "x min(max(x + 3, 0), 6) / 6.", x*(between(x + 3, 0, 6) / 6))
ACTIVATION(LogSigmoid, "logSigmoid", "log(sigmoid(x)), without overflow.", -call("softplus", {-x}))

// One or two numbers as options; `Op` gives names, documentation, defaults and `of(x, o)`.
template <class Op, class O>
struct Parametrised {
  using Options = O;
  static OutSpecs shape(const O&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static TensorList compose(const O& o, Inputs in) { return {Op::of(in[0], o)}; }
};

struct EluOptions {
  double alpha = 1;
};
struct Elu : Parametrised<Elu, EluOptions> {
  static constexpr Schema schema() {
    return op("elu", "x above 0, alpha (exp(x) - 1) below.")
        .in("x", Kind::floating, "any shape")
        .opt("alpha", &Options::alpha, "minus the limit at -Infinity")
        .out("y");
  }
  static Tensor of(const Tensor& x, const Options& o) { return elu_of(x, o.alpha, 1, 1); }
};
OMNIGRAD_OP(Elu)

struct Celu : Parametrised<Celu, EluOptions> {
  static constexpr Schema schema() {
    return op("celu", "x above 0, alpha (exp(x / alpha) - 1) below (Barron 2017).")
        .in("x", Kind::floating, "any shape")
        .opt("alpha", &Options::alpha, "minus the limit at -Infinity, not 0")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.alpha == 0) fail(Code::option, "alpha must not be 0");
    return Parametrised::shape(o, in);
  }
  static Tensor of(const Tensor& x, const Options& o) { return elu_of(x, o.alpha, 1, 1 / o.alpha); }
};
OMNIGRAD_OP(Celu)

struct SlopeOptions {
  double negativeSlope = 0.01;
};
struct LeakyRelu : Parametrised<LeakyRelu, SlopeOptions> {
  static constexpr Schema schema() {
    return op("leakyRelu", "x above 0, negativeSlope x below.")
        .in("x", Kind::floating, "any shape")
        .opt("negativeSlope", &Options::negativeSlope, "the slope below 0")
        .out("y");
  }
  static Tensor of(const Tensor& x, const Options& o) {
    return where(gt(x, number(0, x)), x, x * o.negativeSlope);
  }
};
OMNIGRAD_OP(LeakyRelu)

struct RangeOptions {
  double min = -1, max = 1;
};
struct Hardtanh : Parametrised<Hardtanh, RangeOptions> {
  static constexpr Schema schema() {
    return op("hardtanh", "x held between min and max; 0 gradient at both.")
        .in("x", Kind::floating, "any shape")
        .opt("min", &Options::min, "the least value")
        .opt("max", &Options::max, "the greatest value")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.min <= o.max)) fail(Code::option, "min ", o.min, " must not exceed max ", o.max);
    return Parametrised::shape(o, in);
  }
  static Tensor of(const Tensor& x, const Options& o) { return between(x, o.min, o.max); }
};
OMNIGRAD_OP(Hardtanh)

struct ShrinkOptions {
  double lambda = 0.5;
};
struct Hardshrink : Parametrised<Hardshrink, ShrinkOptions> {
  static constexpr Schema schema() {
    return op("hardshrink", "x where |x| > lambda, else 0.")
        .in("x", Kind::floating, "any shape")
        .opt("lambda", &Options::lambda, "half the width of the gap")
        .out("y");
  }
  static Tensor of(const Tensor& x, const Options& o) {
    return where(le(abs(x), number(o.lambda, x)), number(0, x), x);
  }
};
OMNIGRAD_OP(Hardshrink)

struct Softshrink : Parametrised<Softshrink, ShrinkOptions> {
  static constexpr Schema schema() {
    return op("softshrink", "x drawn towards 0 by lambda, 0 where |x| <= lambda.")
        .in("x", Kind::floating, "any shape")
        .opt("lambda", &Options::lambda, "not negative")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.lambda >= 0)) fail(Code::option, "lambda ", o.lambda, " must not be negative");
    return Parametrised::shape(o, in);
  }
  static Tensor of(const Tensor& x, const Options& o) { return x - between(x, -o.lambda, o.lambda); }
};
OMNIGRAD_OP(Softshrink)

struct ThresholdOptions {
  double threshold = 0, value = 0;
};
struct Threshold : Parametrised<Threshold, ThresholdOptions> {
  static constexpr Schema schema() {
    return op("threshold", "x above the threshold, else a value.")
        .in("x", Kind::floating, "any shape")
        .arg("threshold", &Options::threshold, "the threshold")
        .arg("value", &Options::value, "what stands below and at it")
        .out("y");
  }
  static Tensor of(const Tensor& x, const Options& o) {
    return where(le(x, number(o.threshold, x)), number(o.value, x), x);
  }
};
OMNIGRAD_OP(Threshold)

struct BoundsOptions {
  std::optional<double> min, max;
};
struct Clamp : Parametrised<Clamp, BoundsOptions> {
  static constexpr Schema schema() {
    return op("clamp", "x held between min and max; the gradient passes at both.")
        .in("x", Kind::number, "any shape")
        .arg("min", &Options::min, "the least value; none: no bound")
        .arg("max", &Options::max, "the greatest value; none: no bound")
        .out("y");
  }
  static Tensor of(const Tensor& x, const Options& o) {
    Tensor y = x;
    if (o.min) y = where(lt(y, number(*o.min, x)), number(*o.min, x), y);
    if (o.max) y = where(gt(y, number(*o.max, x)), number(*o.max, x), y);
    return o.min || o.max ? y : alias(y);
  }
};
OMNIGRAD_OP(Clamp)

struct Prelu {
  static constexpr Schema schema() {
    return op("prelu", "x above 0, weight x below.")
        .in("x", Kind::floating, "[N, C, ...], or any shape for one weight")
        .in("weight", Kind::floating, "[C], a slope for each channel, or one for all")
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const int64_t channels = in[0].rank() > 1 ? in[0].size(1) : 1;
    if (in[1].rank() > 1 || (in[1].numel() != 1 && in[1].numel() != channels)) {
      fail("weight must have one number, or one for each of ", channels, " channels; it has shape ",
           in[1].shape());
    }
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    Tensor weight = in[1];
    if (weight.numel() == 1) {
      weight = reshape(weight, {});
    } else {
      Dims shape(in[0].shape().size(), 1);
      shape[1] = weight.numel();
      weight = reshape(weight, shape);
    }
    return {where(gt(in[0], number(0, in[0])), in[0], in[0] * weight)};
  }
};
OMNIGRAD_OP(Prelu)

// Of the halves a and b of x along an axis; `Op` gives kName, kDoc and `of(a, b)`.
template <class Op>
struct Gated {
  struct Options {
    int64_t dim = -1;
  };
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::floating, "an even size along the axis")
        .arg("dim", &Options::dim, "the axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    if (shape[d] % 2) fail("axis ", d, " has size ", shape[d], ": it must be even");
    shape[d] /= 2;
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t half = in[0].size(normalize_dim(o.dim, in[0].rank())) / 2;
    return {Op::of(slice(in[0], o.dim, 0, half), slice(in[0], o.dim, half, 2 * half))};
  }
};

struct Glu : Gated<Glu> {
  static constexpr const char* kName = "glu";
  static constexpr Doc kDoc = "a sigmoid(b), of the halves a and b of x along an axis (Dauphin et al. 2017).";
  static Tensor of(const Tensor& a, const Tensor& b) { return a * sigmoid(b); }
};
OMNIGRAD_OP(Glu)

struct Swiglu : Gated<Swiglu> {
  static constexpr const char* kName = "swiglu";
  static constexpr Doc kDoc = "silu(a) b, of the halves a and b of x along an axis (Shazeer 2020).";
  static Tensor of(const Tensor& a, const Tensor& b) { return a * sigmoid(a) * b; }
};
OMNIGRAD_OP(Swiglu)

}  // namespace
}  // namespace omnigrad
