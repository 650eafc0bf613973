// Recurrent layers as PyTorch defines them: rnn, lstm and gru, of several layers, in one or both directions,
// over sequences of different lengths. The inputs of all steps are projected in one product; the recurrence
// is fused (recurrence.h), step by step in differentiable ops where lengths differ.
#include <string>

#include "omnigrad/ops.h"
#include "ops/alignment.h"
#include "ops/recurrence.h"

namespace omnigrad {
namespace {

using kernels::Cell;

struct RnnOptions {
  int64_t numLayers = 1;
  bool bidirectional = false, batchFirst = false, bias = true;
  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t weights() const { return bias ? 4 : 2; }  // of a layer in one direction
};

// What a cell carries from step to step: h, and for lstm c.
using State = TensorList;

// Sizes of a call, checked. Inputs: x, the initial state's parts, lengths, then weights.
struct Sizes {
  bool batched = true;
  int64_t time = 0, batch = 1, hidden = 0;
  Integers lengths;
  size_t first_weight;

  Sizes(const RnnOptions& o, Inputs in, size_t state_parts, int64_t gates) : first_weight(state_parts + 2) {
    const Dims& x = in[0].shape();
    if (x.size() != 2 && x.size() != 3)
      fail("x must be [time, batch, features] or [time, features], it has ", x);
    if (o.numLayers < 1) fail(Code::option, "numLayers ", o.numLayers, " must be 1 or more");
    const size_t given = in.size() - first_weight, cells = static_cast<size_t>(o.numLayers) * o.directions();
    if (given % o.weights() != 0 || given / o.weights() != cells) {
      fail(Code::argument, "got ", given, " weights, it takes ", o.weights(), " for each of ", o.numLayers,
           " layers and ", o.directions(), " directions");
    }
    batched = x.size() == 3;
    time = x[batched && o.batchFirst ? 1 : 0];
    if (batched) batch = x[o.batchFirst ? 0 : 1];
    if (time < 1) fail("x ", x, " has no step of time");
    const Dims& recurrent = in[first_weight + 1].shape();
    if (recurrent.size() != 2) fail("weightHh ", recurrent, " must be [", gates, " * hidden, hidden]");
    hidden = recurrent[1];
    for (size_t i = 0; i < given; ++i) check_weight(o, in[first_weight + i], i, gates, x.back());
    Dims state{static_cast<int64_t>(cells), batch, hidden};
    if (!batched) state.erase(1);
    for (size_t i = 1; i <= state_parts; ++i) {
      if (in[i] && !(in[i].shape() == state))
        fail(i == 1 ? "h0 " : "c0 ", in[i].shape(), " must be ", state,
             ": [layers * directions, batch, hidden]");
    }
    if (in[state_parts + 1]) lengths = lengths_of(in[state_parts + 1], batch, 1, time, "lengths");
  }

  void check_weight(const RnnOptions& o, const Tensor& w, size_t i, int64_t gates, int64_t features) const {
    const size_t part = i % o.weights(), layer = i / o.weights() / o.directions();
    const int64_t rows = gates * hidden;
    Dims expected{rows};
    if (part == 0) expected.push_back(layer == 0 ? features : hidden * static_cast<int64_t>(o.directions()));
    if (part == 1) expected.push_back(hidden);
    if (!(w.shape() == expected)) {
      static const char* const kNames[] = {"weightIh", "weightHh", "biasIh", "biasHh"};
      fail(kNames[part], " of layer ", layer, " ", w.shape(), " must be ", expected);
    }
  }

  OutSpecs outputs(const RnnOptions& o, Inputs in, size_t state_parts) const {
    Dims y = in[0].shape(), state{o.numLayers * static_cast<int64_t>(o.directions()), batch, hidden};
    y.back() = hidden * static_cast<int64_t>(o.directions());
    if (!batched) state.erase(1);
    OutSpecs out{{y, in[0].dtype()}};
    for (size_t i = 0; i < state_parts; ++i) out.push_back({state, in[0].dtype()});
    return out;
  }

