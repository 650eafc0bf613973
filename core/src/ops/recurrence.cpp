// See recurrence.h. The fused gradient op reads what forward kept of the gates, a cache: as a function it
// depends on the inputs and cotangents alone, and its vjp goes through the composite of those.
#include "recurrence.h"

#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "omnigrad/autograd.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

using kernels::Cell;

// The equal parts of a step's gates.
TensorList gates_of(const Tensor& x, size_t count) {
  return split(x, Dims(count, x.size(-1) / static_cast<int64_t>(count)), -1);
}

kernels::RecurrentSizes resolve(const RecurrenceOptions& o, Inputs in) {
  const Dims &a = in[0].shape(), &w = in[3].shape();
  if (a.size() != 3 || w.size() != 2)
    fail("a ", a, " must be [time, batch, gates * hidden], weight ", w, " [gates * hidden, hidden]");
  if (a[0] < 1) fail("a ", a, " has no step of time");
  kernels::RecurrentSizes s{o.cell, a[0], a[1], w[1], o.reverse};
  const int64_t wide = s.gates() * s.hidden;
  const Dims state{s.batch, s.hidden};
  if (a[2] != wide || w[0] != wide) fail("a ", a, " and weight ", w, " must have ", wide, " gates");
  if (!(in[1].shape() == state)) fail("h0 ", in[1].shape(), " must be ", state);
  if (in[2].defined() != (o.cell == Cell::lstm)) fail(Code::argument, "c0 goes with lstm");
  if (in[2] && !(in[2].shape() == state)) fail("c0 ", in[2].shape(), " must be ", state);
  if (in[4] && !(in[4].shape() == Dims{wide})) fail("bias ", in[4].shape(), " must be [", wide, "]");
  return s;
}

constexpr Schema inputs(Schema s) {
  return s.in("a", Kind::floating, "[time, batch, gates * hidden]: the inputs' share of the gates")
      .saved()
      .in("h0", Kind::floating, "[batch, hidden]")
      .saved()
      .in("c0", Kind::floating, "[batch, hidden]; lstm's")
      .optional()
      .saved()
      .in("weight", Kind::floating, "[gates * hidden, hidden]")
      .saved()
      .in("bias", Kind::floating, "[gates * hidden], of the state's share")
      .optional()
      .saved();
}
constexpr Choices kCells{"tanh", "relu", "lstm", "gru"};

template <class T>
T* data_of(const Tensor& t) {
  return t && t.numel() > 0 ? t.data<T>() : nullptr;
}
Tensor packed(const Tensor& t) { return t ? t.contiguous() : t; }
TensorList all_packed(Inputs in) {
  TensorList out;
  for (const Tensor& t : in) out.push_back(packed(t));
  return out;
}
template <class T>
kernels::RecurrentInputs<T> kernel_inputs(const TensorList& in) {
  return {in[0].data<T>(), in[1].data<T>(), data_of<T>(in[2]), in[3].data<T>(), data_of<T>(in[4])};
}

// [all h, the last c] in differentiable ops.
TensorList composite(const RecurrenceOptions& o, const TensorList& in) {
  const int64_t time = in[0].size(0);
  TensorList state{in[1]}, outputs(static_cast<size_t>(time));
  if (in[2]) state.push_back(in[2]);
  for (int64_t i = 0; i < time; ++i) {
    const int64_t t = o.reverse ? time - 1 - i : i;
    const Tensor x = squeeze(slice(in[0], 0, t, t + 1), 0);
    state = cell_step(o.cell, x, linear(state[0], in[3], in[4]), state);
    outputs[static_cast<size_t>(t)] = unsqueeze(state[0], 0);
  }
  return {cat(outputs, 0), in[2] ? state[1] : Tensor()};
}

