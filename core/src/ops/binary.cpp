// Elementwise ops of two inputs, comparisons, where.
//
// Points without a derivative: equal operands of maximum and minimum share the gradient; pow's derivative by
// its exponent is 0 where the base is 0 and the exponent is not negative.
#include "omnigrad/autograd.h"
#include "ops/elementwise_op.h"

namespace omnigrad {

OutSpecs broadcast_spec(Inputs in, DType dtype) {
  return {{broadcast_shapes(in[0].shape(), in[1].shape()), dtype}};
}

namespace {

struct Add : BinaryOp<Add> {
  BINARY_NAME("add", add, "x + y.");
  static constexpr bool kSavesInputs = false;
  static Grads derivative(const Tensor& g, const Saved&, Need) { return {g, g}; }
};
OMNIGRAD_OP(Add)

struct Sub : BinaryOp<Sub> {
  BINARY_NAME("sub", sub, "x - y.");
  static constexpr bool kSavesInputs = false;
  static Grads derivative(const Tensor& g, const Saved&, Need need) { return {g, need[1] ? -g : Tensor()}; }
};
OMNIGRAD_OP(Sub)

struct Mul : BinaryOp<Mul> {
  BINARY_NAME("mul", mul, "x * y.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    return {need[0] ? g * s.in(1) : Tensor(), need[1] ? g * s.in(0) : Tensor()};
  }
};
OMNIGRAD_OP(Mul)

struct Div : BinaryOp<Div, Kind::floating> {
  BINARY_NAME("div", div, "x / y, of floating tensors: integers are cast first, or divided by floorDivide.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    const Tensor y = s.in(1), q = g / y;
    return {q, need[1] ? -(q * (s.in(0) / y)) : Tensor()};
  }
};
OMNIGRAD_OP(Div)

struct FloorDivide : BinaryOp<FloorDivide> {
  BINARY_NAME("floorDivide", floor_divide, "floor(x / y); of integers by 0 it is 0. The derivative is 0.");
  static constexpr bool kSavesInputs = false;
  static Grads derivative(const Tensor& g, const Saved&, Need) { return {zeros_like(g), zeros_like(g)}; }
};
OMNIGRAD_OP(FloorDivide)

// Where x wins 1, where it ties 1/2, else 0.
Tensor share(const Tensor& wins, const Tensor& ties, DType dtype) {
  return cast(wins, dtype) + cast(ties, dtype) * 0.5;
}

struct Maximum : BinaryOp<Maximum> {
  BINARY_NAME("maximum", maximum, "The greater of x and y; NaN if either is. Equal ones share the gradient.");
  static Grads derivative(const Tensor& g, const Saved& s, Need) {
    const Tensor x = s.in(0), y = s.in(1), mine = share(gt(x, y), eq(x, y), g.dtype());
    return {g * mine, g * (1 - mine)};
  }
};
OMNIGRAD_OP(Maximum)

struct Minimum : BinaryOp<Minimum> {
  BINARY_NAME("minimum", minimum, "The lesser of x and y; NaN if either is. Equal ones share the gradient.");
  static Grads derivative(const Tensor& g, const Saved& s, Need) {
    const Tensor x = s.in(0), y = s.in(1), mine = share(lt(x, y), eq(x, y), g.dtype());
    return {g * mine, g * (1 - mine)};
  }
};
OMNIGRAD_OP(Minimum)

struct Pow : BinaryOp<Pow, Kind::floating> {
  BINARY_NAME("pow", pow, "x to the y. The derivative by y is 0 where x is 0 and y >= 0.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    const Tensor x = s.in(0), y = s.in(1), zero = Tensor::scalar(0, g.dtype());
    Grads grads(2);
    // y * x^(y-1), 0 for y = 0 whatever x is.
    if (need[0]) grads[0] = g * where(eq(y, zero), zero, y * pow(x, y - 1));
    if (need[1]) {
      const Tensor at_zero = eq(x, zero);
      const Tensor safe = where(at_zero, Tensor::scalar(1, g.dtype()), x);
      grads[1] = g * (pow(x, y) * log(safe));
    }
    return grads;
  }
};
OMNIGRAD_OP(Pow)

struct Atan2 : BinaryOp<Atan2, Kind::floating> {
  BINARY_NAME(
      "atan2", atan2,
      "The angle of the point (y, x) of the arguments x, y: atan(x / y) in its quadrant, in radians.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    const Tensor x = s.in(0), y = s.in(1), q = g / (square(x) + square(y));
    return {q * y, need[1] ? -(q * x) : Tensor()};
  }
};
OMNIGRAD_OP(Atan2)

struct Hypot : BinaryOp<Hypot, Kind::floating> {
  BINARY_NAME("hypot", hypot, "sqrt(x^2 + y^2), without overflow; the derivative at the origin is 0.");
  static Grads derivative(const Tensor& g, const Saved& s, Need) {
    const Tensor x = s.in(0), y = s.in(1), r = apply1<Hypot>({x, y}), zero = Tensor::scalar(0, g.dtype());
    const Tensor q = g / where(eq(r, zero), Tensor::scalar(1, g.dtype()), r);
    return {q * x, q * y};
  }
};
OMNIGRAD_OP(Hypot)

// x - floor(x / y) y and x - trunc(x / y) y: the quotient is piecewise constant.
Grads remainder_grads(const Tensor& g, const Saved& s, Need need, const char* round) {
  if (!need[1]) return {g, {}};
  return {g, -(g * call(round, {s.in(0) / s.in(1)}))};
}

struct Remainder : BinaryOp<Remainder> {
  BINARY_NAME("remainder", remainder,
              "x - floor(x / y) y: the remainder with y's sign. Of integers by 0 it is 0.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    return remainder_grads(g, s, need, "floor");
  }
};
OMNIGRAD_OP(Remainder)

struct Fmod : BinaryOp<Fmod> {
  BINARY_NAME("fmod", fmod, "x - trunc(x / y) y: the remainder with x's sign. Of integers by 0 it is 0.");
  static Grads derivative(const Tensor& g, const Saved& s, Need need) {
    return remainder_grads(g, s, need, "trunc");
  }
};
OMNIGRAD_OP(Fmod)

struct Lerp {
  static constexpr Schema schema() {
    return op("lerp", "x + weight (y - x).")
        .in("x", Kind::floating, "any shape")
        .in("y", Kind::floating, "broadcasts with x")
        .in("weight", Kind::floating, "broadcasts with both")
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    return {{broadcast_shapes(broadcast_shapes(in[0].shape(), in[1].shape()), in[2].shape()), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) { return {in[0] + in[2] * (in[1] - in[0])}; }
};
OMNIGRAD_OP(Lerp)

template <class Op>
struct CompareOp {
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::any, "any shape")
        .nondiff()
        .in("y", Kind::any, "broadcasts with x")
        .nondiff()
        .out("z")
        .nondiff()
        .no_gradient("piecewise constant");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return broadcast_spec(in, DType::boolean); }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Dims& shape = out[0].shape();
    const Dims a = broadcast_strides(in[0], shape), b = broadcast_strides(in[1], shape);
    kernels::compare(Op::kKernel, in[0].dtype(), {in[0].raw(), a.data()}, {in[1].raw(), b.data()},
                     out[0].raw(), shape.data(), static_cast<int>(shape.size()));
  }
};

#define COMPARE_OP(CLASS, NAME, DOC)                  \
  struct CLASS : CompareOp<CLASS> {                   \
    static constexpr const char* kName = #NAME;       \
    static constexpr Doc kDoc = DOC;                  \
    static constexpr Compare kKernel = Compare::NAME; \
  };                                                  \
  OMNIGRAD_OP(CLASS)

COMPARE_OP(Eq, eq, "x == y, as a bool.")
COMPARE_OP(Ne, ne, "x != y, as a bool.")
COMPARE_OP(Lt, lt, "x < y, as a bool.")
COMPARE_OP(Le, le, "x <= y, as a bool.")
COMPARE_OP(Gt, gt, "x > y, as a bool.")
COMPARE_OP(Ge, ge, "x >= y, as a bool.")

struct Where {
  static constexpr Schema schema() {
    return op("where", "x where the condition holds, else y.")
        .in("condition", Kind::boolean, "broadcasts with x and y")
        .saved()
        .in("x", Kind::any)
        .in("y", Kind::any)
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    return {{broadcast_shapes(in[0].shape(), broadcast_shapes(in[1].shape(), in[2].shape())), in[1].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Dims& shape = out[0].shape();
    const Dims c = broadcast_strides(in[0], shape), a = broadcast_strides(in[1], shape),
               b = broadcast_strides(in[2], shape);
    kernels::where({in[0].raw(), c.data()}, static_cast<int>(size_of(in[1].dtype())), {in[1].raw(), a.data()},
                   {in[2].raw(), b.data()}, out[0].raw(), shape.data(), static_cast<int>(shape.size()));
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    const Tensor zero = Tensor::scalar(0, g[0].dtype());
    return {
        {}, need[1] ? where(s.in(0), g[0], zero) : Tensor(), need[2] ? where(s.in(0), zero, g[0]) : Tensor()};
  }
};
OMNIGRAD_OP(Where)

}  // namespace

void accumulate(Tensor& sum, const Tensor& x) {
  if (!sum.uniquely_held() || !sum.is_contiguous() || !(sum.shape() == x.shape())) {
    GradMode off(false);
    sum = add(sum, x);
    return;
  }
  kernels::binary(Binary::add, sum.dtype(), operand(sum), operand(x), sum.raw(), sum.shape().data(),
                  static_cast<int>(sum.rank()));
  sum.bump_version();
}

Tensor add(const Tensor& a, const Tensor& b) { return apply1<Add>({a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply1<Sub>({a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply1<Mul>({a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return apply1<Div>({a, b}); }
Tensor maximum(const Tensor& a, const Tensor& b) { return apply1<Maximum>({a, b}); }
Tensor minimum(const Tensor& a, const Tensor& b) { return apply1<Minimum>({a, b}); }
Tensor pow(const Tensor& a, const Tensor& b) { return apply1<Pow>({a, b}); }
Tensor eq(const Tensor& a, const Tensor& b) { return apply1<Eq>({a, b}); }
Tensor ne(const Tensor& a, const Tensor& b) { return apply1<Ne>({a, b}); }
Tensor lt(const Tensor& a, const Tensor& b) { return apply1<Lt>({a, b}); }
Tensor le(const Tensor& a, const Tensor& b) { return apply1<Le>({a, b}); }
Tensor gt(const Tensor& a, const Tensor& b) { return apply1<Gt>({a, b}); }
Tensor ge(const Tensor& a, const Tensor& b) { return apply1<Ge>({a, b}); }
Tensor where(const Tensor& c, const Tensor& a, const Tensor& b) { return apply1<Where>({c, a, b}); }

}  // namespace omnigrad
