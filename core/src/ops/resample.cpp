// resample and its adjoint: each is the other's gradient. The commonest cases on two axes have direct
// kernels; which one runs is a function of options.
#include "resample.h"

#include <algorithm>
#include <vector>

#include "kernels/resample_direct.h"
#include "omnigrad/ops.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 27;  // a table's entries are numbered by 32-bit integers

AxisOptions axis_options(const ResampleOptions& o, size_t a) {
  AxisOptions x;
  x.mode = o.mode;
  x.in = o.in[a];
  x.out = o.out[a];
  x.scale = o.scale;
  x.align_corners = o.align_corners;
  x.antialias = o.antialias;
  if (o.mode == ResampleMode::average) {
    x.kernel = o.kernel[a];
    x.stride = o.stride[a];
    x.pad_lo = o.padding[2 * a];
    x.pad_hi = o.padding[2 * a + 1];
    x.count_include_pad = o.count_include_pad;
    // The divisor is divided by once; the other axes add up.
    if (o.divisor > 0) x.divisor = a == 0 ? static_cast<double>(o.divisor) : 1;
  }
  return x;
}

void check(const ResampleOptions& o) {
  const size_t axes = o.in.size();
  if (axes == 0 || o.out.size() != axes)
    fail(Code::option, "in ", o.in, " and out ", o.out, " need a size an axis");
  for (size_t a = 0; a < axes; ++a) {
    if (o.in[a] < 1 || o.out[a] < 1) {
      fail("spatial sizes ", o.in, " cannot become ", o.out, ": each must be at least 1");
    }
    if (o.in[a] > kMaxSize || o.out[a] > kMaxSize) {
      fail("spatial sizes ", o.in, " and ", o.out, " must not exceed ", kMaxSize);
    }
    if (!(o.scale >= 0) || (o.scale > 0 && !(static_cast<double>(o.out[a]) / o.scale < 4.0 * kMaxSize))) {
      fail(Code::option, "scale ", o.scale, " is out of range for an axis of ", o.out[a]);
    }
  }
  if (o.mode != ResampleMode::average) return;
  if (o.kernel.size() != axes || o.stride.size() != axes || o.padding.size() != 2 * axes) {
    fail(Code::option, "kernel ", o.kernel, ", stride ", o.stride, " and padding ", o.padding,
         " need values an axis");
  }
  for (size_t a = 0; a < axes; ++a) {
    const bool sane = o.kernel[a] >= 1 && o.kernel[a] <= kMaxSize && o.stride[a] >= 1 &&
                      o.stride[a] <= kMaxSize && o.padding[2 * a] >= 0 && o.padding[2 * a + 1] >= 0 &&
                      o.padding[2 * a] <= o.kernel[a] && o.padding[2 * a + 1] <= o.kernel[a] &&
                      o.out[a] * std::min(o.kernel[a], o.in[a]) < 8 * kMaxSize;
    if (!sane)
      fail(Code::option, "kernel ", o.kernel, ", stride ", o.stride, ", padding ", o.padding,
           " are out of range");
  }
}

enum class Direct { none, nearest2x, average2x2 };

Direct direct_kernel(const ResampleOptions& o) {
  if (o.in.size() != 2) return Direct::none;
  bool doubles = o.mode == ResampleMode::nearest || o.mode == ResampleMode::nearest_exact;
  bool halves = o.mode == ResampleMode::average || o.mode == ResampleMode::adaptive;
  doubles &= o.scale == 0 || o.scale == 2;
  halves &= o.divisor == 0;
  for (size_t a = 0; a < 2; ++a) {
    doubles &= o.out[a] == 2 * o.in[a];
    if (o.mode == ResampleMode::average) {
      halves &= o.kernel[a] == 2 && o.stride[a] == 2 && o.padding[2 * a] == 0 && o.out[a] == o.in[a] / 2;
    } else {
      halves &= o.in[a] == 2 * o.out[a];
    }
  }
  return doubles ? Direct::nearest2x : halves ? Direct::average2x2 : Direct::none;
}

