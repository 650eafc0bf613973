// Convolution of any rank and its transpose. conv, its input gradient and its weight gradient are one
// trilinear form: each vjp is made of the other two, which gives gradients of every order.
#include "kernels/conv.h"

#include "omnigrad/ops.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

using Options = ConvOptions;

// Options resolved for `axes` spatial axes.
struct Window {
  Dims stride, padding, dilation;  // padding: [before, after] an axis, flattened

  Window(const Options& o, int64_t axes)
      : stride(per_axis(o.stride, axes, "stride")),
        padding(per_axis(o.padding, axes, "padding")),
        dilation(per_axis(o.dilation, axes, "dilation")) {
    for (size_t i = 0; i < stride.size(); ++i) {
      if (stride[i] < 1) fail(Code::option, "stride ", o.stride, " must be 1 or more");
      if (dilation[i] < 1) fail(Code::option, "dilation ", o.dilation, " must be 1 or more");
      if (padding[2 * i] < 0 || padding[2 * i + 1] < 0) {
        fail(Code::option, "padding ", o.padding.values, " must not be negative: slice the input instead");
      }
    }
    if (o.groups < 1) fail(Code::option, "groups ", o.groups, " must be 1 or more");
  }
  int64_t reach(size_t axis, int64_t kernel) const { return dilation[axis] * (kernel - 1) + 1; }
  int64_t around(size_t axis) const { return padding[2 * axis] + padding[2 * axis + 1]; }
  // Positions of the window on an axis of `in` elements; 0 or less if it does not fit.
  int64_t positions(size_t axis, int64_t in, int64_t kernel) const {
    const int64_t room = in + around(axis) - reach(axis, kernel);
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
};

Dims spatial(const Dims& shape) { return Dims(shape.begin() + 2, shape.end()); }
Dims join(int64_t a, int64_t b, const Dims& rest) {
  Dims r{a, b};
  r.append(rest.begin(), rest.end());
  return r;
}

int64_t check_ranks(const char* name, const Dims& input, const Dims& weight) {
  if (weight.size() < 3) fail("weight ", weight, " needs two channel axes and one or more kernel axes");
  if (input.size() != weight.size()) {
    fail(name, " has rank ", input.size(), " but weight ", weight, " needs ", weight.size(),
         ": [batch, channels, *size]");
  }
  for (int64_t k : spatial(weight)) {
    if (k < 1) fail("weight ", weight, ": kernel sizes must be 1 or more");
  }
  return static_cast<int64_t>(weight.size()) - 2;
}

void check_groups(const char* what, int64_t channels, int64_t groups) {
  if (channels % groups != 0) fail(what, " ", channels, " are not divisible by groups ", groups);
}

void check_bias(const Tensor& bias, int64_t channels) {
  if (bias && !(bias.shape() == Dims{channels})) fail("bias ", bias.shape(), " must be [", channels, "]");
}

void check_count(const Dims& shape) {
  if (product(shape) >= kernels::kMaxConvElements) {
    fail(shape, " has too many elements: an image batch must have fewer than ", kernels::kMaxConvElements);
  }
}

// `in` and `out`: the shapes of x and y of the convolution that is run or transposed.
kernels::ConvShape kernel_shape(const Options& o, const Dims& in, const Dims& out, const Dims& kernel) {
  kernels::ConvShape s;
  s.rank = static_cast<int>(kernel.size());
  const Window w(o, s.rank);
  s.batch = in[0], s.in_channels = in[1], s.out_channels = out[1], s.groups = o.groups;
  for (size_t i = 0; i < kernel.size(); ++i) {
    s.in[i] = in[i + 2], s.out[i] = out[i + 2], s.kernel[i] = kernel[i];
    s.stride[i] = w.stride[i], s.dilation[i] = w.dilation[i], s.pad[i] = w.padding[2 * i];
  }
  return s;
}

// y may have had fewer positions than the window has on x (an output padding as large as the stride): the
// rest is cut.
Tensor cut(Tensor y, const Dims& shape) {
  for (size_t i = 2; i < shape.size(); ++i) {
    if (y.shape()[i] > shape[i]) y = slice(y, static_cast<int64_t>(i), 0, shape[i]);
  }
  return y;
}

constexpr Schema window_options(Schema s, bool transposed = false) {
  s.opt("stride", &Options::stride, "step of the window: a number, or one per axis")
      .opt("padding", &Options::padding,
           transposed ? Doc("cut from both ends: a number, one per axis, or [before, after] per axis")
                      : Doc("zeros around the input: a number, one per axis, or [before, after] per axis"))
      .opt("dilation", &Options::dilation, "step between the kernel's taps: a number, or one per axis")
      .opt("groups", &Options::groups, "the channels are cut into so many groups that do not mix");
  return s;
}

struct Conv {
  using Options = ConvOptions;
  static constexpr Schema schema() {
    return window_options(op("conv", "Convolution (cross-correlation) of any rank; the rank is the input's.")
                              .in("x", Kind::floating, "[batch, in, *size]")
                              .saved()
                              .in("weight", Kind::floating, "[out, in / groups, *kernel]")
                              .saved()
                              .in("bias", Kind::floating, "[out]")
                              .optional())
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims &x = in[0].shape(), &weight = in[1].shape();
    const int64_t axes = check_ranks("input", x, weight);
    const Window w(o, axes);
    if (x[1] != weight[1] * o.groups) {
      fail("input has ", x[1], " channels but weight ", weight, " with groups ", o.groups, " needs ",
           weight[1] * o.groups);
    }
    check_groups("output channels", weight[0], o.groups);
    check_bias(in[2], weight[0]);
    Dims out{x[0], weight[0]};
    for (size_t i = 0; i < w.stride.size(); ++i) {
      const int64_t n = w.positions(i, x[i + 2], weight[i + 2]);
      if (n < 1) {
        fail("axis ", i + 2, " of the input has ", x[i + 2], " + ", w.around(i),
             " of padding but the kernel reaches over ", w.reach(i, weight[i + 2]));
      }
      out.push_back(n);
    }
    check_count(x);
    check_count(out);
    return {{out, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), weight = in[1].contiguous();
    const Tensor bias = in[2] ? in[2].contiguous() : Tensor();
    const kernels::ConvShape s = kernel_shape(o, x.shape(), out[0].shape(), spatial(weight.shape()));
    visit_floating(x.dtype(), [&]<class T>() {
      Workspace ws(kernels::conv_forward_workspace<T>(s));
      kernels::conv_forward<T>(s, x.data<T>(), weight.data<T>(), bias ? bias.data<T>() : nullptr,
                               out[0].data<T>(), ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    Grads grads(3);
    if (need[0]) grads[0] = conv_input_grad(g[0], s.in(1), spatial(s.shape(0)), o);
    if (need[1]) grads[1] = conv_weight_grad(g[0], s.in(0), spatial(s.shape(1)), o);
    if (need[2]) {
      Dims dims{0};
      for (int64_t i = 2; i < g[0].rank(); ++i) dims.push_back(i);
      grads[2] = sum(g[0], dims);
    }
    return grads;
  }
};
OMNIGRAD_OP(Conv)

// What both gradients ask of a cotangent's axis: the window has at least so many positions on the input.
void check_positions(const Window& w, const Dims& g, const Dims& in, const Dims& kernel) {
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t n = w.positions(i, in[i], kernel[i]);
    if (g[i + 2] < 1) fail("axis ", i + 2, " of g is empty");
    if (g[i + 2] > n) {
      fail("axis ", i + 2, " of g has ", g[i + 2], " positions but a kernel of ", kernel[i], " has only ", n,
           " on an input of ", in[i]);
    }
  }
}

struct ConvInputGrad {
  using Options = ConvOptions;
  static constexpr Schema schema() {
    return window_options(
               op("convInputGrad", "The gradient of conv by its input, which has the given spatial size.")
                   .in("g", Kind::floating, "[batch, out, *positions]")
                   .saved()
                   .in("weight", Kind::floating, "[out, in / groups, *kernel]")
                   .saved())
        .opt("size", &Options::size, "spatial size of the input")
        .out("gx")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims &g = in[0].shape(), &weight = in[1].shape();
    const int64_t axes = check_ranks("g", g, weight);
    const Window w(o, axes);
    const Dims size = per_axis(o.size, axes, "size");
    if (g[1] != weight[0]) fail("g has ", g[1], " channels but weight ", weight, " needs ", weight[0]);
    check_groups("channels", g[1], o.groups);
    check_positions(w, g, size, spatial(weight));
    const Dims out = join(g[0], weight[1] * o.groups, size);
    check_count(g);
    check_count(out);
    return {{out, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor g = in[0].contiguous(), weight = in[1].contiguous();
    const kernels::ConvShape s = kernel_shape(o, out[0].shape(), g.shape(), spatial(weight.shape()));
    visit_floating(g.dtype(), [&]<class T>() {
      Workspace ws(kernels::conv_input_grad_workspace<T>(s));
      kernels::conv_input_grad<T>(s, g.data<T>(), weight.data<T>(), out[0].data<T>(), ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    Grads grads(2);
    if (need[0]) grads[0] = cut(conv(v[0], s.in(1), {}, o), s.shape(0));
    if (need[1]) grads[1] = conv_weight_grad(s.in(0), v[0], spatial(s.shape(1)), o);
    return grads;
  }
};
OMNIGRAD_OP(ConvInputGrad)

struct ConvWeightGrad {
  using Options = ConvOptions;
  static constexpr Schema schema() {
    return window_options(
               op("convWeightGrad", "The gradient of conv by its weight, which has the given kernel size.")
                   .in("g", Kind::floating, "[batch, out, *positions]")
                   .saved()
                   .in("x", Kind::floating, "[batch, in, *size]")
                   .saved())
        .opt("size", &Options::size, "size of the kernel")
        .out("gw")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims &g = in[0].shape(), &x = in[1].shape();
    if (g.size() < 3 || g.size() != x.size()) fail("g and x must have one rank, 3 or more");
    const auto axes = static_cast<int64_t>(g.size()) - 2;
    const Window w(o, axes);
    const Dims kernel = per_axis(o.size, axes, "size");
    for (int64_t k : kernel) {
      if (k < 1) fail(Code::option, "kernel size ", kernel, " must be 1 or more");
    }
    if (g[0] != x[0]) fail("batch sizes ", g[0], " and ", x[0], " differ");
    check_groups("channels of g,", g[1], o.groups);
    check_groups("channels of x,", x[1], o.groups);
    check_positions(w, g, spatial(x), kernel);
    check_count(g);
    check_count(x);
    return {{join(g[1], x[1] / o.groups, kernel), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor g = in[0].contiguous(), x = in[1].contiguous();
    const kernels::ConvShape s = kernel_shape(o, x.shape(), g.shape(), spatial(out[0].shape()));
    visit_floating(g.dtype(), [&]<class T>() {
      Workspace ws(kernels::conv_weight_grad_workspace<T>(s));
      kernels::conv_weight_grad<T>(s, g.data<T>(), x.data<T>(), out[0].data<T>(), ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents u, Need need) {
    Grads grads(2);
    if (need[0]) grads[0] = cut(conv(s.in(1), u[0], {}, o), s.shape(0));
    if (need[1]) grads[1] = conv_input_grad(s.in(0), u[0], spatial(s.shape(1)), o);
    return grads;
  }
};
OMNIGRAD_OP(ConvWeightGrad)

// The input gradient of a convolution from y's size to x's, whose weight is [in, out / groups, *kernel].
struct ConvTranspose {
  using Options = ConvOptions;
  static constexpr Schema schema() {
    return window_options(op("convTranspose", "Transposed convolution of any rank; the rank is the input's.")
                              .in("x", Kind::floating, "[batch, in, *size]")
                              .in("weight", Kind::floating, "[in, out / groups, *kernel]")
                              .in("bias", Kind::floating, "[out]")
                              .optional(),
                          true)
        .opt("outputPadding", &Options::output_padding,
             "added to the end of the output, to tell apart the sizes that a stride maps to one: a number, "
             "or one per axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims &x = in[0].shape(), &weight = in[1].shape();
    const int64_t axes = check_ranks("input", x, weight);
    const Window w(o, axes);
    const Dims extra = per_axis(o.output_padding, axes, "outputPadding");
    if (x[1] != weight[0]) fail("input has ", x[1], " channels but weight ", weight, " needs ", weight[0]);
    check_groups("input channels", x[1], o.groups);
    check_bias(in[2], weight[1] * o.groups);
    Dims out{x[0], weight[1] * o.groups};
    for (size_t i = 0; i < w.stride.size(); ++i) {
      if (extra[i] < 0 || (extra[i] >= w.stride[i] && extra[i] >= w.dilation[i])) {
        fail(Code::option, "outputPadding ", extra, " must be less than the stride ", w.stride,
             " or the dilation ", w.dilation);
      }
      if (x[i + 2] < 1) fail("axis ", i + 2, " of the input is empty");
      const int64_t n = (x[i + 2] - 1) * w.stride[i] + w.reach(i, weight[i + 2]) + extra[i] - w.around(i);
      if (n < 1) {
        fail("axis ", i + 2, " of the output would have ", n, " elements: padding ", o.padding.values,
             " cuts too much");
      }
      out.push_back(n);
    }
    check_count(x);
    check_count(out);
    return {{out, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    Tensor y = conv_input_grad(in[0], in[1], spatial(shape(o, in)[0].shape), o);
    if (in[2]) {
      Dims along(y.shape().size(), 1);
      along[1] = y.size(1);
      y = y + reshape(in[2], along);
    }
    return {y};
  }
};
OMNIGRAD_OP(ConvTranspose)

Options with_size(Options o, const Dims& size) {
  o.size = size;
  return o;
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& o) {
  return apply1<Conv>({x, weight, bias}, o);
}
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& o) {
  return apply1<ConvTranspose>({x, weight, bias}, o);
}
Tensor conv_input_grad(const Tensor& g, const Tensor& weight, const Dims& size, const ConvOptions& o) {
  return apply1<ConvInputGrad>({g, weight}, with_size(o, size));
}
Tensor conv_weight_grad(const Tensor& g, const Tensor& x, const Dims& kernel, const ConvOptions& o) {
  return apply1<ConvWeightGrad>({g, x}, with_size(o, kernel));
}

}  // namespace omnigrad
