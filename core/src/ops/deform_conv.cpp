// Deformable convolution v2 of rank 1 to 3: fused forward and gradient. The gradient is itself an op; its vjp
// re-runs the composite, so every higher order is differentiable too.
#include "ops/deform_conv.h"

#include "kernels/deform_conv.h"
#include "omnigrad/autograd.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

template <class O>
constexpr Schema window_options(Schema s) {
  s.opt<O, Dims>("stride", &O::stride, "step of the window: a number, or one per axis")
      .template opt<O, Dims>("padding", &O::padding, "zeros on both sides: a number, or one per axis")
      .template opt<O, Dims>("dilation", &O::dilation,
                             "step between the kernel's taps: a number, or one per axis")
      .template opt<O, int64_t>("groups", &O::groups,
                                "the channels are cut into so many groups that do not mix")
      .template opt<O, int64_t>("offsetGroups", &O::offset_groups,
                                "the input channels are cut into so many groups with offsets of their own");
  return s;
}

// Checks everything but the bias, and resolves the options.
kernels::DeformConvSizes resolve(const DeformConvOptions& o, const Dims& x, const Dims& offset,
                                 const Dims& weight, const Tensor& mask) {
  if (x.size() < 3 || x.size() > 5)
    fail("input ", x, " needs [batch, channels, *size] with one to three axes of size");
  if (weight.size() != x.size()) {
    fail("input has rank ", x.size(), " but weight ", weight, " has ", weight.size(),
         ": it must be [out, in / groups, *kernel]");
  }
  const auto rank = static_cast<int64_t>(x.size()) - 2;
  const Dims stride = per_axis(o.stride, rank, "stride"), padding = per_axis(o.padding, rank, "padding"),
             dilation = per_axis(o.dilation, rank, "dilation");
  if (o.groups < 1) fail(Code::option, "groups ", o.groups, " must be 1 or more");
  if (o.offset_groups < 1) fail(Code::option, "offsetGroups ", o.offset_groups, " must be 1 or more");
  if (x[1] < 1) fail("input ", x, " has no channels");
  if (x[1] != weight[1] * o.groups) {
    fail("input has ", x[1], " channels but weight ", weight, " with groups ", o.groups, " needs ",
         weight[1] * o.groups);
  }
  if (weight[0] % o.groups != 0)
    fail("output channels ", weight[0], " are not divisible by groups ", o.groups);
  if (x[1] % o.offset_groups != 0) {
    fail("input channels ", x[1], " are not divisible by offsetGroups ", o.offset_groups);
  }
  kernels::DeformConvSizes s;
  s.rank = static_cast<int>(rank);
  s.batch = x[0], s.channels = x[1], s.out_channels = weight[0], s.groups = o.groups,
  s.offset_groups = o.offset_groups;
  Dims out;
  for (size_t i = 0; i < stride.size(); ++i) {
    if (stride[i] < 1) fail(Code::option, "stride ", o.stride, " must be 1 or more");
    if (dilation[i] < 1) fail(Code::option, "dilation ", o.dilation, " must be 1 or more");
    if (padding[i] < 0) fail(Code::option, "padding ", o.padding, " must not be negative");
    const int64_t kernel = weight[i + 2], reach = dilation[i] * (kernel - 1) + 1,
                  room = x[i + 2] + 2 * padding[i] - reach;
    if (kernel < 1) fail("weight ", weight, ": kernel sizes must be 1 or more");
    if (room < 0) {
      fail("axis ", i + 2, " of the input has ", x[i + 2], " + ", 2 * padding[i],
           " of padding but the kernel reaches over ", reach);
    }
    s.size[i] = x[i + 2], s.kernel[i] = kernel, s.out[i] = room / stride[i] + 1;
    s.stride[i] = stride[i], s.padding[i] = padding[i], s.dilation[i] = dilation[i];
    out.push_back(s.out[i]);
  }
  const auto check = [&](const char* name, const Dims& given, int64_t per_tap, const char* what) {
    Dims expected{x[0], o.offset_groups * s.taps() * per_tap};
    expected.append(out.begin(), out.end());
    if (!(given == expected))
      fail(name, " ", given, " must be ", expected, ": [batch, offsetGroups * taps", what, ", *out]");
  };
  check("offset", offset, rank, " * axes");
  if (mask) check("mask", mask.shape(), 1, "");
  return s;
}

template <class T>
const T* data_of(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}
Tensor packed(const Tensor& t) { return t ? t.contiguous() : t; }

