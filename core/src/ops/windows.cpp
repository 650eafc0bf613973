// unfold and fold: sliding windows as columns (im2col) and their sum back into place, each the other's
// adjoint.
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

// Sliding windows of all axes but the first two: im2col and its adjoint.
struct WindowOptions {
  Dims size, kernel{1}, stride{1}, padding{0}, dilation{1};  // size: fold's output
};

struct Windows {
  Dims kernel, stride, padding, dilation, out;

  Windows(const WindowOptions& o, const Dims& size) {
    const auto axes = static_cast<int64_t>(size.size());
    kernel = per_axis(o.kernel, axes, "kernelSize");
    stride = per_axis(o.stride, axes, "stride");
    padding = per_axis(o.padding, axes, "padding");
    dilation = per_axis(o.dilation, axes, "dilation");
    for (size_t i = 0; i < size.size(); ++i) {
      if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0) {
        fail(Code::option, "kernelSize, stride and dilation must be at least 1, padding not negative");
      }
      const int64_t room = size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1;
      if (room < 0)
        fail("axis ", i, " of size ", size[i], " with padding ", padding[i], " is shorter than its window");
      out.push_back(room / stride[i] + 1);
    }
  }
  // Position in the padded axis of each (window, tap).
  Tensor index(size_t axis) const {
    Tensor t = Tensor::empty({out[axis] * kernel[axis]}, DType::int64);
    for (int64_t i = 0; i < t.numel(); ++i) {
      t.data<int64_t>()[i] = i / kernel[axis] * stride[axis] + i % kernel[axis] * dilation[axis];
    }
    return t;
  }
};

// [N, C, o1, k1, o2, k2, ...] to [N, C, k1, k2, ..., o1, o2, ...].
Dims taps_first(size_t axes) {
  Dims order{0, 1};
  for (size_t i = 0; i < axes; ++i) order.push_back(static_cast<int64_t>(3 + 2 * i));
  for (size_t i = 0; i < axes; ++i) order.push_back(static_cast<int64_t>(2 + 2 * i));
  return order;
}

struct Unfold {
  using Options = WindowOptions;
  static constexpr Schema schema() {
    return op("unfold", "Sliding windows as columns (im2col): [N, C, *S] to [N, C prod(K), windows].")
        .in("x", Kind::number, "[N, C, *S], one to six spatial axes")
        .arg("kernelSize", &Options::kernel, "the windows' size, one number or one an axis")
        .opt("stride", &Options::stride, "from window to window")
        .opt("padding", &Options::padding, "zeros on both sides")
        .opt("dilation", &Options::dilation, "from tap to tap")
        .out("y");
  }
  static Dims spatial(const Tensor& x) {
    if (x.rank() < 3 || x.rank() > 8) fail("needs shape [N, C, *S] with one to six spatial axes");
    return Dims(x.shape().begin() + 2, x.shape().end());
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Windows w(o, spatial(in[0]));
    return {{{in[0].size(0), in[0].size(1) * product(w.kernel), product(w.out)}, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Windows w(o, spatial(in[0]));
    const size_t axes = w.out.size();
    Dims pairs, parts{in[0].size(0), in[0].size(1)};
    for (size_t i = 0; i < axes; ++i) {
      for (int64_t d : {w.padding[i], w.padding[i]}) pairs.push_back(d);
      for (int64_t d : {w.out[i], w.kernel[i]}) parts.push_back(d);
    }
    Tensor t = pad(in[0], pairs);
    for (size_t i = 0; i < axes; ++i) t = index_select(t, w.index(i), static_cast<int64_t>(2 + i));
    return {reshape(permute(reshape(t, parts), taps_first(axes)), Unfold::shape(o, in)[0].shape)};
  }
};
OMNIGRAD_OP(Unfold)

struct Fold {
  using Options = WindowOptions;
  static constexpr Schema schema() {
    return op("fold",
              "Adds windows up where they lie (col2im), unfold's adjoint: [N, C prod(K), windows] to [N, C, "
              "*S].")
        .in("x", Kind::number, "[N, C prod(K), windows]")
        .arg("outputSize", &Options::size, "S, one size an axis")
        .arg("kernelSize", &Options::kernel, "the windows' size, one number or one an axis")
        .opt("stride", &Options::stride, "from window to window")
        .opt("padding", &Options::padding, "cut off on both sides")
        .opt("dilation", &Options::dilation, "from tap to tap")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.size.empty() || o.size.size() > 6)
      fail(Code::option, "outputSize ", o.size, " needs one to six axes");
    const Windows w(o, o.size);
    if (in[0].rank() != 3) fail("needs shape [N, C prod(kernelSize), windows]");
    if (in[0].size(1) % product(w.kernel))
      fail("axis 1 of size ", in[0].size(1), " must be a multiple of ", product(w.kernel));
    if (in[0].size(2) != product(w.out))
      fail("outputSize ", o.size, " has ", product(w.out), " windows, the input ", in[0].size(2));
    Dims shape{in[0].size(0), in[0].size(1) / product(w.kernel)};
    shape.append(o.size.begin(), o.size.end());
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Windows w(o, o.size);
    const size_t axes = w.out.size();
    Dims parts{in[0].size(0), in[0].size(1) / product(w.kernel)}, crop;
    parts.append(w.kernel.begin(), w.kernel.end());
    parts.append(w.out.begin(), w.out.end());
    const Dims order = taps_first(axes);
    Dims inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    Tensor t = permute(reshape(in[0], parts), inverse);
    for (size_t i = 0; i < axes; ++i) {
      const auto axis = static_cast<int64_t>(2 + i);
      Dims shape = t.shape();
      shape[2 + i] *= shape[3 + i];
      shape.erase(3 + i);
      t = reshape(t, shape);
      shape[2 + i] = o.size[i] + 2 * w.padding[i];
      t = index_add(zeros(shape, t.dtype()), w.index(i), t, axis);
      for (int64_t d : {-w.padding[i], -w.padding[i]}) crop.push_back(d);
    }
    return {pad(t, crop)};
  }
};
OMNIGRAD_OP(Fold)

}  // namespace
}  // namespace omnigrad
