// softmax, log-softmax and softmin along one axis.
#include "kernels/softmax.h"

#include "omnigrad/ops.h"
#include "ops/axis.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

struct SoftmaxOptions {
  int64_t dim = -1;
};

template <class Op>
struct SoftmaxOp {
  using Options = SoftmaxOptions;
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::floating, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .out("y")
        .saved();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const AxisView v(x.shape(), o.dim);
    visit_floating(x.dtype(), [&]<class T>() {
      Op::template run<T>(x.data<T>(), out[0].data<T>(), v.outer, v.n, v.inner);
    });
  }
};

// The gradient from the result. `Op` gives kGradName, `backward` and `composite(y, g, dim)`.
template <class Op>
struct SoftmaxGradOp {
  using Options = SoftmaxOptions;
  static constexpr Schema schema() {
    return op(Op::kGradName, "The gradient of softmax or logSoftmax, fused.")
        .in("y", Kind::floating, "the result")
        .saved()
        .in("g", Kind::floating, "its cotangent")
        .saved()
        .opt("dim", &Options::dim)
        .out("gx")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    if (!(in[1].shape() == in[0].shape())) fail("g ", in[1].shape(), " must have y's shape ", in[0].shape());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor y = in[0].contiguous(), g = in[1].contiguous();
    const AxisView v(y.shape(), o.dim);
    visit_floating(y.dtype(), [&]<class T>() {
      Op::template backward<T>(y.data<T>(), g.data<T>(), out[0].data<T>(), v.outer, v.n, v.inner);
    });
  }
  // Of y and g as they are: y's own dependence on x is its op's affair.
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need) {
    return Op::grad_vjp(s.in(0), s.in(1), v[0], o.dim);
  }
};

struct Softmax : SoftmaxOp<Softmax> {
  static constexpr const char* kName = "softmax";
  static constexpr const char* kGradName = "softmaxGrad";
  static constexpr Doc kDoc = "exp(x) / sum(exp(x)) along an axis; NaN for a row of -Infinity.";
  template <class T>
  static void run(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    kernels::softmax(x, y, outer, n, inner);
  }
  template <class T>
  static void backward(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) {
    kernels::softmax_grad(y, g, gx, outer, n, inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {apply1<SoftmaxGradOp<Softmax>>({s.out(0), g[0]}, o)};
  }
  // gx = y (g - sum(g y)).
  static Grads grad_vjp(const Tensor& y, const Tensor& g, const Tensor& v, int64_t dim) {
    const Tensor vy = sum(v * y, {dim}, true);
    return {v * (g - sum(g * y, {dim}, true)) - g * vy, y * (v - vy)};
  }
};
using SoftmaxGrad = SoftmaxGradOp<Softmax>;
OMNIGRAD_OP(Softmax)
OMNIGRAD_OP(SoftmaxGrad)

struct LogSoftmax : SoftmaxOp<LogSoftmax> {
  static constexpr const char* kName = "logSoftmax";
  static constexpr const char* kGradName = "logSoftmaxGrad";
  static constexpr Doc kDoc = "x - log(sum(exp(x))) along an axis; NaN for a row of -Infinity.";
  template <class T>
  static void run(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    kernels::log_softmax(x, y, outer, n, inner);
  }
  template <class T>
  static void backward(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) {
    kernels::log_softmax_grad(y, g, gx, outer, n, inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {apply1<SoftmaxGradOp<LogSoftmax>>({s.out(0), g[0]}, o)};
  }
  // gx = g - exp(y) sum(g).
  static Grads grad_vjp(const Tensor& y, const Tensor& g, const Tensor& v, int64_t dim) {
    const Tensor p = exp(y);
    return {-(v * p * sum(g, {dim}, true)), v - sum(v * p, {dim}, true)};
  }
};
using LogSoftmaxGrad = SoftmaxGradOp<LogSoftmax>;
OMNIGRAD_OP(LogSoftmax)
OMNIGRAD_OP(LogSoftmaxGrad)

struct Softmin {
  using Options = SoftmaxOptions;
  static constexpr Schema schema() {
    return op("softmin", "softmax(-x) along an axis.")
        .in("x", Kind::floating, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return Softmax::shape(o, in); }
  static TensorList compose(const Options& o, Inputs in) { return {softmax(-in[0], o.dim)}; }
};
OMNIGRAD_OP(Softmin)

}  // namespace

Tensor softmax(const Tensor& x, int64_t dim) { return apply1<Softmax>({x}, {dim}); }
Tensor log_softmax(const Tensor& x, int64_t dim) { return apply1<LogSoftmax>({x}, {dim}); }

}  // namespace omnigrad
