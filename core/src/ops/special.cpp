// Elementwise special functions: the trigonometric and hyperbolic family, error functions, gamma functions,
// and the piecewise constant ones. Formulas: Abramowitz and Stegun, "Handbook of Mathematical Functions",
// chapters 4, 6, 7.
#include "omnigrad/autograd.h"
#include "ops/elementwise_op.h"

namespace omnigrad {
namespace {

constexpr double kSqrtPi = 1.7724538509055159;
constexpr double kLn2 = 0.6931471805599453, kLn10 = 2.302585092994046;

// A floating function whose derivative is written in its input.
#define SMOOTH_OP(CLASS, NAME, KERNEL, DOC, DERIVATIVE)         \
  struct CLASS : UnaryOp<CLASS> {                               \
    UNARY_NAME(NAME, KERNEL, DOC);                              \
    static constexpr bool kSavesInput = true;                   \
    static Tensor derivative(const Tensor& g, const Saved& s) { \
      const Tensor x = s.in(0);                                 \
      return DERIVATIVE;                                        \
    }                                                           \
  };                                                            \
  OMNIGRAD_OP(CLASS)

Tensor rsqrt(const Tensor& x) { return reciprocal(sqrt(x)); }

SMOOTH_OP(Tan, "tan", tan, "Tangent of x in radians.", (g * (square(call("tan", {x})) + 1)))
SMOOTH_OP(Asin, "asin", asin, "Arc sine in radians; NaN outside [-1, 1].", (g * rsqrt(1 - square(x))))
SMOOTH_OP(Acos, "acos", acos, "Arc cosine in radians; NaN outside [-1, 1].", (-(g * rsqrt(1 - square(x)))))
SMOOTH_OP(Atan, "atan", atan, "Arc tangent in radians.", (g / (square(x) + 1)))
SMOOTH_OP(Sinh, "sinh", sinh, "Hyperbolic sine.", (g * call("cosh", {x})))
SMOOTH_OP(Cosh, "cosh", cosh, "Hyperbolic cosine.", (g * call("sinh", {x})))
SMOOTH_OP(Asinh, "asinh", asinh, "Inverse hyperbolic sine.", (g * rsqrt(square(x) + 1)))
SMOOTH_OP(Acosh, "acosh", acosh, "Inverse hyperbolic cosine; NaN below 1.", (g * rsqrt(square(x) - 1)))
SMOOTH_OP(Atanh, "atanh", atanh, "Inverse hyperbolic tangent; NaN outside [-1, 1].", (g / (1 - square(x))))
SMOOTH_OP(Expm1, "expm1", expm1, "exp(x) - 1, exact near 0.", (g * exp(x)))
SMOOTH_OP(Log1p, "log1p", log1p, "log(1 + x), exact near 0; NaN below -1.", (g / (x + 1)))
SMOOTH_OP(Log2, "log2", log2, "Logarithm to base 2.", (g / (x * kLn2)))
SMOOTH_OP(Log10, "log10", log10, "Logarithm to base 10.", (g / (x * kLn10)))
SMOOTH_OP(Erf, "erf", erf, "Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
          (g * (exp(-square(x)) * (2 / kSqrtPi))))
SMOOTH_OP(Erfc, "erfc", erfc, "1 - erf(x), exact where erf(x) is near 1.",
          (-(g * (exp(-square(x)) * (2 / kSqrtPi)))))
SMOOTH_OP(Lgamma, "lgamma", lgamma, "log |gamma(x)|.", (g * call("digamma", {x})))

struct Erfinv : UnaryOp<Erfinv> {
  UNARY_NAME("erfinv", erfinv, "The inverse of erf; infinite at -1 and 1, NaN beyond.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) {
    return g * (exp(square(s.out(0))) * (kSqrtPi / 2));
  }
};
OMNIGRAD_OP(Erfinv)

struct Softplus {
  struct Options {
    double beta = 1;
  };
  static constexpr Schema schema() {
    return op("softplus", "log(1 + exp(beta x)) / beta, without overflow.")
        .in("x", Kind::floating, "any shape")
        .saved()
        .opt("beta", &Options::beta, "the sharpness, greater than 0")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.beta > 0)) fail(Code::option, "beta ", o.beta, " must be greater than 0");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    GradMode off(false);
    const Tensor scaled = o.beta == 1 ? in[0] : in[0] * o.beta;
    kernels::unary(Unary::softplus, scaled.dtype(), operand(scaled), out[0].raw(), scaled.shape().data(),
                   static_cast<int>(scaled.rank()));
    if (o.beta != 1) out[0].assign(out[0] / o.beta);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {g[0] * sigmoid(o.beta == 1 ? s.in(0) : s.in(0) * o.beta)};
  }
};
OMNIGRAD_OP(Softplus)

