// Elementwise ops of one input: arithmetic, exponentials, trigonometry, and relu.
//
// Points without a derivative: abs' and relu' are 0 at 0; sqrt' at 0 is infinite, as the limit says.
#include "ops/elementwise_op.h"

namespace omnigrad {
namespace {

struct Neg : UnaryOp<Neg, Kind::number> {
  UNARY_NAME("neg", neg, "-x.");
  static Tensor derivative(const Tensor& g, const Saved&) { return -g; }
};
OMNIGRAD_OP(Neg)

Tensor sign_of(const Tensor& x) {
  const Tensor zero = Tensor::scalar(0, x.dtype());
  return cast(gt(x, zero), x.dtype()) - cast(lt(x, zero), x.dtype());
}

struct Abs : UnaryOp<Abs, Kind::number> {
  UNARY_NAME("abs", abs, "|x|; the derivative at 0 is 0.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g * sign_of(s.in(0)); }
};
OMNIGRAD_OP(Abs)

struct Exp : UnaryOp<Exp> {
  UNARY_NAME("exp", exp, "e to the x.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g * s.out(0); }
};
OMNIGRAD_OP(Exp)

struct Log : UnaryOp<Log> {
  UNARY_NAME("log", log, "Natural logarithm; NaN below 0, -Infinity at 0.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g / s.in(0); }
};
OMNIGRAD_OP(Log)

struct Sqrt : UnaryOp<Sqrt> {
  UNARY_NAME("sqrt", sqrt, "Square root; NaN below 0.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g / (s.out(0) * 2); }
};
OMNIGRAD_OP(Sqrt)

struct Square : UnaryOp<Square, Kind::number> {
  UNARY_NAME("square", square, "x * x.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g * (s.in(0) * 2); }
};
OMNIGRAD_OP(Square)

struct Reciprocal : UnaryOp<Reciprocal> {
  UNARY_NAME("reciprocal", reciprocal, "1 / x.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return -(g * square(s.out(0))); }
};
OMNIGRAD_OP(Reciprocal)

struct Sigmoid : UnaryOp<Sigmoid> {
  UNARY_NAME("sigmoid", sigmoid, "1 / (1 + exp(-x)).");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) {
    const Tensor y = s.out(0);
    return g * (y - square(y));
  }
};
OMNIGRAD_OP(Sigmoid)

struct Tanh : UnaryOp<Tanh> {
  UNARY_NAME("tanh", tanh, "Hyperbolic tangent.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g * (1 - square(s.out(0))); }
};
OMNIGRAD_OP(Tanh)

struct Sin : UnaryOp<Sin> {
  UNARY_NAME("sin", sin, "Sine of x in radians.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return g * cos(s.in(0)); }
};
OMNIGRAD_OP(Sin)

struct Cos : UnaryOp<Cos> {
  UNARY_NAME("cos", cos, "Cosine of x in radians.");
  static constexpr bool kSavesInput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return -(g * sin(s.in(0))); }
};
OMNIGRAD_OP(Cos)

// y > 0 ? g : 0, linear in g: relu's vjp and its own.
struct ReluGrad : BinaryOp<ReluGrad, Kind::floating> {
  BINARY_NAME("reluGrad", relu_grad, "g where y > 0, else 0.");
  static constexpr Schema schema() {
    return op(kName, kDoc)
        .in("g", Kind::floating)
        .in("y", Kind::floating)
        .nondiff()
        .saved()
        .out("z")
        .internal();
  }
  static Grads derivative(const Tensor& g, const Saved& s, Need) {
    return {apply1<ReluGrad>({g, s.in(1)}), {}};
  }
};
OMNIGRAD_OP(ReluGrad)

struct Relu : UnaryOp<Relu, Kind::number> {
  UNARY_NAME("relu", relu, "max(x, 0); the derivative at 0 is 0.");
  static constexpr bool kSavesOutput = true;
  static Tensor derivative(const Tensor& g, const Saved& s) { return apply1<ReluGrad>({g, s.out(0)}); }
};
OMNIGRAD_OP(Relu)

}  // namespace

Tensor neg(const Tensor& x) { return apply1<Neg>({x}); }
Tensor abs(const Tensor& x) { return apply1<Abs>({x}); }
Tensor exp(const Tensor& x) { return apply1<Exp>({x}); }
Tensor log(const Tensor& x) { return apply1<Log>({x}); }
Tensor sqrt(const Tensor& x) { return apply1<Sqrt>({x}); }
Tensor square(const Tensor& x) { return apply1<Square>({x}); }
Tensor reciprocal(const Tensor& x) { return apply1<Reciprocal>({x}); }
Tensor relu(const Tensor& x) { return apply1<Relu>({x}); }
Tensor sigmoid(const Tensor& x) { return apply1<Sigmoid>({x}); }
Tensor tanh(const Tensor& x) { return apply1<Tanh>({x}); }
Tensor sin(const Tensor& x) { return apply1<Sin>({x}); }
Tensor cos(const Tensor& x) { return apply1<Cos>({x}); }

}  // namespace omnigrad