struct RecurrenceGrad {
  struct Options : RecurrenceOptions {
    bool want_weight = true;
  };
  static constexpr Schema schema() {
    return inputs(op("recurrenceGrad", "The gradients of recurrence, fused."))
        .in("gy", Kind::floating, "the cotangent of y")
        .optional()
        .saved()
        .in("gc", Kind::floating, "the cotangent of c; lstm's")
        .optional()
        .saved()
        .in("y", Kind::floating, "recurrence's; with kept, saving the time to make them again")
        .nondiff()
        .optional()
        .in("kept", Kind::floating, "recurrence's")
        .nondiff()
        .optional()
        .opt<RecurrenceOptions, Cell>("cell", &Options::cell, "", kCells)
        .opt<RecurrenceOptions, bool>("reverse", &Options::reverse)
        .opt("wantWeight", &Options::want_weight, "and bias")
        .out("ga")
        .out("gh0")
        .out("gc0")
        .out("gweight")
        .when("wantWeight")
        .out("gbias")
        .when("wantWeight")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const kernels::RecurrentSizes s = resolve(o, in);
    const Dims y{s.time, s.batch, s.hidden};
    for (size_t i : {size_t{5}, size_t{7}})
      if (in[i] && !(in[i].shape() == y)) fail(i == 5 ? "gy " : "y ", in[i].shape(), " must be ", y);
    if (in[6] && !(in[6].shape() == in[1].shape())) fail("gc ", in[6].shape(), " must be ", in[1].shape());
    if (in[8] && in[8].numel() != s.time * s.batch * s.hidden * s.kept())
      fail("kept ", in[8].shape(), " must have ", s.kept(), " numbers for each of ", y);
    const auto spec = [&](bool wanted, const Tensor& t) {
      return OutSpec{wanted && t ? t.shape() : Dims{0}, in[0].dtype()};
    };
    return {spec(true, in[0]), spec(true, in[1]), spec(true, in[2]), spec(o.want_weight, in[3]),
            spec(o.want_weight, in[4])};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::RecurrentSizes s = resolve(o, in);
    TensorList t = all_packed(in);
    if (!t[7] || !t[8]) {
      const TensorList again = remade(o, {t[0], t[1], t[2], t[3], t[4]});
      t[7] = again[0], t[8] = again[2];
    }
    const Tensor state_n = Tensor::empty(s.cell == Cell::gru ? t[7].shape() : Dims{0}, t[0].dtype());
    visit_floating(t[0].dtype(), [&]<class T>() {
      {
        Workspace ws(kernels::recurrent_grad_workspace<T>(s));
        kernels::recurrent_grad<T>(s, kernel_inputs<T>(t), t[7].data<T>(), data_of<T>(t[8]),
                                   {data_of<T>(t[5]), data_of<T>(t[6]), out[0].data<T>(), out[1].data<T>(),
                                    data_of<T>(out[2]), data_of<T>(state_n)},
                                   ws.as());
      }
      if (!o.want_weight) return;
      // The gates that depend on the state through its share alone, then gru's n.
      const int64_t wide = s.gates() * s.hidden, plain = wide - (s.cell == Cell::gru ? s.hidden : 0);
      weights(s, plain, out[0].data<T>(), wide, t, out[3].data<T>(), data_of<T>(out[4]));
      if (plain < wide)
        weights(s, s.hidden, state_n.data<T>(), s.hidden, t, out[3].data<T>() + plain * s.hidden,
                out[4].numel() > 0 ? out[4].data<T>() + plain : nullptr);
    });
  }
  static TensorList remade(const RecurrenceOptions& o, const TensorList& in);
  // Rows of the weight's gradient from those of the state's share of the gates, d [time, batch, stride].
  template <class T>
  static void weights(const kernels::RecurrentSizes& s, int64_t rows, const T* d, int64_t stride,
                      const TensorList& in, T* weight, T* bias) {
    const int64_t step = s.batch * stride, n = s.hidden, later = (s.time - 1) * s.batch;
    // All steps but the first follow one whose h is in y.
    const T *d_later = s.reverse ? d : d + step, *d_first = s.reverse ? d + (s.time - 1) * step : d,
            *before = in[7].data<T>() + (s.reverse ? s.batch * n : 0);
    Workspace ws(
        std::max({kernels::gemm_workspace<T>(rows, n, later), kernels::gemm_workspace<T>(rows, n, s.batch),
                  kernels::sum_workspace(in[0].dtype(), 1, s.time * s.batch, stride)}));
    kernels::gemm<T>(rows, n, s.batch, {d_first, 1, stride}, {in[1].data<T>(), n, 1}, weight, false, ws.as());
    if (later > 0)
      kernels::gemm<T>(rows, n, later, {d_later, 1, stride}, {before, n, 1}, weight, true, ws.as());
    if (!bias) return;
    Workspace sums(static_cast<size_t>(stride) * sizeof(T));
    kernels::sum(in[0].dtype(), d, sums.as(), 1, s.time * s.batch, stride, ws.as());
    std::copy_n(sums.as<T>(), rows, bias);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    TensorList wanted{v[0], v[1], s.in(2) ? v[2] : Tensor(), o.want_weight ? v[3] : Tensor(),
                      o.want_weight && s.in(4) ? v[4] : Tensor()};
    Grads grads =
        double_backward([&o](const TensorList& in) { return composite(o, in); },
                        {s.in(0), s.in(1), s.in(2), s.in(3), s.in(4)}, {s.in(5), s.in(6)}, wanted, need);
    grads.resize(9);
    return grads;
  }
};
OMNIGRAD_OP(RecurrenceGrad)

