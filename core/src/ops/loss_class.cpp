// Losses of classification: cross-entropy and its kin. Composites, differentiable to any order in whatever
// they depend on; of class indices without weights the cross-entropy itself is fused.
#include "ops/cross_entropy.h"
#include "ops/loss_reduce.h"

namespace omnigrad {
namespace {

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

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
  static constexpr Schema schema() {
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
      if (in[1].shape() == rows)
        fail(Code::dtype, "target has dtype ", in[1].dtype(),
             ": class indices are integers, cast it to int64");
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
    if (is_floating(in[1].dtype()) || in[2] || o.labelSmoothing != 0)
      return {of_log_probabilities(o, log_softmax(in[0], axis), in)};
    const Tensor each = cross_entropy_each(in[0], in[1], axis, o.ignoreIndex);
    if (o.reduction != Reduction::mean) return {reduce(each, o.reduction)};
    return {sum(each) / static_cast<double>(counted(in[1], o.ignoreIndex))};
  }
  // Targets that are not ignored.
  static int64_t counted(const Tensor& target, int64_t ignored) {
    const Tensor t = target.contiguous();
    int64_t n = t.numel();
    visit_index(t.dtype(), [&]<class I>() {
      for (int64_t i = 0; i < t.numel(); ++i) n -= static_cast<int64_t>(t.data<I>()[i]) == ignored;
    });
    return n;
  }
  static Tensor of_log_probabilities(const Options& o, const Tensor& log_p, Inputs in) {
    const int64_t axis = class_axis(in[0]);
    const Tensor weighted = in[2] ? log_p * along_classes(in[2], in[0]) : log_p;
    const double classes = static_cast<double>(in[0].size(axis)), smooth = o.labelSmoothing;
    if (is_floating(in[1].dtype())) {
      const Tensor target = smooth == 0 ? in[1] : in[1] * (1 - smooth) + smooth / classes;
      const Tensor loss = -sum(target * weighted, {axis});
      if (o.reduction != Reduction::mean) return reduce(loss, o.reduction);
      return sum(loss) / static_cast<double>(loss.numel());
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
    if (o.reduction == Reduction::mean) return sum(loss) / sum(row_weight);
    return reduce(loss, o.reduction);
  }
};
OMNIGRAD_OP(CrossEntropy)

// Negative log-likelihood: what cross-entropy is after the log-softmax.
struct NllLoss {
  struct Options {
    Reduction reduction = Reduction::mean;
    int64_t ignoreIndex = -100;
  };
  static constexpr Schema schema() {
    return op("nllLoss", "Minus the log-probability of the target class.")
        .in("input", Kind::floating, "log-probabilities [C], [N, C] or [N, C, ...]")
        .in("target", Kind::index, "class indices: input's shape without C")
        .in("weight", Kind::floating, "[C], a weight for each class")
        .optional()
        .opt("reduction", &Options::reduction, "over rows; mean divides by the sum of their weights",
             kReductions)
        .opt("ignoreIndex", &Options::ignoreIndex, "a target that counts for nothing")
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return CrossEntropy::shape({o.reduction, 0, o.ignoreIndex}, in);
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {CrossEntropy::of_log_probabilities({o.reduction, 0, o.ignoreIndex}, in[0], in)};
  }
};
OMNIGRAD_OP(NllLoss)

// (1 - t) x + w softplus(-x), w = 1 + (pos_weight - 1) t.
struct BceWithLogits {
  using Options = LossOptions;
  static constexpr Schema schema() {
    return op("binaryCrossEntropyWithLogits",
              "Cross-entropy between sigmoid(input) and target, without overflow.")
        .in("input", Kind::floating, "logits, any shape")
        .in("target", Kind::floating, "probabilities, input's shape")
        .in("weight", Kind::floating, "of elements, broadcasts to input")
        .optional()
        .in("posWeight", Kind::floating, "of positive targets, broadcasts to input")
        .optional()
        .opt("reduction", &Options::reduction, "over all elements", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_binary(in);
    return loss_spec(in[0].shape(), in[0].dtype(), o.reduction);
  }
  static void check_binary(Inputs in) {
    if (!(in[1].shape() == in[0].shape()))
      fail("target ", in[1].shape(), " must have input's shape ", in[0].shape());
    for (size_t i = 2; i < in.size(); ++i) {
      if (in[i] && !(broadcast_shapes(in[i].shape(), in[0].shape()) == in[0].shape())) {
        fail("a weight of shape ", in[i].shape(), " does not broadcast to input ", in[0].shape());
      }
    }
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor &x = in[0], &t = in[1];
    Tensor log_part = call("softplus", {-x});
    if (in[3]) log_part = log_part * ((in[3] - 1) * t + 1);
    Tensor loss = (1 - t) * x + log_part;
    if (in[2]) loss = loss * in[2];
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(BceWithLogits)

// log is held at -100 as in PyTorch; beyond that bound the gradient is 0.
struct Bce {
  using Options = LossOptions;
  static constexpr Schema schema() {
    return op("binaryCrossEntropy", "Cross-entropy between probabilities; logarithms are held at -100.")
        .in("input", Kind::floating, "probabilities in [0, 1], any shape")
        .in("target", Kind::floating, "probabilities, input's shape")
        .in("weight", Kind::floating, "of elements, broadcasts to input")
        .optional()
        .opt("reduction", &Options::reduction, "over all elements", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    BceWithLogits::check_binary(in);
    return loss_spec(in[0].shape(), in[0].dtype(), o.reduction);
  }
  // max(log(p), -100) with p held away from 0, where log's derivative would be infinite.
  static Tensor bounded_log(const Tensor& p) {
    const Tensor least = number(3.720075976020836e-44, p);
    return log(where(lt(p, least), least, p));
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor &p = in[0], &t = in[1];
    Tensor loss = -(t * bounded_log(p) + (1 - t) * bounded_log(1 - p));
    if (in[2]) loss = loss * in[2];
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(Bce)

struct MultiMargin {
  struct Options {
    Reduction reduction = Reduction::mean;
    int64_t p = 1;
    double margin = 1;
  };
  static constexpr Schema schema() {
    return op("multiMarginLoss", "Sum over other classes i of max(0, margin - x[target] + x[i])^p, over C.")
        .in("input", Kind::floating, "scores [C] or [N, C]")
        .in("target", Kind::index, "class indices, [] or [N]")
        .in("weight", Kind::floating, "[C], a weight for each class")
        .optional()
        .opt("reduction", &Options::reduction, "over rows", kReductions)
        .opt("p", &Options::p, "1 or 2")
        .opt("margin", &Options::margin, "by how much the target should lead")
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.p != 1 && o.p != 2) fail(Code::option, "p ", o.p, " must be 1 or 2");
    if (in[0].rank() > 2) fail("input must have shape [C] or [N, C], it has ", in[0].shape());
    return CrossEntropy::shape({o.reduction, 0, INT64_MIN}, in);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t axis = in[0].rank() - 1, classes = in[0].size(axis);
    const Tensor target = unsqueeze(cast(in[1], DType::int64), axis);
    Tensor lead = relu(in[0] - gather(in[0], target, axis) + o.margin);
    if (o.p == 2) lead = square(lead);
    if (in[2]) lead = lead * reshape(index_select(in[2], reshape(target, {-1}), 0), target.shape());
    const Tensor other = ne(arange(0, static_cast<double>(classes), 1, DType::int64), target);
    const Tensor loss = sum(where(other, lead, number(0, lead)), {axis}) / static_cast<double>(classes);
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(MultiMargin)

struct MultilabelSoftMargin {
  using Options = LossOptions;
  static constexpr Schema schema() {
    return op("multilabelSoftMarginLoss", "Binary cross-entropy of logits, averaged over classes.")
        .in("input", Kind::floating, "logits [C] or [N, C]")
        .in("target", Kind::floating, "0 or 1, input's shape")
        .in("weight", Kind::floating, "[C], a weight for each class")
        .optional()
        .opt("reduction", &Options::reduction, "over rows", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() == 0) fail("input needs a class axis: [C] or [N, C]");
    BceWithLogits::check_binary(in);
    Dims rows = in[0].shape();
    rows.pop_back();
    return loss_spec(rows, in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor loss = BceWithLogits::compose({Reduction::none}, {in[0], in[1], in[2], Tensor()})[0];
    return {reduce(mean(loss, {-1}), o.reduction)};
  }
};
OMNIGRAD_OP(MultilabelSoftMargin)

}  // namespace
}  // namespace omnigrad
