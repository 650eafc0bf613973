// Samples of losses over alignments and of recurrent layers.
#include <algorithm>
#include <vector>

#include "samples.h"

namespace omnigrad::test {
namespace {

Tensor integers(Gen& g, const Dims& shape, const std::vector<int64_t>& values) {
  const Tensor t = Tensor::empty(shape, g.pick({DType::int32, DType::int64, DType::uint8}));
  visit_index(t.dtype(), [&]<class I>() {
    for (size_t i = 0; i < values.size(); ++i) t.data<I>()[i] = static_cast<I>(values[i]);
  });
  return t;
}
// A class other than the blank.
int64_t label(Gen& g, int64_t classes, int64_t blank) {
  const int64_t c = g.integer(0, classes - 2);
  return c < blank ? c : c + 1;
}

// log-probabilities, targets, lengths: every target has an alignment, the last one is of full length.
struct Ctc {
  int64_t batch, time, classes, blank;
  TensorList in;

  explicit Ctc(Gen& g) : batch(g.integer(1, 3)), classes(g.integer(2, 4)), blank(g.integer(0, classes - 1)) {
    const int64_t longest = g.integer(0, 3);
    std::vector<int64_t> labels, joined, lengths, least;
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t length = n + 1 == batch ? longest : g.integer(0, longest);
      int64_t steps = length;
      for (int64_t j = 0; j < longest; ++j) {
        labels.push_back(label(g, classes, blank));
        if (j >= length) continue;
        joined.push_back(labels.back());
        steps += j > 0 && labels.back() == labels[labels.size() - 2];
      }
      lengths.push_back(length);
      least.push_back(steps);
    }
    const int64_t needed = std::max<int64_t>(1, *std::max_element(least.begin(), least.end()));
    time = needed + g.integer(0, 3);
    for (int64_t& steps : least) steps = g.integer(steps, time);
    const bool one_axis = batch == 1 && g.chance();
    const auto sizes = [&](const std::vector<int64_t>& v) { return Dims{static_cast<int64_t>(v.size())}; };
    in = {g.tensor({time, batch, classes}, -3, 0),
          one_axis ? integers(g, sizes(joined), joined) : integers(g, {batch, longest}, labels),
          g.chance() ? integers(g, {batch}, least) : Tensor(), integers(g, {batch}, lengths)};
  }
};
Call ctc_loss(Gen& g) {
  const Ctc c(g);
  Call call("ctcLoss", c.in);
  if (c.batch == 1 && g.chance()) call.inputs[0] = g.tensor({c.time, c.classes}, -3, 0);
  return call.set("blank", c.blank).set("reduction", g.integer(0, 2)).set("zeroInfinity", g.chance());
}
Sampler ctc_inner(const char* name, bool grad) {
  return [=](Gen& g) {
    const Ctc c(g);
    Call call(name, c.in);
    if (grad) call.inputs.push_back(g.tensor({c.batch}));
    return call.set("blank", c.blank);
  };
}

struct Paths {
  int64_t batch, time, labels;
  Tensor times, counts;
  explicit Paths(Gen& g) : batch(g.integer(1, 2)), time(g.integer(1, 4)), labels(g.integer(0, 3)) {
    std::vector<int64_t> t, u;
    for (int64_t n = 0; n < batch; ++n) {
      t.push_back(g.integer(1, time));
      u.push_back(n + 1 == batch ? labels : g.integer(0, labels));
    }
    if (g.chance()) times = integers(g, {batch}, t);
    if (g.chance()) counts = integers(g, {batch}, u);
  }
};
Call rnnt_loss(Gen& g) {
  const Paths p(g);
  const int64_t classes = g.integer(2, 4), blank = g.integer(-classes, classes - 1);
  std::vector<int64_t> targets;
  for (int64_t i = 0; i < p.batch * p.labels; ++i)
    targets.push_back(label(g, classes, blank < 0 ? blank + classes : blank));
  Call c("rnntLoss", {g.tensor({p.batch, p.time, p.labels + 1, classes}),
                      integers(g, {p.batch, p.labels}, targets), p.times, p.counts});
  return c.set("blank", blank).set("reduction", g.integer(0, 2)).set("fusedLogSoftmax", g.chance(0.7));
}
Sampler transducer(const char* name, bool grad) {
  return [=](Gen& g) {
    const Paths p(g);
    Call c(name, {g.tensor({p.batch, p.time, p.labels + 1}, -3, 0),
                  g.tensor({p.batch, p.time, p.labels}, -3, 0), p.times, p.counts});
    if (grad) c.inputs.push_back(g.tensor({p.batch}));
    return c;
  };
}

Sampler recurrent(const char* name, int64_t gates) {
  return [=](Gen& g) {
    const bool lstm = gates == 4, both = g.chance(0.3), bias = g.chance(0.7), one = g.chance(0.15);
    const bool batch_first = g.chance(0.3);
    const int64_t layers = g.chance(0.3) ? 2 : 1, directions = both ? 2 : 1, time = g.integer(1, 3);
    const int64_t batch = one ? 1 : g.integer(1, 2), features = g.integer(1, 2), hidden = g.integer(1, 2);
    const Dims state = one ? Dims{layers * directions, hidden} : Dims{layers * directions, batch, hidden};
    const Dims x = one           ? Dims{time, features}
                   : batch_first ? Dims{batch, time, features}
                                 : Dims{time, batch, features};
    Call c(name, {g.tensor(x)});
    for (int i = 0; i < (lstm ? 2 : 1); ++i) c.inputs.push_back(g.chance() ? g.tensor(state) : Tensor());
    std::vector<int64_t> lengths;
    for (int64_t n = 0; n < batch; ++n) lengths.push_back(g.integer(1, time));
    c.inputs.push_back(g.chance(0.4) ? integers(g, {batch}, lengths) : Tensor());
    for (int64_t i = 0; i < layers * directions; ++i) {
      c.inputs.push_back(g.tensor({gates * hidden, i < directions ? features : hidden * directions}, -1, 1));
      c.inputs.push_back(g.tensor({gates * hidden, hidden}, -1, 1));
      for (int k = 0; k < (bias ? 2 : 0); ++k) c.inputs.push_back(g.tensor({gates * hidden}, -1, 1));
    }
    if (gates == 1) c.choose("nonlinearity", g.pick({"tanh", "relu"}));
    return c.set("numLayers", layers)
        .set("bidirectional", both)
        .set("batchFirst", batch_first)
        .set("bias", bias);
  };
}

// What rnn, lstm and gru are made of.
Call recurrence(Gen& g) {
  const char* cell = g.pick({"tanh", "relu", "lstm", "gru"});
  const bool lstm = cell == std::string("lstm"), gru = cell == std::string("gru");
  const int64_t gates = lstm  ? 4
                        : gru ? 3
                              : 1,
                time = g.integer(1, 3), batch = g.integer(1, 3), hidden = g.integer(1, 3);
  const Dims state{batch, hidden};
  Call c("recurrence", {g.tensor({time, batch, gates * hidden}), g.tensor(state),
                        lstm ? g.tensor(state) : Tensor(), g.tensor({gates * hidden, hidden}, -1, 1),
                        gru || g.chance(0.3) ? g.tensor({gates * hidden}, -1, 1) : Tensor()});
  return c.choose("cell", cell).set("reverse", g.chance()).set("keep", g.chance());
}
Call recurrence_grad(Gen& g) {
  const Call c = recurrence(g);
  const TensorList out = c.run();
  Call grad("recurrenceGrad", c.inputs);
  grad.inputs.push_back(g.tensor(out[0].shape()));
  grad.inputs.push_back(c.inputs[2] && g.chance(0.8) ? g.tensor(out[1].shape()) : Tensor());
  grad.inputs.resize(9);
  return grad.set("cell", c.get("cell")).set("reverse", c.get("reverse"));
}

}  // namespace

void add_sequence_samples(SampleTable& t) {
  t["ctcLoss"] = ctc_loss;
  t["ctcLossEach"] = ctc_inner("ctcLossEach", false);
  t["ctcLossGrad"] = ctc_inner("ctcLossGrad", true);
  t["rnntLoss"] = rnnt_loss;
  t["transducer"] = transducer("transducer", false);
  t["transducerGrad"] = transducer("transducerGrad", true);
  t["recurrence"] = recurrence;
  t["recurrenceGrad"] = recurrence_grad;
  t["rnn"] = recurrent("rnn", 1);
  t["lstm"] = recurrent("lstm", 4);
  t["gru"] = recurrent("gru", 3);
}

}  // namespace omnigrad::test
