// silu, mish and gelu, fused, with a fused gradient whose vjp re-runs the composite.
#include "smooth_activation.h"

#include "omnigrad/autograd.h"

namespace omnigrad {
namespace {

using kernels::Activation;

Tensor composite(Activation kind, const Tensor& x) {
  constexpr double kSqrtHalf = 0.7071067811865476, kSqrtTwoOverPi = 0.7978845608028654;
  switch (kind) {
    case Activation::silu:
      return x * sigmoid(x);
    case Activation::mish:
      return x * tanh(call("softplus", {x}));
    case Activation::gelu:
      return x * 0.5 * (call("erf", {x * kSqrtHalf}) + 1);
    case Activation::gelu_tanh:
      break;
  }
  return x * 0.5 * (tanh((x + x * square(x) * 0.044715) * kSqrtTwoOverPi) + 1);
}

struct ActivationGrad {
  struct Options {
    Activation kind = Activation::silu;
  };
  static constexpr Schema schema() {
    return op("activationGrad", "g times the derivative at x, fused.")
        .in("x", Kind::floating, "any shape")
        .saved()
        .in("g", Kind::floating, "x's shape")
        .saved()
        .opt("kind", &Options::kind, "", {"silu", "gelu", "geluTanh", "mish"})
        .out("gx")
        .internal();
  }
  static OutSpecs shape(const Options&, Inputs in) {
    if (!(in[1].shape() == in[0].shape())) fail("g ", in[1].shape(), " must have x's shape ", in[0].shape());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), g = in[1].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::activate_grad(o.kind, x.numel(), x.data<T>(), g.data<T>(), out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    return double_backward([&](const TensorList& in) { return TensorList{composite(o.kind, in[0])}; },
                           {s.in(0)}, {s.in(1)}, {v[0]}, need);
  }
};
OMNIGRAD_OP(ActivationGrad)

// `Op` gives `kind(options)`.
template <class Op, class O>
struct SmoothActivation {
  using Options = O;
  static OutSpecs shape(const O&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static void forward(const O& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::activate(Op::kind(o), x.numel(), x.data<T>(), out[0].data<T>());
    });
  }
  static Grads vjp(const O& o, const Saved& s, Cotangents g, Need) {
    return {activation_grad(Op::kind(o), s.in(0), g[0])};
  }
};

#define ACTIVATION(CLASS, NAME, KIND, DOC)                                        \
  struct CLASS : SmoothActivation<CLASS, NoOptions> {                             \
    static constexpr Schema schema() {                                            \
      return op(NAME, DOC).in("x", Kind::floating, "any shape").saved().out("y"); \
    }                                                                             \
    static Activation kind(const NoOptions&) { return Activation::KIND; }         \
  };                                                                              \
  OMNIGRAD_OP(CLASS)

ACTIVATION(Silu, "silu", silu, "x sigmoid(x).")
ACTIVATION(Mish, "mish", mish, "x tanh(softplus(x)) (Misra 2019).")
ACTIVATION(GeluTanh, "geluTanh", gelu_tanh, "gelu, approximated by tanh (Hendrycks, Gimpel 2016).")

struct GeluOptions {
  enum class Approximate { none, tanh };
  Approximate approximate = Approximate::none;
};
struct Gelu : SmoothActivation<Gelu, GeluOptions> {
  static constexpr Schema schema() {
    return op("gelu", "x times the normal distribution function of x.")
        .in("x", Kind::floating, "any shape")
        .saved()
        .opt("approximate", &Options::approximate, "none: exact, by erf", {"none", "tanh"})
        .out("y");
  }
  static Activation kind(const Options& o) {
    return o.approximate == Options::Approximate::tanh ? Activation::gelu_tanh : Activation::gelu;
  }
};
OMNIGRAD_OP(Gelu)

}  // namespace

Tensor activation_grad(Activation kind, const Tensor& x, const Tensor& g) {
  return apply1<ActivationGrad>({x, g}, {kind});
}

}  // namespace omnigrad
