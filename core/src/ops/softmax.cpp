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
  static Schema schema() {
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

struct Softmax : SoftmaxOp<Softmax> {
  static constexpr const char* kName = "softmax";
  static constexpr const char* kDoc = "exp(x) / sum(exp(x)) along an axis; NaN for a row of -Infinity.";
  template <class T>
  static void run(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    kernels::softmax(x, y, outer, n, inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const Tensor y = s.out(0), t = g[0] * y;
    return {t - y * sum(t, {o.dim}, true)};
  }
};
OMNIGRAD_OP(Softmax)

struct LogSoftmax : SoftmaxOp<LogSoftmax> {
  static constexpr const char* kName = "logSoftmax";
  static constexpr const char* kDoc = "x - log(sum(exp(x))) along an axis; NaN for a row of -Infinity.";
  template <class T>
  static void run(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
    kernels::log_softmax(x, y, outer, n, inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {g[0] - exp(s.out(0)) * sum(g[0], {o.dim}, true)};
  }
};
OMNIGRAD_OP(LogSoftmax)

struct Softmin {
  using Options = SoftmaxOptions;
  static Schema schema() {
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
