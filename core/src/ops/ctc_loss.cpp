// Connectionist temporal classification: fused forward and gradient, whose vjp re-runs the composite.
#include <algorithm>
#include <limits>

#include "omnigrad/autograd.h"
#include "ops/alignment.h"
#include "ops/loss_reduce.h"
#include "tensor/pool.h"

namespace omnigrad {

Integers integers_of(const Tensor& t) {
  const Tensor c = t.contiguous();
  Integers out;
  visit_index(c.dtype(), [&]<class I>() {
    const I* from = c.data<I>();
    for (int64_t i = 0; i < c.numel(); ++i) out.push_back(static_cast<int64_t>(from[i]));
  });
  return out;
}

Integers lengths_of(const Tensor& given, int64_t batch, int64_t least, int64_t most, const char* name) {
  if (!given) return Integers(static_cast<size_t>(batch), most);
  if (given.rank() > 1 || given.numel() != batch)
    fail(name, " ", given.shape(), " must be [", batch, "]: one for each sample");
  const Integers out = integers_of(given);
  for (int64_t length : out) {
    if (length < least || length > most)
      fail(Code::index, name, " has ", length, ", it must be in [", least, ", ", most, "]");
  }
  return out;
}

CtcTargets::CtcTargets(Inputs in, int64_t blank) {
  if (in[0].rank() != 3) fail("logProbs must be [time, batch, classes], it has ", in[0].shape());
  const int64_t time = in[0].size(0), batch = in[0].size(1), classes = in[0].size(2);
  const Tensor& targets = in[1];
  if (blank < 0 || blank >= classes)
    fail(Code::option, "blank ", blank, " is out of range for ", classes, " classes");
  input_lengths = lengths_of(in[2], batch, 0, time, "inputLengths");
  if (targets.rank() == 0 || targets.rank() > 2 || (targets.rank() == 2 && targets.size(0) != batch))
    fail("targets ", targets.shape(), " must be [", batch, ", length], or all in one axis");
  const bool joined = targets.rank() == 1;
  if (joined && batch != 1 && !in[3]) fail(Code::argument, "targets in one axis need targetLengths");
  target_lengths = lengths_of(in[3], batch, 0, targets.size(-1), "targetLengths");
  labels = integers_of(targets);
  int64_t at = 0;
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = target_lengths[static_cast<size_t>(n)];
    start.push_back(joined ? at : n * targets.size(1));
    at += length;
    longest = std::max(longest, length);
    if (joined && at > targets.size(0)) break;
    for (int64_t j = 0; j < length; ++j) {
      const int64_t c = labels[static_cast<size_t>(start.back() + j)];
      if (c < 0 || c >= classes)
        fail(Code::index, "target class ", c, " is out of range for ", classes, " classes");
      if (c == blank) fail(Code::index, "targets hold ", c, ", which is the blank");
    }
  }
  if (joined && at != targets.size(0))
    fail("targetLengths add up to more or less than the ", targets.size(0), " targets");
}