template <class T>
void run_table(const ResampleOptions& o, bool adjoint, int64_t planes, const T* x, T* y) {
  std::vector<KernelTable<T>> tables;
  std::vector<kernels::AxisRows<T>> rows;
  for (size_t a = 0; a < o.in.size(); ++a) {
    ResampleTable t = resample_table(axis_options(o, a));
    tables.emplace_back(adjoint ? transposed(t) : std::move(t));
  }
  for (const auto& t : tables) rows.push_back(t.rows());
  const int axes = static_cast<int>(rows.size());
  Workspace scratch(kernels::resample_workspace(planes, axes, rows.data()));
  kernels::resample(planes, axes, rows.data(), x, y, scratch.as());
}

template <class T>
void run(const ResampleOptions& o, bool adjoint, int64_t planes, const T* x, T* y) {
  switch (direct_kernel(o)) {
    case Direct::none:
      return run_table(o, adjoint, planes, x, y);
    case Direct::nearest2x:
      return (adjoint ? kernels::nearest2x_adjoint<T> : kernels::nearest2x<T>)(planes, o.in[0], o.in[1], x,
                                                                               y);
    case Direct::average2x2:
      return (adjoint ? kernels::average2x2_adjoint<T> : kernels::average2x2<T>)(planes, o.in[0], o.in[1], x,
                                                                                 y);
  }
}

template <bool Adjoint>
struct ResampleOp {
  using Options = ResampleOptions;
  static constexpr Schema schema() {
    return op(Adjoint ? "resampleAdjoint" : "resample",
              Adjoint ? "The transpose of resample, from out sizes to in sizes."
                      : "Interpolates or averages the last axes, from in sizes to out sizes.")
        .in("x", Kind::floating, "the last axes have the sizes that options say")
        .opt("in", &Options::in)
        .opt("out", &Options::out)
        .opt("mode", &Options::mode, "",
             {"nearest", "nearest-exact", "linear", "cubic", "lanczos3", "average", "adaptive"})
        .opt("scale", &Options::scale)
        .opt("alignCorners", &Options::align_corners)
        .opt("antialias", &Options::antialias)
        .opt("kernel", &Options::kernel)
        .opt("stride", &Options::stride)
        .opt("padding", &Options::padding)
        .opt("countIncludePad", &Options::count_include_pad)
        .opt("divisor", &Options::divisor)
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check(o);
    const int64_t axes = static_cast<int64_t>(o.in.size()), lead = in[0].rank() - axes;
    const Dims &from = Adjoint ? o.out : o.in, &to = Adjoint ? o.in : o.out;
    if (lead < 0 || !(spatial_sizes(in[0], axes) == from)) fail("the last axes must have sizes ", from);
    Dims shape = in[0].shape();
    for (int64_t a = 0; a < axes; ++a) shape[static_cast<size_t>(lead + a)] = to[static_cast<size_t>(a)];
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const int64_t planes = x.numel() / product(Adjoint ? o.out : o.in);
    visit_floating(x.dtype(), [&]<class T>() { run(o, Adjoint, planes, x.data<T>(), out[0].data<T>()); });
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<ResampleOp<!Adjoint>>({g[0]}, o)};
  }
};
using Resample = ResampleOp<false>;
using ResampleAdjoint = ResampleOp<true>;
OMNIGRAD_OP(Resample)
OMNIGRAD_OP(ResampleAdjoint)

}  // namespace

Tensor resample(const Tensor& x, const ResampleOptions& o) { return apply1<Resample>({x}, o); }
Tensor resample_adjoint(const Tensor& g, const ResampleOptions& o) { return apply1<ResampleAdjoint>({g}, o); }

Dims spatial_sizes(const Tensor& x, int64_t axes) {
  Dims sizes;
  for (int64_t a = x.rank() - axes; a < x.rank(); ++a) sizes.push_back(x.size(a));
  return sizes;
}

}  // namespace omnigrad
