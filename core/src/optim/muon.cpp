// Muon (Jordan et al. 2024): momentum whose step is made near orthogonal by a Newton-Schulz iteration, in
// PyTorch's form but in the parameters' own dtype.
#include <algorithm>
#include <cmath>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "optim/lists.h"

namespace omnigrad {
namespace {

struct Muon {
  enum class Adjust { original, match_rms_adamw };
  struct Options {
    double lr = 1e-3, weightDecay = 0.1, momentum = 0.95;
    bool nesterov = true, maximize = false;
    double a = 3.4445, b = -4.775, c = 2.0315, eps = 1e-7;
    int64_t nsSteps = 5, step = 1;
    Adjust adjust = Adjust::original;
  };
  static constexpr Schema schema() {
    return op("muonStep", "One step of Muon for all parameters, in place.")
        .in("params", Kind::floating, "of two axes or more; those after the first count as one")
        .variadic()
        .mutated()
        .in("grads", Kind::floating, "their gradients")
        .variadic()
        .nondiff()
        .in("velocities", Kind::floating, "momentum buffers")
        .variadic()
        .mutated()
        .opt("lr", &Options::lr, "learning rate")
        .opt("weightDecay", &Options::weightDecay, "decay of the parameters")
        .opt("momentum", &Options::momentum, "decay of the running mean of gradients")
        .opt("nesterov", &Options::nesterov, "look ahead")
        .opt("maximize", &Options::maximize, "go up instead of down")
        .opt("a", &Options::a, "coefficient of X in the iteration")
        .opt("b", &Options::b, "of X X^T X")
        .opt("c", &Options::c, "of (X X^T)^2 X")
        .opt("eps", &Options::eps, "least norm to divide by")
        .opt("nsSteps", &Options::nsSteps, "iterations")
        .opt("adjust", &Options::adjust,
             "lr * sqrt(max(1, rows / columns)), or 0.2 lr * sqrt(max(rows, columns))",
             {"original", "matchRmsAdamw"})
        .opt("step", &Options::step, "not used: no bias is corrected")
        .no_gradient("in place");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Lists lists(in, 3);
    check_lists(lists, 3);
    for (size_t i = 0; i < lists.count(); ++i) {
      if (lists(0, i).rank() < 2)
        fail("parameter ", i, " ", lists(0, i).shape(), " must have two axes or more");
    }
    if (o.nsSteps < 0 || o.nsSteps > 100) fail(Code::option, "nsSteps ", o.nsSteps, " must be from 0 to 100");
    return {};
  }
  // The nearest matrix with orthonormal rows, roughly: singular values end between 0.7 and 1.2.
  static Tensor orthogonalize(const Options& o, Tensor x) {
    const bool tall = x.size(0) > x.size(1);
    if (tall) x = transpose(x, 0, 1);
    x = x / std::max(std::sqrt(sum(square(x)).item()), o.eps);
    for (int64_t i = 0; i < o.nsSteps; ++i) {
      const Tensor gram = matmul(x, transpose(x, 0, 1));
      x = x * o.a + matmul(gram * o.b + matmul(gram, gram) * o.c, x);
    }
    return tall ? transpose(x, 0, 1) : x;
  }
  static void forward(const Options& o, Inputs in, TensorList&) {
    GradMode off(false);
    const Lists lists(in, 3);
    for (size_t i = 0; i < lists.count(); ++i) {
      const Tensor &p = lists(0, i), &g = lists(1, i), &v = lists(2, i);
      if (p.numel() == 0) continue;
      const Tensor fresh = g * (o.maximize ? o.momentum - 1 : 1 - o.momentum);
      v.assign(v * o.momentum + fresh);
      const Tensor u = o.nesterov ? v * o.momentum + fresh : v;
      const double rows = static_cast<double>(p.size(0)), columns = static_cast<double>(p.numel()) / rows;
      const double scale = o.adjust == Adjust::original ? std::sqrt(std::max(1.0, rows / columns))
                                                        : 0.2 * std::sqrt(std::max(rows, columns));
      const Tensor step =
          reshape(orthogonalize(o, reshape(u, {p.size(0), p.numel() / p.size(0)})), p.shape());
      p.assign(p * (1 - o.lr * o.weightDecay) - step * (o.lr * scale));
    }
  }
};
OMNIGRAD_OP(Muon)

}  // namespace
}  // namespace omnigrad
