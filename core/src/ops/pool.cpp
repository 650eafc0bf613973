// Average and max pooling over all axes but the first two, by windows or to a given size. Averages are
// resamplings; the gradient of max pooling adds by the indices that forward returned, and that one's gradient
// reads by them.
#include "kernels/pool.h"

#include "omnigrad/ops.h"
#include "resample.h"

namespace omnigrad {
namespace {

// How many of x's axes a window covers: as many as kernelSize or outputSize lists, which allows x without a
// batch axis; one number is for all but the first two.
int64_t window_axes(const Tensor& x, const Dims& given, const char* option) {
  const int64_t listed = static_cast<int64_t>(given.size()), rank = x.rank();
  const int64_t axes = listed > 1 || rank == 2 ? listed : rank - 2;
  if (axes < 1 || (rank != axes + 1 && rank != axes + 2)) {
    fail("x has rank ", rank, ", it needs [N, C, ...spatial] or [C, ...spatial] for ", option, " ", given);
  }
  for (const int64_t n : spatial_sizes(x, axes)) {
    if (n < 1) fail("spatial sizes ", spatial_sizes(x, axes), " must be at least 1");
  }
  return axes;
}

Dims with_spatial(const Tensor& x, const Dims& sizes) {
  Dims shape(x.shape().begin(), x.shape().end() - sizes.size());
  shape.append(sizes.begin(), sizes.end());
  return shape;
}

// One value an axis of everything that describes windows; padding flattened.
struct Windows {
  Dims in, out, kernel, stride, padding, dilation;
};

template <class Options>
Windows windows(const Options& o, const Dims& given_dilation, const Tensor& x) {
  Windows w;
  const int64_t axes = window_axes(x, o.kernel_size, "kernelSize");
  w.in = spatial_sizes(x, axes);
  w.kernel = per_axis(o.kernel_size, axes, "kernelSize");
  w.stride = o.stride ? per_axis(*o.stride, axes, "stride") : w.kernel;
  w.padding = per_axis(o.padding, axes, "padding");
  w.dilation = per_axis(given_dilation, axes, "dilation");
  constexpr int64_t limit = int64_t{1} << 27;
  for (size_t a = 0; a < w.in.size(); ++a) {
    const int64_t k = w.kernel[a], s = w.stride[a], d = w.dilation[a];
    if (k < 1 || k > limit) fail(Code::option, "kernelSize ", w.kernel, " must be at least 1");
    if (s < 1 || s > limit) fail(Code::option, "stride ", w.stride, " must be at least 1");
    if (d < 1 || d > limit) fail(Code::option, "dilation ", w.dilation, " must be at least 1");
    const int64_t reach = (k - 1) * d + 1, lo = w.padding[2 * a], hi = w.padding[2 * a + 1];
    if (lo < 0 || hi < 0 || lo > reach / 2 || hi > reach / 2) {
      fail(Code::option, "padding [", lo, ", ", hi,
           "] must be from 0 to half of the window, which reaches over ", reach);
    }
    const int64_t out = pooled_size(w.in[a], k, s, lo, hi, d, o.ceil_mode);
    if (out < 1)
      fail("a window of ", reach, " does not fit into axis of size ", w.in[a], " with padding [", lo, ", ",
           hi, "]");
    w.out.push_back(out);
  }
  return w;
}

struct AvgPool {
  using Options = AvgPoolOptions;
  static Schema schema() {
    return op("avgPool", "Means over windows of the spatial axes.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .arg("kernelSize", &Options::kernel_size, "the window's sizes: one number, or one an axis")
        .opt("stride", &Options::stride, "steps between windows; none: kernelSize")
        .opt("padding", &Options::padding, "zeros around x, at most half a window")
        .opt("ceilMode", &Options::ceil_mode,
             "keep a last window that reaches over the end, if it starts inside")
        .opt("countIncludePad", &Options::count_include_pad, "padding counts in the mean")
        .opt("divisorOverride", &Options::divisor_override, "divide by this in place of the window's size")
        .out("y");
  }
  static ResampleOptions resolve(const Options& o, const Tensor& x) {
    const Windows w = windows(o, {1}, x);
    if (o.divisor_override && *o.divisor_override < 1) {
      fail(Code::option, "divisorOverride ", *o.divisor_override, " must be at least 1");
    }
    ResampleOptions r;
    r.in = w.in;
    r.out = w.out;
    r.mode = ResampleMode::average;
    r.kernel = w.kernel;
    r.stride = w.stride;
    r.padding = w.padding;
    r.count_include_pad = o.count_include_pad;
    r.divisor = o.divisor_override.value_or(0);
    return r;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return {{with_spatial(in[0], resolve(o, in[0]).out), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) { return {resample(in[0], resolve(o, in[0]))}; }
};
OMNIGRAD_OP(AvgPool)

// Sizes of an adaptive pooling's result.
Dims adaptive_sizes(const Dims& given, const Tensor& x) {
  const Dims out = per_axis(given, window_axes(x, given, "outputSize"), "outputSize");
  for (const int64_t n : out) {
    if (n < 1) fail(Code::option, "outputSize ", out, " must be at least 1");
  }
  return out;
}

struct AdaptiveAvgPool {
  struct Options {
    Dims output_size{1};
  };
  static Schema schema() {
    return op("adaptiveAvgPool", "Means over windows that cut the spatial axes into outputSize parts.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .arg("outputSize", &Options::output_size, "the result's spatial sizes: one number, or one an axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return {{with_spatial(in[0], adaptive_sizes(o.output_size, in[0])), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    ResampleOptions r;
    r.out = adaptive_sizes(o.output_size, in[0]);
    r.in = spatial_sizes(in[0], static_cast<int64_t>(r.out.size()));
    r.mode = ResampleMode::adaptive;
    return {resample(in[0], r)};
  }
};
OMNIGRAD_OP(AdaptiveAvgPool)

// ---- max pooling

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
  static Schema schema() {
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
  static Schema schema() {
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

struct MaxPool {
  using Options = MaxPoolOptions;
  static Schema schema() {
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
        .saved()
        .when("returnIndices");
  }
  static PoolAxes resolve(const Options& o, const Tensor& x) {
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
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims out;
    for (const auto& a : resolve(o, in[0])) out.push_back(a.out);
    const Dims shape = with_spatial(in[0], out);
    return {{shape, in[0].dtype()}, {shape, DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    run_max_pool(resolve(o, in[0]), in[0], out);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const size_t rank = s.shape(0).size(), listed = o.kernel_size.size();
    return max_pool_vjp(s, g[0], listed > 1 || rank == 2 ? listed : rank - 2);
  }
};
OMNIGRAD_OP(MaxPool)

struct AdaptiveMaxPool {
  struct Options {
    Dims output_size{1};
    bool return_indices = false;
  };
  static Schema schema() {
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

Tensor avg_pool(const Tensor& x, const AvgPoolOptions& o) { return apply1<AvgPool>({x}, o); }
Tensor adaptive_avg_pool(const Tensor& x, const Dims& output_size) {
  return apply1<AdaptiveAvgPool>({x}, {output_size});
}
Tensor plane_scatter(const Tensor& y, const Tensor& indices, const Dims& size) {
  return apply1<PlaneScatter>({y, indices}, {size});
}
TensorList max_pool(const Tensor& x, const MaxPoolOptions& o) { return apply<MaxPool>({x}, o); }
TensorList adaptive_max_pool(const Tensor& x, const Dims& output_size) {
  return apply<AdaptiveMaxPool>({x}, {output_size, true});
}

}  // namespace omnigrad
