// linear and an activation in one op: the activation runs over the product while it is in cache, and its
// gradient goes straight into those of the product.
#include <algorithm>

#include "kernels/gemm.h"
#include "smooth_activation.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

enum class After { relu, silu, gelu, gelu_tanh, mish };
struct AfterOptions {
  After activation = After::relu;
};
constexpr Choices kAfter{"relu", "silu", "gelu", "geluTanh", "mish"};

kernels::Activation smooth(After a) {
  return static_cast<kernels::Activation>(static_cast<int>(a) - static_cast<int>(After::silu));
}
static_assert(static_cast<int>(kernels::Activation::mish) + 1 == static_cast<int>(After::mish));

constexpr Schema inputs(Schema s) {
  return s.in("x", Kind::floating, "[..., in]")
      .saved()
      .in("weight", Kind::floating, "[out, in]")
      .saved()
      .in("bias", Kind::floating, "[out]")
      .optional();
}
// All leading axes as one.
Tensor rows_of(const Tensor& t) {
  int64_t rows = 1;
  for (int64_t a = 0; a + 1 < t.rank(); ++a) rows *= t.size(a);
  return reshape(t, {rows, t.size(-1)});
}

// y, and z before the activation where the gradient needs it: all but relu.
struct LinearThen {
  using Options = AfterOptions;
  static constexpr Schema schema() {
    return inputs(op("linearThen", "The activation of x times the transpose of weight, plus bias."))
        .opt("activation", &Options::activation, "", kAfter)
        .out("y")
        .saved()
        .out("z")
        .saved()
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims &x = in[0].shape(), &w = in[1].shape();
    if (x.empty()) fail("the input needs rank 1 or more");
    if (w.size() != 2) fail("weight ", w, " must be [out, in]");
    if (x.back() != w[1]) fail("input has ", x.back(), " features but weight ", w, " needs ", w[1]);
    if (in[2] && !(in[2].shape() == Dims{w[0]})) fail("bias ", in[2].shape(), " must be [", w[0], "]");
    Dims out = x;
    out.back() = w[0];
    return {{out, in[0].dtype()}, {o.activation == After::relu ? Dims{0} : out, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const bool relu = o.activation == After::relu;
    const Tensor x = in[0].contiguous(), bias = in[2] ? in[2].contiguous() : in[2];
    const Tensor& w = in[1];
    const int64_t k = w.size(1), n = w.size(0), m = n > 0 ? out[0].numel() / n : 0;
    visit_floating(x.dtype(), [&]<class T>() {
      T *y = out[0].data<T>(), *z = relu ? y : out[1].data<T>();
      for (int64_t i = 0; bias && i < m; ++i) std::copy_n(bias.data<T>(), n, z + i * n);
      Workspace ws(kernels::gemm_workspace<T>(m, n, k));
      kernels::gemm<T>(m, n, k, {x.data<T>(), k, 1}, {w.data<T>(), w.strides()[1], w.strides()[0]}, z,
                       bias.defined(), ws.as());
      if (!relu) return kernels::activate(smooth(o.activation), m * n, z, y);
      for (int64_t i = 0; i < m * n; ++i) y[i] = y[i] <= T(0) ? T(0) : y[i];  // NaN stays
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    Tensor gz;
    if (g[0]) {
      gz = o.activation == After::relu ? call("reluGrad", {g[0], s.out(0)})
                                       : activation_grad(smooth(o.activation), s.out(1), g[0]);
    }
    if (g[1] && o.activation != After::relu) gz = gz ? gz + g[1] : g[1];
    Grads grads(3);
    if (!gz) return grads;
    if (need[0]) grads[0] = matmul(gz, s.in(1));
    if (need[1]) grads[1] = matmul(transpose(rows_of(gz), 0, 1), rows_of(s.in(0)));
    if (need[2]) grads[2] = sum_to(gz, s.shape(2));
    return grads;
  }
};
OMNIGRAD_OP(LinearThen)

struct LinearActivation {
  using Options = AfterOptions;
  static constexpr Schema schema() {
    return inputs(op("linearActivation", "linear and an activation, in one op."))
        .opt("activation", &Options::activation, "of the product plus bias", kAfter)
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return {LinearThen::shape(o, in)[0]}; }
  static TensorList compose(const Options& o, Inputs in) { return {apply<LinearThen>(in, o)[0]}; }
};
OMNIGRAD_OP(LinearActivation)

}  // namespace
}  // namespace omnigrad
