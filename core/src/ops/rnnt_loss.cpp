// The transducer's loss. Only two log-probabilities of each cell count: the blank's and the next label's;
// they are picked by ops, and the lattice over them is fused, its gradient too.
#include "omnigrad/autograd.h"
#include "ops/alignment.h"
#include "ops/loss_reduce.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

// Lengths of a lattice, checked. in: blank, emit, input lengths, target lengths.
struct Lengths {
  Integers input, target;
  explicit Lengths(Inputs in) {
    const Dims& b = in[0].shape();
    if (b.size() != 3 || b[1] < 1 || b[2] < 1)
      fail("blank must be [batch, time, labels + 1] with a step of time, it has ", b);
    if (!(in[1].shape() == Dims{b[0], b[1], b[2] - 1}))
      fail("emit ", in[1].shape(), " must be ", Dims{b[0], b[1], b[2] - 1});
    input = lengths_of(in[2], b[0], 1, b[1], "logitLengths");
    target = lengths_of(in[3], b[0], 0, b[2] - 1, "targetLengths");
  }
  kernels::TransducerBatch batch(const Tensor& blank) const {
    return {blank.size(0), blank.size(1), blank.size(2) - 1, input.data(), target.data()};
  }
};

constexpr Schema inputs(Schema s) {
  return s.in("blank", Kind::floating, "[batch, time, labels + 1]: log-probability of the next step of time")
      .saved()
      .in("emit", Kind::floating, "[batch, time, labels]: log-probability of the next label")
      .saved()
      .in("logitLengths", Kind::index, "[batch]")
      .optional()
      .saved()
      .in("targetLengths", Kind::index, "[batch]")
      .optional()
      .saved();
}

struct TransducerGrad {
  static constexpr Schema schema() {
    return inputs(op("transducerGrad", "The gradients of transducer, fused."))
        .in("g", Kind::floating, "[batch]: the cotangent of its loss")
        .saved()
        .out("gblank")
        .out("gemit")
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Lengths lengths(in);
    if (!(in[4].shape() == Dims{in[0].size(0)})) fail("g ", in[4].shape(), " must be [", in[0].size(0), "]");
    return {{in[0].shape(), in[0].dtype()}, {in[1].shape(), in[1].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Lengths lengths(in);
    const Tensor blank = in[0].contiguous(), emit = in[1].contiguous(), g = in[4].contiguous();
    const kernels::TransducerBatch batch = lengths.batch(blank);
    Workspace workspace(kernels::transducer_workspace(batch, true));
    kernels::transducer_loss_grad(batch, values_of(blank), values_of(emit), values_of(g), values_of(out[0]),
                                  values_of(out[1]), workspace.as());
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents v, Need need) {
    const TensorList in{s.in(0), s.in(1), s.in(2), s.in(3)};
    const Lengths lengths(in);
    return double_backward(
        [&](const TensorList& x) {
          return TensorList{
              cast(transducer_composite(x[0], x[1], lengths.input, lengths.target), x[0].dtype())};
        },
        in, {s.in(4)}, v, need);
  }
};
OMNIGRAD_OP(TransducerGrad)

struct Transducer {
  static constexpr Schema schema() {
    return inputs(
               op("transducer", "Minus the log-probability of each target over all paths of a transducer."))
        .out("loss")
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Lengths lengths(in);
    return {{{in[0].size(0)}, in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Lengths lengths(in);
    const Tensor blank = in[0].contiguous(), emit = in[1].contiguous();
    const kernels::TransducerBatch batch = lengths.batch(blank);
    Workspace workspace(kernels::transducer_workspace(batch, false));
    kernels::transducer_loss(batch, values_of(blank), values_of(emit), values_of(out[0]), workspace.as());
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    TensorList grads = apply<TransducerGrad>({s.in(0), s.in(1), s.in(2), s.in(3), g[0]});
    grads.resize(4);
    return grads;
  }
};
OMNIGRAD_OP(Transducer)

struct RnntLoss {
  struct Options {
    int64_t blank = -1;
    Reduction reduction = Reduction::mean;
    bool fusedLogSoftmax = true;
  };
  static constexpr Schema schema() {
    return op("rnntLoss",
              "The transducer's loss (Graves 2012): minus the log-probability of all alignments of the "
              "targets "
              "with the inputs.")
        .in("logits", Kind::floating, "[batch, time, labels + 1, classes]")
        .in("targets", Kind::index, "classes [batch, labels]")
        .in("logitLengths", Kind::index, "[batch], how many steps of time count, at least 1; all")
        .optional()
        .in("targetLengths", Kind::index, "[batch], how many labels count; all")
        .optional()
        .opt("blank", &Options::blank, "the class that stands for no label; -1: the last")
        .opt("reduction", &Options::reduction, "over the batch", kReductions)
        .opt("fusedLogSoftmax", &Options::fusedLogSoftmax, "false: logits are log-probabilities already")
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims& x = in[0].shape();
    if (x.size() != 4 || x[1] < 1 || x[2] < 1 || x[3] < 1)
      fail("logits must be [batch, time, labels + 1, classes] with a step of time and a class, it has ", x);
    if (!(in[1].shape() == Dims{x[0], x[2] - 1}))
      fail("targets ", in[1].shape(), " must be ", Dims{x[0], x[2] - 1});
    if (o.blank < -x[3] || o.blank >= x[3])
      fail(Code::option, "blank ", o.blank, " is out of range for ", x[3], " classes");
    lengths_of(in[2], x[0], 1, x[1], "logitLengths");
    labels(o, in);
    return loss_spec({x[0]}, in[0].dtype(), o.reduction);
  }
  // Targets, checked; 0 where they do not count.
  static Integers labels(const Options& o, Inputs in) {
    const int64_t classes = in[0].size(3), most = in[1].size(1),
                  blank = o.blank < 0 ? o.blank + classes : o.blank;
    const Integers lengths = lengths_of(in[3], in[0].size(0), 0, most, "targetLengths");
    Integers out = integers_of(in[1]);
    for (size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      if (at % most >= lengths[static_cast<size_t>(at / most)]) {
        out[i] = 0;
      } else if (out[i] < 0 || out[i] >= classes) {
        fail(Code::index, "target class ", out[i], " is out of range for ", classes, " classes");
      } else if (out[i] == blank) {
        fail(Code::index, "targets hold ", out[i], ", which is the blank");
      }
    }
    return out;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor p = o.fusedLogSoftmax ? log_softmax(in[0], -1) : in[0];
    const int64_t n = p.size(0), time = p.size(1), most = p.size(2) - 1,
                  class_of_blank = o.blank < 0 ? o.blank + p.size(3) : o.blank;
    const Tensor classes = Tensor::from({n, 1, most, 1}, labels(o, in).data());
    const Tensor blank = squeeze(slice(p, -1, class_of_blank, class_of_blank + 1), -1);
    const Tensor emit = squeeze(gather(slice(p, 2, 0, most), expand(classes, {n, time, most, 1}), -1), -1);
    return {reduce(apply1<Transducer>({blank, emit, in[2], in[3]}), o.reduction)};
  }
};
OMNIGRAD_OP(RnntLoss)

}  // namespace
}  // namespace omnigrad
