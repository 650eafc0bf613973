// Fused optimizer steps over lists of parameters: one call updates all of them and their state in place.
#include <cmath>

#include "kernels/optim.h"
#include "omnigrad/op.h"
#include "optim/lists.h"

namespace omnigrad {
namespace {

// Momentum SGD as Sutskever et al. (2013), in PyTorch's form: v = momentum v + (1 - dampening) g; p -= lr v.
struct Sgd {
  struct Options {
    double lr = 1e-3, momentum = 0, dampening = 0, weightDecay = 0;
    bool nesterov = false, maximize = false;
    int64_t step = 1;
  };
  static constexpr Schema schema() {
    return op("sgdStep", "One step of SGD for all parameters, in place.")
        .in("params", Kind::floating, "any shapes")
        .variadic()
        .mutated()
        .in("grads", Kind::floating, "their gradients")
        .variadic()
        .nondiff()
        .in("velocities", Kind::floating, "momentum buffers")
        .variadic()
        .optional()
        .mutated()
        .opt("lr", &Options::lr, "learning rate")
        .opt("momentum", &Options::momentum, "share of the last step")
        .opt("dampening", &Options::dampening, "of the gradient's part in the momentum")
        .opt("weightDecay", &Options::weightDecay, "L2 penalty")
        .opt("nesterov", &Options::nesterov, "look ahead")
        .opt("maximize", &Options::maximize, "go up instead of down")
        .opt("step", &Options::step, "from 1: the first starts the momentum")
        .no_gradient("in place");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Lists lists(in, 3);
    if (o.step < 1) fail(Code::option, "step ", o.step, " counts from 1");
    check_lists(lists, 3);
    for (size_t i = 0; o.momentum != 0 && i < lists.count(); ++i) {
      if (!lists(2, i)) fail(Code::argument, "momentum ", o.momentum, " needs a velocity for each parameter");
    }
    return {};
  }
  static void forward(const Options& o, Inputs in, TensorList&) {
    const Lists lists(in, 3);
    const kernels::SgdStep s{o.lr,       o.momentum, o.dampening, o.weightDecay,
                             o.nesterov, o.maximize, o.step == 1};
    for (size_t i = 0; i < lists.count(); ++i) {
      const Tensor& p = lists(0, i);
      const Tensor g = lists(1, i).contiguous();
      visit_floating(p.dtype(), [&]<class T>() {
        T* velocity = o.momentum != 0 ? lists(2, i).data<T>() : nullptr;
        kernels::sgd_step(p.data<T>(), g.data<T>(), velocity, p.numel(), s);
      });
    }
  }
};
OMNIGRAD_OP(Sgd)

// Adam (Kingma, Ba 2014), AMSGrad (Reddi et al. 2018), AdamW (Loshchilov, Hutter 2017).
struct Adam {
  struct Options {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0;
    bool decoupled = false, amsgrad = false, maximize = false;
    int64_t step = 1;
  };
  static constexpr Schema schema() {
    return op("adamStep", "One step of Adam or AdamW for all parameters, in place.")
        .in("params", Kind::floating, "any shapes")
        .variadic()
        .mutated()
        .in("grads", Kind::floating, "their gradients")
        .variadic()
        .nondiff()
        .in("means", Kind::floating, "running means of gradients")
        .variadic()
        .mutated()
        .in("squares", Kind::floating, "running means of their squares")
        .variadic()
        .mutated()
        .in("maxSquares", Kind::floating, "AMSGrad's")
        .variadic()
        .optional()
        .mutated()
        .opt("lr", &Options::lr, "learning rate")
        .opt("beta1", &Options::beta1, "decay of the means")
        .opt("beta2", &Options::beta2, "decay of the squares")
        .opt("eps", &Options::eps, "added to the root")
        .opt("weightDecay", &Options::weightDecay, "L2 penalty, or decay where decoupled")
        .opt("decoupled", &Options::decoupled, "AdamW: decay the parameters, not the gradients")
        .opt("amsgrad", &Options::amsgrad, "divide by the greatest square so far")
        .opt("maximize", &Options::maximize, "go up instead of down")
        .opt("step", &Options::step, "from 1, for the bias correction")
        .no_gradient("in place");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Lists lists(in, 5);
    if (o.step < 1) fail(Code::option, "step ", o.step, " counts from 1");
    check_lists(lists, 5);
    for (size_t i = 0; o.amsgrad && i < lists.count(); ++i) {
      if (!lists(4, i)) fail(Code::argument, "amsgrad needs maxSquares for each parameter");
    }
    return {};
  }
  static void forward(const Options& o, Inputs in, TensorList&) {
    const Lists lists(in, 5);
    const double step = static_cast<double>(o.step);
    const kernels::AdamStep s{o.lr,
                              o.beta1,
                              o.beta2,
                              o.eps,
                              o.weightDecay,
                              1 - std::pow(o.beta1, step),
                              1 - std::pow(o.beta2, step),
                              o.decoupled,
                              o.maximize};
    for (size_t i = 0; i < lists.count(); ++i) {
      const Tensor& p = lists(0, i);
      const Tensor g = lists(1, i).contiguous();
      visit_floating(p.dtype(), [&]<class T>() {
        T* max_square = o.amsgrad ? lists(4, i).data<T>() : nullptr;
        kernels::adam_step(p.data<T>(), g.data<T>(), lists(2, i).data<T>(), lists(3, i).data<T>(), max_square,
                           p.numel(), s);
      });
    }
  }
};
OMNIGRAD_OP(Adam)

}  // namespace
}  // namespace omnigrad