struct DeformConvGrad {
  struct Options : DeformConvOptions {
    bool want_x = true, want_offset = true, want_weight = true, want_mask = true;
  };
  static constexpr Schema schema() {
    return window_options<Options>(
               op("deformConvGrad",
                  "The gradients of deformConv, fused; those that are not wanted are empty.")
                   .in("x", Kind::floating, "as deformConv's")
                   .saved()
                   .in("offset", Kind::floating, "as deformConv's")
                   .saved()
                   .in("weight", Kind::floating, "as deformConv's")
                   .saved()
                   .in("mask", Kind::floating, "as deformConv's")
                   .optional()
                   .saved()
                   .in("g", Kind::floating, "[batch, out, *out]: the cotangent of y")
                   .saved())
        .opt("wantX", &Options::want_x)
        .opt("wantOffset", &Options::want_offset)
        .opt("wantWeight", &Options::want_weight)
        .opt("wantMask", &Options::want_mask)
        .out("gx")
        .when("wantX")
        .out("goffset")
        .when("wantOffset")
        .out("gweight")
        .when("wantWeight")
        .out("gmask")
        .when("wantMask")
        .internal();
  }
  static bool wants(const Options& o, size_t i) {
    return i == 0 ? o.want_x : i == 1 ? o.want_offset : i == 2 ? o.want_weight : o.want_mask;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const kernels::DeformConvSizes s = resolve(o, in[0].shape(), in[1].shape(), in[2].shape(), in[3]);
    Dims expected{s.batch, s.out_channels};
    for (int i = 0; i < s.rank; ++i) expected.push_back(s.out[static_cast<size_t>(i)]);
    if (!(in[4].shape() == expected)) fail("g ", in[4].shape(), " must be ", expected);
    OutSpecs out;
    for (size_t i = 0; i < 4; ++i)
      out.push_back({wants(o, i) && in[i] ? in[i].shape() : Dims{0}, in[0].dtype()});
    return out;
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::DeformConvSizes s = resolve(o, in[0].shape(), in[1].shape(), in[2].shape(), in[3]);
    const Tensor x = in[0].contiguous(), offset = in[1].contiguous(), weight = in[2].contiguous(),
                 mask = packed(in[3]), g = in[4].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      const auto wanted = [&](size_t i) { return wants(o, i) && in[i] ? out[i].data<T>() : nullptr; };
      Workspace workspace(kernels::deform_conv_grad_workspace<T>(s));
      kernels::deform_conv_grad<T>(s, x.data<T>(), offset.data<T>(), weight.data<T>(), data_of<T>(mask),
                                   g.data<T>(), {wanted(0), wanted(1), wanted(2), wanted(3)}, workspace.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    TensorList wanted(4);
    for (size_t i = 0; i < 4 && i < v.size(); ++i)
      if (wants(o, i)) wanted[i] = v[i];
    return double_backward(
        [&o](const TensorList& in) {
          return TensorList{deform_conv_composite(in[0], in[1], in[2], in[3], o)};
        },
        {s.in(0), s.in(1), s.in(2), s.in(3)}, {s.in(4)}, wanted, need);
  }
};
OMNIGRAD_OP(DeformConvGrad)

struct DeformConv {
  using Options = DeformConvOptions;
  static constexpr Schema schema() {
    return window_options<Options>(op("deformConv",
                                      "Deformable convolution v2 of rank 1 to 3; the rank is the input's. "
                                      "Each tap of the kernel reads the "
                                      "input where its offset moves it, by linear interpolation with zeros "
                                      "around, times its mask.")
                                       .in("x", Kind::floating, "[batch, in, *size]")
                                       .saved()
                                       .in("offset", Kind::floating,
                                           "[batch, offsetGroups * taps * axes, *out]: for each tap its "
                                           "shift on each axis, in axis order")
                                       .saved()
                                       .in("weight", Kind::floating, "[out, in / groups, *kernel]")
                                       .saved()
                                       .in("bias", Kind::floating, "[out]")
                                       .optional()
                                       .in("mask", Kind::floating, "[batch, offsetGroups * taps, *out]")
                                       .optional()
                                       .saved())
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const kernels::DeformConvSizes s = resolve(o, in[0].shape(), in[1].shape(), in[2].shape(), in[4]);
    if (in[3] && !(in[3].shape() == Dims{s.out_channels}))
      fail("bias ", in[3].shape(), " must be [", s.out_channels, "]");
    Dims shape{s.batch, s.out_channels};
    for (int i = 0; i < s.rank; ++i) shape.push_back(s.out[static_cast<size_t>(i)]);
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::DeformConvSizes s = resolve(o, in[0].shape(), in[1].shape(), in[2].shape(), in[4]);
    const Tensor x = in[0].contiguous(), offset = in[1].contiguous(), weight = in[2].contiguous(),
                 bias = packed(in[3]), mask = packed(in[4]);
    visit_floating(x.dtype(), [&]<class T>() {
      Workspace workspace(kernels::deform_conv_workspace<T>(s));
      kernels::deform_conv<T>(s, x.data<T>(), offset.data<T>(), weight.data<T>(), data_of<T>(mask),
                              data_of<T>(bias), out[0].data<T>(), workspace.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    Grads grads(5);
    if (need[0] || need[1] || need[2] || need[4]) {
      DeformConvGrad::Options options;
      static_cast<DeformConvOptions&>(options) = o;
      options.want_x = need[0], options.want_offset = need[1], options.want_weight = need[2],
      options.want_mask = need[4];
      const TensorList t = apply<DeformConvGrad>({s.in(0), s.in(1), s.in(2), s.in(4), g[0]}, options);
      if (need[0]) grads[0] = t[0];
      if (need[1]) grads[1] = t[1];
      if (need[2]) grads[2] = t[2];
      if (need[4]) grads[4] = t[3];
    }
    if (need[3]) {
      Dims dims{0};
      for (int64_t i = 2; i < g[0].rank(); ++i) dims.push_back(i);
      grads[3] = sum(g[0], dims);
    }
    return grads;
  }
};
OMNIGRAD_OP(DeformConv)

}  // namespace

Tensor deform_conv(const Tensor& x, const Tensor& offset, const Tensor& weight, const Tensor& bias,
                   const Tensor& mask, const DeformConvOptions& o) {
  return apply1<DeformConv>({x, offset, weight, bias, mask}, o);
}

}  // namespace omnigrad