// sinc' = (cos(pi x) - sinc(x)) / x, whose series at 0 is -pi^2 x / 3.
struct Sinc : UnaryOp<Sinc> {
  UNARY_NAME("sinc", sinc, "sin(pi x) / (pi x), 1 at 0.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) {
    constexpr double pi = 3.141592653589793;
    const Tensor x = s.in(0), at_zero = eq(x, Tensor::scalar(0, x.dtype()));
    const Tensor safe = where(at_zero, Tensor::scalar(1, x.dtype()), x);
    return g * where(at_zero, x * (-pi * pi / 3), (cos(x * pi) - call("sinc", {safe})) / safe);
  }
};
OMNIGRAD_OP(Sinc)

// Polygamma(n) is the derivative of polygamma(n - 1); digamma is polygamma(0).
struct Polygamma {
  struct Options {
    int64_t n = 0;
  };
  static constexpr Schema schema() {
    return op("polygamma", "The n-th derivative of digamma; NaN at 0, -1, -2, ...")
        .arg("n", &Options::n, "order, from 0 to 20")
        .in("x", Kind::floating, "any shape")
        .saved()
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.n < 0 || o.n > 20) fail(Code::option, "n ", o.n, " must be from 0 to 20");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor n = Tensor::scalar(static_cast<double>(o.n), in[0].dtype());
    const Dims stride_0(in[0].shape().size());
    kernels::binary(Binary::polygamma, in[0].dtype(), {n.raw(), stride_0.data()}, operand(in[0]),
                    out[0].raw(), in[0].shape().data(), static_cast<int>(in[0].rank()));
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {g[0] * apply1<Polygamma>({s.in(0)}, {o.n + 1})};
  }
};
OMNIGRAD_OP(Polygamma)

struct Digamma {
  static constexpr Schema schema() {
    return op("digamma", "The derivative of lgamma; NaN at 0, -1, -2, ...")
        .in("x", Kind::floating, "any shape")
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static TensorList compose(const NoOptions&, Inputs in) { return {apply1<Polygamma>({in[0]}, {0})}; }
};
OMNIGRAD_OP(Digamma)

struct Rsqrt {
  static constexpr Schema schema() {
    return op("rsqrt", "1 / sqrt(x).").in("x", Kind::floating, "any shape").out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static TensorList compose(const NoOptions&, Inputs in) { return {rsqrt(in[0])}; }
};
OMNIGRAD_OP(Rsqrt)

// The derivative is 0 wherever there is one.
#define STEP_OP(CLASS, NAME, KIND, DOC)                                               \
  struct CLASS : UnaryOp<CLASS, KIND> {                                               \
    UNARY_NAME(#NAME, NAME, DOC);                                                     \
    static Tensor derivative(const Tensor& g, const Saved&) { return zeros_like(g); } \
  };                                                                                  \
  OMNIGRAD_OP(CLASS)

STEP_OP(Floor, floor, Kind::floating, "The greatest whole number not above x. The derivative is 0.")
STEP_OP(Ceil, ceil, Kind::floating, "The least whole number not below x. The derivative is 0.")
STEP_OP(Round, round, Kind::floating, "The nearest whole number, the even one of two. The derivative is 0.")
STEP_OP(Trunc, trunc, Kind::floating, "x without its fraction. The derivative is 0.")
STEP_OP(Sign, sign, Kind::number, "-1, 0 or 1; NaN of NaN. The derivative is 0.")

struct Frac {
  static constexpr Schema schema() {
    return op("frac", "x - trunc(x).").in("x", Kind::floating, "any shape").out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static TensorList compose(const NoOptions&, Inputs in) { return {in[0] - call("trunc", {in[0]})}; }
};
OMNIGRAD_OP(Frac)

}  // namespace
}  // namespace omnigrad
