// Losses, as composites: every one is differentiable to any order in whatever it depends on.
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

enum class Reduction { none, mean, sum };
constexpr Choices kReductions{"none", "mean", "sum"};

Tensor reduce(const Tensor& loss, Reduction reduction) {
  if (reduction == Reduction::mean) return mean(loss);
  return reduction == Reduction::sum ? sum(loss) : loss;
}

OutSpecs loss_spec(const Dims& shape, DType dtype, Reduction reduction) {
  return {{reduction == Reduction::none ? shape : Dims{}, dtype}};
}

struct MseLoss {
  struct Options {
    Reduction reduction = Reduction::mean;
  };
  static Schema schema() {
    return op("mseLoss", "(input - target)^2.")
        .in("input", Kind::floating, "any shape")
        .in("target", Kind::floating, "input's shape")
        .opt("reduction", &Options::reduction, "over all elements", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(in[0].shape() == in[1].shape()))
      fail("input ", in[0].shape(), " and target ", in[1].shape(), " must have one shape");
    return loss_spec(in[0].shape(), in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {reduce(square(in[0] - in[1]), o.reduction)};
  }
};
OMNIGRAD_OP(MseLoss)

// Cross-entropy of logits, as PyTorch defines it: with class indices, w[t] weighs a row, rows with
// ignoreIndex count for nothing, and the mean divides by the sum of weights; with class probabilities, w
// weighs classes and the mean divides by the number of rows. labelSmoothing mixes in the uniform
// distribution.
struct CrossEntropy {
  struct Options {
    Reduction reduction = Reduction::mean;
    double labelSmoothing = 0;
    int64_t ignoreIndex = -100;
  };
  static Schema schema() {
    return op("crossEntropy", "Cross-entropy between logits and class indices or class probabilities.")
        .in("input", Kind::floating, "logits [C], [N, C] or [N, C, ...]")
        .in("target", Kind::free,
            "class indices: input's shape without C, integer; or probabilities: input's shape")
        .in("weight", Kind::floating, "[C], a weight for each class")
        .optional()
        .opt("reduction", &Options::reduction, "over rows; mean divides by the sum of their weights",
             kReductions)
        .opt("labelSmoothing", &Options::labelSmoothing, "in [0, 1]: the share of the uniform distribution")
        .opt("ignoreIndex", &Options::ignoreIndex, "a target that counts for nothing")
        .out("loss");
  }
  static int64_t class_axis(const Tensor& input) { return input.rank() == 1 ? 0 : 1; }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() == 0) fail("input needs a class axis: [C], [N, C] or [N, C, ...]");
    const int64_t axis = class_axis(in[0]), classes = in[0].size(axis);
    Dims rows = in[0].shape();
    rows.erase(static_cast<size_t>(axis));
    if (classes == 0) fail("needs at least one class");
    if (in[2] && !(in[2].shape() == Dims{classes}))
      fail("weight must have shape [", classes, "], it has ", in[2].shape());
    if (!(o.labelSmoothing >= 0 && o.labelSmoothing <= 1))
      fail(Code::option, "labelSmoothing ", o.labelSmoothing, " must be in [0, 1]");
    if (is_floating(in[1].dtype())) {
      if (!(in[1].shape() == in[0].shape()))
        fail("target probabilities ", in[1].shape(), " must have input's shape ", in[0].shape());
      if (in[1].dtype() != in[0].dtype())
        fail(Code::dtype, "target has dtype ", in[1].dtype(), ", input ", in[0].dtype());
    } else {
      if (in[1].dtype() == DType::boolean)
        fail(Code::dtype, "target has dtype bool: class indices are integers");
      if (!(in[1].shape() == rows)) fail("target indices ", in[1].shape(), " must have shape ", rows);
      check_classes(o, in[1], classes);
    }
    return loss_spec(rows, in[0].dtype(), o.reduction);
  }
  static void check_classes(const Options& o, const Tensor& target, int64_t classes) {
    const Tensor t = target.contiguous();
    visit_index(t.dtype(), [&]<class I>() {
      for (int64_t i = 0; i < t.numel(); ++i) {
        const int64_t c = static_cast<int64_t>(t.data<I>()[i]);
        if (c != o.ignoreIndex && (c < 0 || c >= classes)) {
          fail(Code::index, "target class ", c, " is out of range for ", classes, " classes");
        }
      }
    });
  }
  // [C] weights along the class axis of a tensor of this rank.
  static Tensor along_classes(const Tensor& weight, const Tensor& input) {
    Dims shape(input.shape().size(), 1);
    shape[static_cast<size_t>(class_axis(input))] = weight.numel();
    return reshape(weight, shape);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t axis = class_axis(in[0]);
    const Tensor log_p = log_softmax(in[0], axis);
    const Tensor weighted = in[2] ? log_p * along_classes(in[2], in[0]) : log_p;
    const double classes = static_cast<double>(in[0].size(axis)), smooth = o.labelSmoothing;
    if (is_floating(in[1].dtype())) {
      const Tensor target = smooth == 0 ? in[1] : in[1] * (1 - smooth) + smooth / classes;
      const Tensor loss = -sum(target * weighted, {axis});
      if (o.reduction != Reduction::mean) return {reduce(loss, o.reduction)};
      return {sum(loss) / static_cast<double>(loss.numel())};
    }
    const Tensor target = cast(in[1], DType::int64);
    const Tensor kept = ne(target, Tensor::scalar(static_cast<double>(o.ignoreIndex), DType::int64));
    const Tensor safe = where(kept, target, Tensor::scalar(0, DType::int64));
    const Tensor mask = cast(kept, in[0].dtype());
    const auto pick = [&](const Tensor& t) { return squeeze(gather(t, unsqueeze(safe, axis), axis), axis); };
    const Tensor row_weight =
        in[2] ? reshape(index_select(in[2], reshape(safe, {-1}), 0), safe.shape()) * mask : mask;
    Tensor loss = -(pick(weighted) * mask);
    if (smooth != 0) loss = loss * (1 - smooth) - sum(weighted, {axis}) * mask * (smooth / classes);
    if (o.reduction == Reduction::mean) return {sum(loss) / sum(row_weight)};
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(CrossEntropy)

}  // namespace
}  // namespace omnigrad
