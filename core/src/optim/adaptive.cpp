// The elementwise optimizers beside SGD and Adam, one op for all of them: a rule, its lists of states, and
// rates that are worked out here from the number of the step.
#include <cmath>

#include "kernels/optim.h"
#include "omnigrad/op.h"
#include "optim/lists.h"

namespace omnigrad {
namespace {

using Rule = kernels::AdaptiveRule;

// Adagrad (Duchi et al. 2011), Adadelta (Zeiler 2012), AdaMax (Kingma, Ba 2014), NAdam (Dozat 2016), RAdam
// (Liu et al. 2019), RMSprop (Hinton 2012; centered: Graves 2013), each in PyTorch's form; Lion (Chen et al.
// 2023), Adan (Xie et al. 2022).
struct Adaptive {
  struct Options {
    Rule rule = Rule::rmsprop;
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, beta3 = 0.99, eps = 1e-8, weightDecay = 0;
    bool decoupled = false, proximal = false, maximize = false, centered = false;
    double momentum = 0, lrDecay = 0, momentumDecay = 4e-3;
    std::optional<double> momentumProduct;
    int64_t step = 1;
  };
  static constexpr Schema schema() {
    return op("adaptiveStep", "One step of an adaptive method for all parameters, in place.")
        .in("params", Kind::floating, "any shapes")
        .variadic()
        .mutated()
        .in("grads", Kind::floating, "their gradients")
        .variadic()
        .nondiff()
        .in("first", Kind::floating,
            "running means (adamax nadam radam lion adan) or squares (adagrad adadelta rmsprop) of gradients")
        .variadic()
        .mutated()
        .in("second", Kind::floating,
            "squares of steps (adadelta), largest sizes (adamax), squares (nadam radam), means (centered "
            "rmsprop) or "
            "mean differences (adan) of gradients")
        .variadic()
        .optional()
        .mutated()
        .in("third", Kind::floating, "momentum (rmsprop) or squares (adan)")
        .variadic()
        .optional()
        .mutated()
        .in("fourth", Kind::floating, "the gradients before (adan)")
        .variadic()
        .optional()
        .mutated()
        .opt("rule", &Options::rule, "the method",
             {"adagrad", "adadelta", "adamax", "nadam", "radam", "rmsprop", "lion", "adan"})
        .opt("lr", &Options::lr, "learning rate")
        .opt("beta1", &Options::beta1, "decay of the first state; rho of adadelta, alpha of rmsprop")
        .opt("beta2", &Options::beta2, "decay of the second")
        .opt("beta3", &Options::beta3, "decay of the third (adan)")
        .opt("eps", &Options::eps, "added to what is divided by")
        .opt("weightDecay", &Options::weightDecay, "L2 penalty, or decay where decoupled or proximal")
        .opt("decoupled", &Options::decoupled, "decay the parameters, not the gradients")
        .opt("proximal", &Options::proximal, "adan: divide by 1 + lr * weightDecay after the step")
        .opt("maximize", &Options::maximize, "go up instead of down")
        .opt("centered", &Options::centered, "rmsprop: divide by the deviation, not the root mean square")
        .opt("momentum", &Options::momentum, "rmsprop: share of the last step")
        .opt("lrDecay", &Options::lrDecay, "adagrad: lr / (1 + (step - 1) * lrDecay)")
        .opt("momentumDecay", &Options::momentumDecay, "nadam: of the momentum's schedule")
        .opt("momentumProduct", &Options::momentumProduct,
             "nadam: the product of its momenta before this step; none: worked out")
        .opt("step", &Options::step, "from 1, for the bias corrections")
        .no_gradient("in place");
  }

  // How many of the lists of states the step uses, with `second` among them.
  static bool uses(const Options& o, size_t state) {
    switch (o.rule) {
      case Rule::adagrad:
      case Rule::lion:
        return state == 0;
      case Rule::rmsprop:
        return state == 0 || (state == 1 && o.centered) || (state == 2 && o.momentum != 0);
      case Rule::adan:
        return true;
      default:
        return state < 2;
    }
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Lists lists(in, 6);
    if (o.step < 1) fail(Code::option, "step ", o.step, " counts from 1");
    check_lists(lists, 6);
    static constexpr const char* names[] = {"first", "second", "third", "fourth"};
    for (size_t k = 0; k < 4; ++k) {
      for (size_t i = 0; uses(o, k) && i < lists.count(); ++i)
        if (!lists(k + 2, i)) fail(Code::argument, "the rule needs ", names[k], " for each parameter");
    }
    return {};
  }

  static double nadam_momentum(const Options& o, double step) {
    return o.beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentumDecay));
  }
  static kernels::AdaptiveStep resolve(const Options& o) {
    const double t = static_cast<double>(o.step);
    const double correction1 = 1 - std::pow(o.beta1, t), correction2 = 1 - std::pow(o.beta2, t);
    kernels::AdaptiveStep s{};
    s.sign = o.maximize ? -1 : 1;
    s.decay = o.decoupled || o.proximal ? 0 : o.weightDecay;
    s.shrink = o.decoupled ? 1 - o.lr * o.weightDecay : 1;
    s.shrink_after = o.proximal ? 1 / (1 + o.lr * o.weightDecay) : 1;
    s.rate = o.lr;
    s.beta1 = o.beta1, s.beta2 = o.beta2, s.beta3 = o.beta3, s.eps = o.eps, s.momentum = o.momentum;
    s.root = std::sqrt(correction2);
    s.first = o.step == 1;
    switch (o.rule) {
      case Rule::adagrad:
        s.rate = o.lr / (1 + (t - 1) * o.lrDecay);
        break;
      case Rule::adamax:
        s.rate = o.lr / correction1;
        break;
      case Rule::nadam: {
        double product = o.momentumProduct.value_or(1);
        for (int64_t i = 1; !o.momentumProduct && i < o.step; ++i)
          product *= nadam_momentum(o, static_cast<double>(i));
        const double now = nadam_momentum(o, t), next = nadam_momentum(o, t + 1);
        product *= now;
        s.rate = o.lr * (1 - now) / (1 - product);
        s.rate2 = o.lr * next / (1 - product * next);
        break;
      }
      case Rule::radam: {
        const double most = 2 / (1 - o.beta2) - 1;
        const double length = most - 2 * t * std::pow(o.beta2, t) / correction2;
        s.rate = o.lr / correction1;
        s.root =
            length > 5
                ? s.root * std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length))
                : 0;
        break;
      }
      case Rule::adan:
        s.rate = o.lr / correction1;
        s.rate2 = o.lr * o.beta2 / correction2;
        s.root = std::sqrt(1 - std::pow(o.beta3, t));
        break;
      default:
        break;
    }
    return s;
  }
  static void forward(const Options& o, Inputs in, TensorList&) {
    const Lists lists(in, 6);
    const kernels::AdaptiveStep s = resolve(o);
    for (size_t i = 0; i < lists.count(); ++i) {
      const Tensor& p = lists(0, i);
      const Tensor g = lists(1, i).contiguous();
      visit_floating(p.dtype(), [&]<class T>() {
        T* state[4];
        for (size_t k = 0; k < 4; ++k) state[k] = uses(o, k) ? lists(k + 2, i).data<T>() : nullptr;
        kernels::adaptive_step(o.rule, p.data<T>(), g.data<T>(), state, p.numel(), s);
      });
    }
  }
};
OMNIGRAD_OP(Adaptive)

}  // namespace
}  // namespace omnigrad