namespace {

struct BlankOptions {
  int64_t blank = 0;
};

kernels::CtcBatch batch_of(const CtcTargets& t, const Tensor& log_probs, int64_t blank) {
  return {
      log_probs.size(0), log_probs.size(1),       log_probs.size(2),     blank, t.longest, t.labels.data(),
      t.start.data(),    t.target_lengths.data(), t.input_lengths.data()};
}

constexpr Schema inputs(Schema s) {
  return s.in("logProbs", Kind::floating, "[time, batch, classes]")
      .saved()
      .in("targets", Kind::index, "as ctcLoss's")
      .saved()
      .in("inputLengths", Kind::index, "[batch]")
      .optional()
      .saved()
      .in("targetLengths", Kind::index, "[batch]")
      .optional()
      .saved();
}

struct CtcLossGrad {
  using Options = BlankOptions;
  static constexpr Schema schema() {
    return inputs(op("ctcLossGrad", "The gradient of ctcLossEach, fused."))
        .in("g", Kind::floating, "[batch]: the cotangent of its loss")
        .saved()
        .opt("blank", &Options::blank)
        .out("glogProbs")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    [[maybe_unused]] const CtcTargets checked(in, o.blank);
    if (!(in[4].shape() == Dims{in[0].size(1)})) fail("g ", in[4].shape(), " must be [", in[0].size(1), "]");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const CtcTargets targets(in, o.blank);
    const Tensor x = in[0].contiguous(), g = in[4].contiguous();
    const kernels::CtcBatch batch = batch_of(targets, x, o.blank);
    Workspace workspace(kernels::ctc_workspace(batch, true));
    kernels::ctc_loss_grad(batch, values_of(x), values_of(g), values_of(out[0]), workspace.as());
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    const TensorList in{s.in(0), s.in(1), s.in(2), s.in(3)};
    const CtcTargets targets(in, o.blank);
    return double_backward(
        [&](const TensorList& x) {
          return TensorList{cast(ctc_composite(x[0], targets, o.blank), x[0].dtype())};
        },
        in, {s.in(4)}, {v[0]}, need);
  }
};
OMNIGRAD_OP(CtcLossGrad)

struct CtcLossEach {
  using Options = BlankOptions;
  static constexpr Schema schema() {
    return inputs(
               op("ctcLossEach",
                  "Minus the log-probability of each target; Infinity, with gradient 0, where it cannot be "
                  "aligned."))
        .opt("blank", &Options::blank)
        .out("loss")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    [[maybe_unused]] const CtcTargets checked(in, o.blank);
    return {{{in[0].size(1)}, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const CtcTargets targets(in, o.blank);
    const Tensor x = in[0].contiguous();
    const kernels::CtcBatch batch = batch_of(targets, x, o.blank);
    Workspace workspace(kernels::ctc_workspace(batch, false));
    kernels::ctc_loss(batch, values_of(x), values_of(out[0]), workspace.as());
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {apply1<CtcLossGrad>({s.in(0), s.in(1), s.in(2), s.in(3), g[0]}, o), {}, {}, {}};
  }
};
OMNIGRAD_OP(CtcLossEach)

struct CtcLoss {
  struct Options : BlankOptions {
    Reduction reduction = Reduction::mean;
    bool zeroInfinity = false;
  };
  static constexpr Schema schema() {
    return op("ctcLoss",
              "Connectionist temporal classification (Graves 2006): minus the log-probability of all "
              "alignments "
              "of the targets with the inputs. The gradient is the true one with respect to logProbs. A "
              "target "
              "that has no alignment, as one that is longer than its input, gives Infinity and gradient 0.")
        .in("logProbs", Kind::floating, "log-probabilities [time, batch, classes] or [time, classes]")
        .in("targets", Kind::index,
            "classes [batch, length], of which targetLengths count; or all targets one after another in one "
            "axis")
        .in("inputLengths", Kind::index, "[batch], how many steps count; all")
        .optional()
        .in("targetLengths", Kind::index, "[batch], how many labels count; all")
        .optional()
        .opt<Options, int64_t>("blank", &Options::blank, "the class that stands for no label")
        .opt("reduction", &Options::reduction,
             "over the batch; mean divides each loss by its target's length, at least 1, first", kReductions)
        .opt("zeroInfinity", &Options::zeroInfinity, "0 in place of Infinity")
        .out("loss");
  }
  static TensorList batched(Inputs in) {
    if (in[0].rank() != 2) return in;
    return {unsqueeze(in[0], 1), in[1], in[2], in[3]};
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() != 2 && in[0].rank() != 3)
      fail("logProbs must be [time, batch, classes] or [time, classes], it has ", in[0].shape());
    [[maybe_unused]] const CtcTargets checked(batched(in), o.blank);
    const Dims each = in[0].rank() == 2 ? Dims{} : Dims{in[0].size(1)};
    return loss_spec(each, in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const TensorList all = batched(in);
    Tensor loss = apply1<CtcLossEach>(all, {o.blank});
    if (o.zeroInfinity) {
      const Tensor infinity = Tensor::scalar(std::numeric_limits<double>::infinity(), loss.dtype());
      loss = where(eq(loss, infinity), Tensor::scalar(0, loss.dtype()), loss);
    }
    if (o.reduction == Reduction::mean) {
      Tensor lengths = Tensor::empty(loss.shape(), DType::int64);
      const CtcTargets targets(all, o.blank);
      for (int64_t n = 0; n < loss.numel(); ++n)
        lengths.data<int64_t>()[n] = std::max<int64_t>(1, targets.target_lengths[static_cast<size_t>(n)]);
      loss = loss / cast(lengths, loss.dtype());
    }
    if (in[0].rank() == 2) loss = reshape(loss, {});
    return {reduce(loss, o.reduction)};
  }
};
OMNIGRAD_OP(CtcLoss)

}  // namespace
}  // namespace omnigrad