  // Which samples have a step t, [batch, 1]; undefined: all.
  Tensor running(int64_t t) const {
    Tensor mask;
    for (size_t n = 0; n < lengths.size(); ++n) {
      if (t < lengths[n]) continue;
      if (!mask) mask = cast(ones({batch, 1}, DType::uint8), DType::boolean);
      mask.data<bool>()[n] = false;
    }
    return mask;
  }
};

TensorList steps(const Tensor& x, int64_t dim) {
  TensorList parts = split(x, Dims(static_cast<size_t>(x.size(dim)), 1), dim);
  for (Tensor& t : parts) t = squeeze(t, dim);
  return parts;
}
struct Weights {
  Tensor input, hidden, input_bias, hidden_bias;
};

// One direction of one layer over x [time, batch, features]; `state` becomes the last one.
Tensor run(Cell cell, const Sizes& sizes, const Tensor& x, const Weights& w, State& state, bool reverse) {
  // Where nothing comes between the biases, they are added up once.
  const bool joined = cell != Cell::gru && w.input_bias;
  const Tensor hidden_bias = joined ? Tensor() : w.hidden_bias;
  const Tensor a = linear(x, w.input, joined ? w.input_bias + w.hidden_bias : w.input_bias);
  if (sizes.lengths.empty()) return recurrence({cell, reverse}, a, w.hidden, hidden_bias, state);
  const TensorList inputs = steps(a, 0);
  TensorList outputs(static_cast<size_t>(sizes.time));
  for (int64_t i = 0; i < sizes.time; ++i) {
    const int64_t t = reverse ? sizes.time - 1 - i : i;
    const auto at = static_cast<size_t>(t);
    State next = cell_step(cell, inputs[at], linear(state[0], w.hidden, hidden_bias), state);
    outputs[at] = next[0];
    if (const Tensor running = sizes.running(t)) {
      for (size_t k = 0; k < state.size(); ++k) next[k] = where(running, next[k], state[k]);
      outputs[at] = where(running, outputs[at], Tensor::scalar(0, x.dtype()));
    }
    state = std::move(next);
  }
  return reshape(cat(outputs, 0), {sizes.time, sizes.batch, sizes.hidden});
}

TensorList recurrent(Cell cell, const RnnOptions& o, Inputs in) {
  const size_t states = cell == Cell::lstm ? 2 : 1;
  const Sizes sizes(o, in, states, kernels::RecurrentSizes{cell}.gates());
  Tensor x = in[0];
  if (!sizes.batched) {
    x = unsqueeze(x, 1);
  } else if (o.batchFirst) {
    x = transpose(x, 0, 1);
  }
  const size_t cells = static_cast<size_t>(o.numLayers) * o.directions();
  TensorList initial[2], last[2];
  for (size_t k = 0; k < states; ++k) {
    if (in[k + 1]) {
      initial[k] = steps(sizes.batched ? in[k + 1] : unsqueeze(in[k + 1], 1), 0);
    } else {
      initial[k] = TensorList(cells, zeros({sizes.batch, sizes.hidden}, x.dtype()));
    }
  }
  for (size_t i = 0; i < cells;) {
    TensorList sides;
    for (size_t d = 0; d < o.directions(); ++d, ++i) {
      const size_t w = sizes.first_weight + i * o.weights();
      const Weights weights{in[w], in[w + 1], o.bias ? in[w + 2] : Tensor(), o.bias ? in[w + 3] : Tensor()};
      State state;
      for (size_t k = 0; k < states; ++k) state.push_back(initial[k][i]);
      sides.push_back(run(cell, sizes, x, weights, state, d == 1));
      for (size_t k = 0; k < states; ++k) last[k].push_back(state[k]);
    }
    x = sides.size() == 1 ? sides[0] : cat(sides, -1);
  }
  if (!sizes.batched) {
    x = squeeze(x, 1);
  } else if (o.batchFirst) {
    x = transpose(x, 0, 1);
  }
  TensorList out{x};
  for (size_t k = 0; k < states; ++k) {
    Dims shape{static_cast<int64_t>(cells), sizes.batch, sizes.hidden};
    if (!sizes.batched) shape.erase(1);
    out.push_back(reshape(cat(last[k], 0), shape));
  }
  return out;
}

template <class O>
constexpr Schema layers(Schema s, Doc weights) {
  return s
      .in("lengths", Kind::index,
          "[batch], steps of each sequence: beyond them y is 0 and the state stays; all")
      .optional()
      .opt<O, int64_t>("numLayers", &O::numLayers, "layers, each reading the one before")
      .template opt<O, bool>("bidirectional", &O::bidirectional,
                             "with a second direction, from each sequence's end")
      .template opt<O, bool>("batchFirst", &O::batchFirst, "x and y are [batch, time, ...]")
      .template opt<O, bool>("bias", &O::bias, "weights hold biases")
      .in("weights", Kind::floating, weights)
      .variadic()
      .out("y")
      .out("hn");
}
constexpr Schema leading(const char* name, Doc doc) {
  return op(name, doc)
      .in("x", Kind::floating, "[time, batch, features], or [time, features] of one sequence")
      .in("h0", Kind::floating, "[layers * directions, batch, hidden]: the initial state; 0")
      .optional();
}

struct Rnn {
  struct Options : RnnOptions {
    enum class Nonlinearity { tanh, relu } nonlinearity = Nonlinearity::tanh;
  };
  static constexpr Schema schema() {
    return layers<Options>(leading("rnn", "Elman's recurrent layers: h' = tanh(Wx + b + Uh + c), or relu."),
                           "for each layer and direction weightIh [hidden, features], weightHh [hidden, "
                           "hidden], biasIh and "
                           "biasHh [hidden], in PyTorch's order")
        .opt("nonlinearity", &Options::nonlinearity, "of a step", {"tanh", "relu"});
  }
  static OutSpecs shape(const Options& o, Inputs in) { return Sizes(o, in, 1, 1).outputs(o, in, 1); }
  static TensorList compose(const Options& o, Inputs in) {
    return recurrent(o.nonlinearity == Options::Nonlinearity::relu ? Cell::relu : Cell::tanh, o, in);
  }
};
OMNIGRAD_OP(Rnn)

struct Lstm {
  using Options = RnnOptions;
  static constexpr Schema schema() {
    return layers<Options>(
               leading("lstm",
                       "Layers of long short-term memory, gates i, f, g, o: c' = f c + i g, h' = o tanh(c').")
                   .in("c0", Kind::floating,
                       "[layers * directions, batch, hidden]: the initial cell state; 0")
                   .optional(),
               "for each layer and direction weightIh [4 hidden, features], weightHh [4 hidden, hidden], "
               "biasIh and "
               "biasHh [4 hidden], in PyTorch's order")
        .out("cn");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return Sizes(o, in, 2, 4).outputs(o, in, 2); }
  static TensorList compose(const Options& o, Inputs in) { return recurrent(Cell::lstm, o, in); }
};
OMNIGRAD_OP(Lstm)

struct Gru {
  using Options = RnnOptions;
  static constexpr Schema schema() {
    return layers<Options>(
        leading(
            "gru",
            "Gated recurrent layers, gates r, z, n: n = tanh(Wx + b + r (Uh + c)), h' = (1 - z) n + z h."),
        "for each layer and direction weightIh [3 hidden, features], weightHh [3 hidden, hidden], biasIh and "
        "biasHh [3 hidden], in PyTorch's order");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return Sizes(o, in, 1, 3).outputs(o, in, 1); }
  static TensorList compose(const Options& o, Inputs in) { return recurrent(Cell::gru, o, in); }
};
OMNIGRAD_OP(Gru)

}  // namespace
}  // namespace omnigrad
