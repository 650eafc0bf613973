// Max pooling over all axes but the first two, by windows or to a given size. The gradient adds by the
// indices that forward returned, or finds the maxima again; that one's gradient reads by them.
#include "kernels/pool.h"
#include "omnigrad/autograd.h"
#include "pool_windows.h"

namespace omnigrad {
namespace {

void check_indices(const Tensor& index, int64_t plane) {
  const Tensor i = index.contiguous();
  if (!kernels::indices_within(i.data<int64_t>(), i.numel(), plane)) {
    fail(Code::index, "indices must be from 0 to ", plane - 1, ", the last element of a plane");
  }
}
void check_index_dtype(const Tensor& index) {
  if (index.dtype() != DType::int64)
    fail(Code::dtype, "indices have dtype ", index.dtype(), ", they need int64");
}
int64_t planes_of(const Tensor& x, int64_t axes) {
  int64_t n = 1;
  for (int64_t a = 0; a < x.rank() - axes; ++a) n *= x.size(a);
  return n;
}

// y[plane, j] = x[plane, indices[plane, j]], planes being the last axes of x flattened.
struct PlaneGather {
  struct Options {
    int64_t axes = 1;
  };
  static constexpr Schema schema() {
    return op("planeGather", "Elements of each plane of x by their positions in the flattened plane.")
        .in("x", Kind::floating, "[..., plane]")
        .in("indices", Kind::index, "[..., result], int64")
        .saved()
        .opt("axes", &Options::axes, "how many of the last axes are the plane")
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_index_dtype(in[1]);
    const int64_t lead = in[0].rank() - o.axes;
    bool fits = o.axes >= 1 && lead >= 0 && in[1].rank() == in[0].rank();
    for (int64_t a = 0; fits && a < lead; ++a) fits = in[0].size(a) == in[1].size(a);
    if (!fits) fail("x and indices must agree but for the last ", o.axes, " axes");
    check_indices(in[1], product(spatial_sizes(in[0], o.axes)));
    return {{in[1].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), index = in[1].contiguous();
    const int64_t plane = product(spatial_sizes(x, o.axes)), result = product(spatial_sizes(index, o.axes));
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::plane_gather(planes_of(x, o.axes), plane, result, x.data<T>(), index.data<int64_t>(),
                            out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need);
};
OMNIGRAD_OP(PlaneGather)

struct PlaneScatter {
  struct Options {
    Dims size;
  };
  static constexpr Schema schema() {
    return op("planeScatter", "Zeros, with elements added to each plane at positions in the flattened plane.")
        .in("y", Kind::floating, "[..., result]")
        .in("indices", Kind::index, "y's shape, int64")
        .saved()
        .opt("size", &Options::size, "the plane's sizes")
        .out("x")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_index_dtype(in[1]);
    if (o.size.empty() || in[0].shape().size() < o.size.size() || !(in[0].shape() == in[1].shape())) {
      fail("y and indices must have one shape, with at least the axes of size ", o.size);
    }
    for (const int64_t n : o.size) {
      if (n < 0) fail(Code::option, "size ", o.size, " is not negative");
    }
    check_indices(in[1], product(o.size));
    return {{with_spatial(in[0], o.size), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor y = in[0].contiguous(), index = in[1].contiguous();
    const int64_t axes = static_cast<int64_t>(o.size.size()), result = product(spatial_sizes(y, axes));
    visit_floating(y.dtype(), [&]<class T>() {
      kernels::plane_scatter_add(planes_of(y, axes), product(o.size), result, y.data<T>(),
                                 index.data<int64_t>(), out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {apply1<PlaneGather>({g[0], s.in(1)}, {static_cast<int64_t>(o.size.size())}), {}};
  }
};
OMNIGRAD_OP(PlaneScatter)

Grads PlaneGather::vjp(const Options& o, const Saved& s, Cotangents g, Need) {
  const Dims& x = s.shape(0);
  return {apply1<PlaneScatter>({g[0], s.in(1)}, {Dims(x.end() - o.axes, x.end())}), {}};
}

using PoolAxes = SmallVec<kernels::PoolAxis, 4>;

void run_max_pool(const PoolAxes& axes, const Tensor& input, TensorList& out) {
  const Tensor x = input.contiguous();
  const int rank = static_cast<int>(axes.size());
  visit_floating(x.dtype(), [&]<class T>() {
    kernels::max_pool(planes_of(x, rank), rank, axes.data(), x.data<T>(), out[0].data<T>(),
                      out[1].data<int64_t>());
  });
}
Grads max_pool_vjp(const Saved& s, const Tensor& g, size_t axes) {
  const Dims& x = s.shape(0);
  return {apply1<PlaneScatter>({g, s.out(1)}, {Dims(x.end() - axes, x.end())})};
}

// Windows of 2x2 side by side on two axes, the commonest: no indices are kept, the gradient finds the maxima
// in x, which what comes before has most often saved anyway.
Dims halved(const Tensor& x) {
  if (x.rank() < 2) fail("x has rank ", x.rank(), ", it needs 2 or more");
  if (x.size(-2) < 2 || x.size(-1) < 2) fail("a window of 2x2 does not fit into ", x.shape());
  return {x.size(-2) / 2, x.size(-1) / 2};
}

struct MaxPool2x2Grad {
  static constexpr Schema schema() {
    return op("maxPool2x2Grad", "The gradient of maxPool2x2.")
        .in("x", Kind::floating, "as maxPool2x2's")
        .nondiff()
        .saved()
        .in("g", Kind::floating, "the cotangent of its result")
        .out("gx")
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Dims result = with_spatial(in[0], halved(in[0]));
    if (!(in[1].shape() == result)) fail("g ", in[1].shape(), " must have shape ", result);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), g = in[1].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::max_pool2x2_grad(planes_of(x, 2), x.size(-2), x.size(-1), x.data<T>(), g.data<T>(),
                                out[0].data<T>());
    });
  }
  // Linear in g: reads where it wrote.
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents v, Need);
};
OMNIGRAD_OP(MaxPool2x2Grad)

struct MaxPool2x2 {
  static constexpr Schema schema() {
    return op("maxPool2x2", "Maxima over windows of 2x2 of the last two axes, side by side.")
        .in("x", Kind::floating, "[..., height, width]")
        .saved()
        .out("y")
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    return {{with_spatial(in[0], halved(in[0])), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::max_pool2x2(planes_of(x, 2), x.size(-2), x.size(-1), x.data<T>(), out[0].data<T>());
    });
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    return {apply1<MaxPool2x2Grad>({s.in(0), g[0]})};
  }
};
OMNIGRAD_OP(MaxPool2x2)

PoolAxes max_pool_axes(const MaxPoolOptions& o, const Tensor& x) {
  const Windows w = windows(o, o.dilation, x);
  PoolAxes axes;
  for (size_t a = 0; a < w.in.size(); ++a) {
    axes.push_back({w.in[a], w.out[a], w.kernel[a], w.stride[a], w.padding[2 * a], w.dilation[a], false});
    if (!kernels::every_window_covers(axes.back())) {
      fail("a window with dilation ", w.dilation[a], " misses every element of axis of size ", w.in[a]);
    }
  }
  return axes;
}
OutSpecs max_pool_specs(const PoolAxes& axes, const Tensor& x) {
  Dims out;
  for (const auto& a : axes) out.push_back(a.out);
  const Dims shape = with_spatial(x, out);
  return {{shape, x.dtype()}, {shape, DType::int64}};
}
bool is_2x2(const PoolAxes& axes) {
  bool yes = axes.size() == 2;
  for (const auto& a : axes)
    yes &= a.kernel == 2 && a.stride == 2 && a.pad == 0 && a.dilation == 1 && a.out == a.in / 2;
  return yes;
}

// Any other windows, and where indices are wanted.
struct MaxPoolWindows {
  using Options = MaxPoolOptions;
  static constexpr Schema schema() {
    return op("maxPoolWindows", "maxPool with the positions of the maxima.")
        .in("x", Kind::floating, "as maxPool's")
        .opt("kernelSize", &Options::kernel_size)
        .opt("stride", &Options::stride)
        .opt("padding", &Options::padding)
        .opt("dilation", &Options::dilation)
        .opt("ceilMode", &Options::ceil_mode)
        .out("y")
        .out("indices")
        .nondiff()
        .saved()
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return max_pool_specs(max_pool_axes(o, in[0]), in[0]);
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    run_max_pool(max_pool_axes(o, in[0]), in[0], out);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const size_t rank = s.shape(0).size(), listed = o.kernel_size.size();
    return max_pool_vjp(s, g[0], listed > 1 || rank == 2 ? listed : rank - 2);
  }
};
OMNIGRAD_OP(MaxPoolWindows)

Grads MaxPool2x2Grad::vjp(const NoOptions&, const Saved& s, Cotangents v, Need) {
  MaxPoolOptions o;
  o.kernel_size = {2, 2};
  Tensor index;
  {
    GradMode off(false);
    const Tensor x = s.in(0);
    const Dims flat{planes_of(x, 2), x.size(-2), x.size(-1)};
    index = reshape(apply<MaxPoolWindows>({reshape(x, flat)}, o)[1], with_spatial(x, halved(x)));
  }
  return {{}, apply1<PlaneGather>({v[0], index}, {2})};
}

struct MaxPool {
  using Options = MaxPoolOptions;
  static constexpr Schema schema() {
    return op("maxPool",
              "Maxima over windows of the spatial axes; the gradient goes to the first of equal maxima.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .arg("kernelSize", &Options::kernel_size, "the window's sizes: one number, or one an axis")
        .opt("stride", &Options::stride, "steps between windows; none: kernelSize")
        .opt("padding", &Options::padding, "-Infinity around x, at most half a window")
        .opt("dilation", &Options::dilation, "steps between a window's elements")
        .opt("ceilMode", &Options::ceil_mode,
             "keep a last window that reaches over the end, if it starts inside")
        .opt("returnIndices", &Options::return_indices, "return [y, indices]")
        .out("y")
        .out("indices")
        .nondiff()
        .when("returnIndices");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return max_pool_specs(max_pool_axes(o, in[0]), in[0]);
  }
  static TensorList compose(const Options& o, Inputs in) {
    if (!o.return_indices && is_2x2(max_pool_axes(o, in[0]))) return {apply1<MaxPool2x2>({in[0]})};
    return apply<MaxPoolWindows>({in[0]}, o);
  }
};
OMNIGRAD_OP(MaxPool)

struct AdaptiveMaxPool {
  struct Options {
    Dims output_size{1};
    bool return_indices = false;
  };
  static constexpr Schema schema() {
    return op("adaptiveMaxPool", "Maxima over windows that cut the spatial axes into outputSize parts.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .arg("outputSize", &Options::output_size, "the result's spatial sizes: one number, or one an axis")
        .opt("returnIndices", &Options::return_indices, "return [y, indices]")
        .out("y")
        .out("indices")
        .nondiff()
        .saved()
        .when("returnIndices");
  }
  // Windows of equal size that do not overlap are plain ones, which have a faster path.
  static PoolAxes resolve(const Options& o, const Tensor& x) {
    PoolAxes axes;
    const Dims out = adaptive_sizes(o.output_size, x),
               in = spatial_sizes(x, static_cast<int64_t>(out.size()));
    for (size_t a = 0; a < out.size(); ++a) {
      const int64_t k = in[a] / out[a];
      const bool plain = in[a] % out[a] == 0;
      axes.push_back({in[a], out[a], plain ? k : 1, plain ? k : 1, 0, 1, !plain});
    }
    return axes;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims shape = with_spatial(in[0], adaptive_sizes(o.output_size, in[0]));
    return {{shape, in[0].dtype()}, {shape, DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    run_max_pool(resolve(o, in[0]), in[0], out);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const size_t rank = s.shape(0).size(), listed = o.output_size.size();
    return max_pool_vjp(s, g[0], listed > 1 || rank == 2 ? listed : rank - 2);
  }
};
OMNIGRAD_OP(AdaptiveMaxPool)

}  // namespace

Tensor plane_scatter(const Tensor& y, const Tensor& indices, const Dims& size) {
  return apply1<PlaneScatter>({y, indices}, {size});
}
TensorList max_pool(const Tensor& x, const MaxPoolOptions& o) { return apply<MaxPool>({x}, o); }
TensorList adaptive_max_pool(const Tensor& x, const Dims& output_size) {
  return apply<AdaptiveMaxPool>({x}, {output_size, true});
}

}  // namespace omnigrad