struct Recurrence {
  struct Options : RecurrenceOptions {
    bool keep = false;
  };
  static constexpr Schema schema() {
    return inputs(op("recurrence", "All states of one direction of a recurrent layer."))
        .opt<RecurrenceOptions, Cell>("cell", &Options::cell, "", kCells)
        .opt<RecurrenceOptions, bool>("reverse", &Options::reverse, "from the last step to the first")
        .opt("keep", &Options::keep, "leave the gates for the gradient")
        .out("y")
        .saved()
        .out("c")
        .out("kept")
        .nondiff()
        .saved()
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const kernels::RecurrentSizes s = resolve(o, in);
    const DType t = in[0].dtype();
    return {{{s.time, s.batch, s.hidden}, t},
            {in[2] ? in[2].shape() : Dims{0}, t},
            {{o.keep ? s.time * s.batch * s.hidden * s.kept() : 0}, t}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::RecurrentSizes s = resolve(o, in);
    const TensorList t = all_packed(in);
    visit_floating(t[0].dtype(), [&]<class T>() {
      Workspace ws(kernels::recurrent_workspace<T>(s));
      kernels::recurrent<T>(s, kernel_inputs<T>(t), out[0].data<T>(), data_of<T>(out[1]), data_of<T>(out[2]),
                            ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    RecurrenceGrad::Options options;
    static_cast<RecurrenceOptions&>(options) = o;
    options.want_weight = need[3] || need[4];
    const TensorList in{s.in(0), s.in(1), s.in(2), s.in(3), s.in(4)};
    const TensorList t =
        apply<RecurrenceGrad>({in[0], in[1], in[2], in[3], in[4], g[0], in[2] ? g[1] : Tensor(), s.out(0),
                               o.keep ? s.out(2) : Tensor()},
                              options);
    Grads grads(5);
    for (size_t i = 0; i < 5; ++i)
      if (need[i] && in[i]) grads[i] = t[i];
    return grads;
  }
};
OMNIGRAD_OP(Recurrence)

TensorList RecurrenceGrad::remade(const RecurrenceOptions& o, const TensorList& in) {
  GradMode off(false);
  Recurrence::Options options;
  static_cast<RecurrenceOptions&>(options) = o;
  options.keep = true;
  return apply<Recurrence>(in, options);
}

}  // namespace

TensorList cell_step(Cell cell, const Tensor& x, const Tensor& h, const TensorList& state) {
  switch (cell) {
    case Cell::tanh:
      return {tanh(x + h)};
    case Cell::relu:
      return {relu(x + h)};
    case Cell::lstm: {
      const TensorList g = gates_of(x + h, 4);
      const Tensor c = sigmoid(g[1]) * state[1] + sigmoid(g[0]) * tanh(g[2]);
      return {sigmoid(g[3]) * tanh(c), c};
    }
    case Cell::gru:
      break;
  }
  const TensorList a = gates_of(x, 3), b = gates_of(h, 3);
  const Tensor n = tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]);
  return {n + sigmoid(a[1] + b[1]) * (state[0] - n)};
}

Tensor recurrence(const RecurrenceOptions& o, const Tensor& a, const Tensor& weight, const Tensor& bias,
                  TensorList& state) {
  Recurrence::Options options;
  static_cast<RecurrenceOptions&>(options) = o;
  const bool lstm = o.cell == Cell::lstm;
  const TensorList in{a, state[0], lstm ? state[1] : Tensor(), weight, bias};
  for (const Tensor& t : in) options.keep |= t && grad_enabled() && t.requires_grad();
  const TensorList out = apply<Recurrence>(in, options);
  const int64_t last = o.reverse ? 0 : a.size(0) - 1;
  state[0] = squeeze(slice(out[0], 0, last, last + 1), 0);
  if (lstm) state[1] = out[1];
  return out[0];
}

}  // namespace omnigrad
