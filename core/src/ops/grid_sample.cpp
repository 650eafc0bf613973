// Sampling at given coordinates, and the grids of affine maps. The derivatives of a sampled interpolation are
// samplings of the interpolation's derivatives: reading, its adjoint (writing) and its derivative by the grid
// are each other's gradients, so there is no composite and no order at which they end.
#include "kernels/grid_sample.h"

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct Sampling {
  kernels::GridSampling::Mode mode = kernels::GridSampling::Mode::bilinear;
  kernels::GridSampling::Padding padding_mode = kernels::GridSampling::Padding::zeros;
  bool align_corners = false;
};
// What the internal ops take besides: how often the interpolation is differentiated along each axis of x, as
// in `size`.
struct SamplingOrder : Sampling {
  Dims order, size;
};

template <class O>
constexpr Schema sampling_options(Schema s) {
  return s
      .opt<O, kernels::GridSampling::Mode>("mode", &O::mode,
                                           "how pixels are joined; bilinear is linear along every axis",
                                           {"bilinear", "nearest", "bicubic"})
      .template opt<O, kernels::GridSampling::Padding>("paddingMode", &O::padding_mode,
                                                       "what lies outside: zeros, the border, or x mirrored",
                                                       {"zeros", "border", "reflection"})
      .template opt<O, bool>("alignCorners", &O::align_corners,
                             "-1 and 1 are the centres of the corner pixels, not their outer edges");
}
constexpr Schema internal_options(Schema s) {
  return sampling_options<SamplingOrder>(s)
      .opt("order", &SamplingOrder::order, "derivatives along each axis")
      .opt("size", &SamplingOrder::size, "spatial sizes of x")
      .internal();
}

// Checks the grid against an x of [batch, channels, *size].
kernels::GridSampling resolve(const SamplingOrder& o, const Dims& x, const Dims& grid) {
  const size_t rank = o.size.size();
  if (rank < 1 || rank > 3 || x.size() != rank + 2)
    fail("x has rank ", x.size(), "; it must be [N, C, *size] with one to three axes of size");
  if (grid.size() != rank + 2 || grid[0] != x[0] || grid[rank + 1] != static_cast<int64_t>(rank)) {
    fail("grid ", grid, " must be [", x[0], ", *out, ", rank, "] with as many axes as x");
  }
  kernels::GridSampling s{o.mode, o.padding_mode, o.align_corners, static_cast<int>(rank), x[0], x[1], 1, {},
                          {}};
  if (o.order.size() != rank) fail(Code::option, "order ", o.order, " must have one number for each axis");
  for (size_t i = 0; i < rank; ++i) {
    if (o.size[i] < 1) fail("spatial sizes ", o.size, " of x must be 1 or more");
    if (o.order[i] < 0 || o.order[i] > 1000) fail(Code::option, "order ", o.order, " must be from 0 to 1000");
    s.size[i] = o.size[i];
    s.order[i] = o.order[i];
    s.points *= grid[i + 1];
  }
  return s;
}
Dims sampled_shape(const Dims& x, const Dims& grid) {
  Dims shape{x[0], x[1]};
  shape.append(grid.begin() + 1, grid.end() - 1);
  return shape;
}
void check_cotangent(const Dims& g, const Dims& grid) {
  bool fits = g.size() == grid.size();
  for (size_t i = 1; fits && i + 1 < grid.size(); ++i) fits = g[i + 1] == grid[i];
  if (!fits) fail("g ", g, " must be [N, C, *out] for grid ", grid);
}
SamplingOrder one_more(SamplingOrder o, size_t axis) {
  ++o.order[axis];
  return o;
}

// Defined below; these three are each other's gradients.
Tensor grid_read(const Tensor& x, const Tensor& grid, const SamplingOrder& o);
Tensor grid_write(const Tensor& g, const Tensor& grid, const SamplingOrder& o);
Tensor grid_slope(const Tensor& x, const Tensor& grid, const Tensor& g, const SamplingOrder& o);

struct GridRead {
  using Options = SamplingOrder;
  static constexpr Schema schema() {
    return internal_options(op("gridRead", "gridSample, of a derivative of the interpolation.")
                                .in("x", Kind::floating, "[N, C, *size]")
                                .saved()
                                .in("grid", Kind::floating, "[N, *out, axes]")
                                .saved())
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims& x = in[0].shape();
    resolve(o, x, in[1].shape());
    if (!(Dims(x.begin() + 2, x.end()) == o.size)) fail("x ", x, " must have the spatial sizes ", o.size);
    return {{sampled_shape(x, in[1].shape()), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), grid = in[1].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::grid_read(resolve(o, x.shape(), grid.shape()), x.data<T>(), grid.data<T>(), out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    return {need[0] ? grid_write(g[0], s.in(1), o) : Tensor(),
            need[1] ? grid_slope(s.in(0), s.in(1), g[0], o) : Tensor()};
  }
};
OMNIGRAD_OP(GridRead)

struct GridWrite {
  using Options = SamplingOrder;
  static constexpr Schema schema() {
    return internal_options(op("gridWrite", "The adjoint of gridRead: adds to the pixels that it reads.")
                                .in("g", Kind::floating, "[N, C, *out]")
                                .saved()
                                .in("grid", Kind::floating, "[N, *out, axes]")
                                .saved())
        .out("x");
  }
  static Dims x_shape(const Options& o, const Tensor& g) {
    if (g.rank() < 2) fail("g ", g.shape(), " must be [N, C, *out]");
    Dims shape{g.size(0), g.size(1)};
    shape.append(o.size.begin(), o.size.end());
    return shape;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims x = x_shape(o, in[0]);
    resolve(o, x, in[1].shape());
    check_cotangent(in[0].shape(), in[1].shape());
    return {{x, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor g = in[0].contiguous(), grid = in[1].contiguous();
    visit_floating(g.dtype(), [&]<class T>() {
      kernels::grid_write(resolve(o, x_shape(o, g), grid.shape()), g.data<T>(), grid.data<T>(),
                          out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    return {need[0] ? grid_read(v[0], s.in(1), o) : Tensor(),
            need[1] ? grid_slope(v[0], s.in(1), s.in(0), o) : Tensor()};
  }
};
OMNIGRAD_OP(GridWrite)

struct GridSlope {
  using Options = SamplingOrder;
  static constexpr Schema schema() {
    return internal_options(op("gridSlope", "The derivatives of sum(g * gridRead(x, grid)) by the grid.")
                                .in("x", Kind::floating, "[N, C, *size]")
                                .saved()
                                .in("grid", Kind::floating, "[N, *out, axes]")
                                .saved()
                                .in("g", Kind::floating, "[N, C, *out]")
                                .saved())
        .out("ggrid");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    GridRead::shape(o, in);
    check_cotangent(in[2].shape(), in[1].shape());
    if (in[2].size(0) != in[0].size(0) || in[2].size(1) != in[0].size(1))
      fail("g ", in[2].shape(), " must have the batch and channels of x");
    return {{in[1].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), grid = in[1].contiguous(), g = in[2].contiguous();
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::grid_slope(resolve(o, x.shape(), grid.shape()), x.data<T>(), grid.data<T>(), g.data<T>(),
                          out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    const Tensor x = s.in(0), grid = s.in(1), g = s.in(2);
    const auto add = [](Tensor& sum, const Tensor& term) { sum = sum ? sum + term : term; };
    Grads grads(3);
    for (size_t axis = 0; axis < o.size.size(); ++axis) {
      // The component of v that belongs to this axis of x, [N, 1, *out].
      const int64_t component = static_cast<int64_t>(o.size.size() - 1 - axis);
      const Tensor along = unsqueeze(squeeze(slice(v[0], -1, component, component + 1), -1), 1);
      const SamplingOrder more = one_more(o, axis);
      if (need[0]) add(grads[0], grid_write(g * along, grid, more));
      if (need[1]) add(grads[1], grid_slope(x, grid, g * along, more));
      if (need[2]) add(grads[2], grid_read(x, grid, more) * along);
    }
    return grads;
  }
};
OMNIGRAD_OP(GridSlope)

Tensor grid_read(const Tensor& x, const Tensor& grid, const SamplingOrder& o) {
  return apply1<GridRead>({x, grid}, o);
}
Tensor grid_write(const Tensor& g, const Tensor& grid, const SamplingOrder& o) {
  return apply1<GridWrite>({g, grid}, o);
}
Tensor grid_slope(const Tensor& x, const Tensor& grid, const Tensor& g, const SamplingOrder& o) {
  return apply1<GridSlope>({x, grid, g}, o);
}

struct GridSample {
  using Options = Sampling;
  static constexpr Schema schema() {
    return sampling_options<Options>(
               op("gridSample",
                  "x read at the places of a grid, by interpolation; as PyTorch's grid_sample, of one to "
                  "three "
                  "axes in every mode. The gradient to a coordinate that nearest rounds, or that border or "
                  "reflection moved to the edge, is 0.")
                   .in("x", Kind::floating, "[N, C, *size]")
                   .in("grid", Kind::floating,
                       "[N, *out, axes]: places from -1 to 1, the last axis of x first (x, y, z)"))
        .out("y");
  }
  static SamplingOrder full(const Options& o, const Tensor& x) {
    SamplingOrder full;
    static_cast<Sampling&>(full) = o;
    if (x.rank() > 2) full.size = Dims(x.shape().begin() + 2, x.shape().end());
    for (size_t i = 0; i < full.size.size(); ++i) full.order.push_back(0);
    return full;
  }
  static OutSpecs shape(const Options& o, Inputs in) { return GridRead::shape(full(o, in[0]), in); }
  static TensorList compose(const Options& o, Inputs in) { return {grid_read(in[0], in[1], full(o, in[0]))}; }
};
OMNIGRAD_OP(GridSample)

struct AffineGrid {
  struct Options {
    Dims size;
    bool align_corners = false;
  };
  static constexpr Schema schema() {
    return op("affineGrid", "The grid for gridSample that an affine map of coordinates gives.")
        .in("theta", Kind::floating, "[N, axes, axes + 1], for coordinates (x, y, z, 1)")
        .arg("size", &Options::size, "[N, C, *out]: of what gridSample is to give")
        .opt("alignCorners", &Options::align_corners, "as gridSample's")
        .out("grid");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t axes = static_cast<int64_t>(o.size.size()) - 2;
    if (axes < 1 || axes > 3)
      fail(Code::option, "size ", o.size, " must be [N, C, *out] with one to three axes out");
    for (int64_t n : o.size)
      if (n < 1) fail(Code::option, "size ", o.size, " must be 1 or more");
    if (!(in[0].shape() == Dims{o.size[0], axes, axes + 1}))
      fail("theta ", in[0].shape(), " must be ", Dims{o.size[0], axes, axes + 1}, " for size ", o.size);
    Dims shape{o.size[0]};
    shape.append(o.size.begin() + 2, o.size.end());
    shape.push_back(axes);
    return {{shape, in[0].dtype()}};
  }
  // (x, y, z, 1) of every place, [places, axes + 1]; a single place on an axis is its middle.
  static Tensor places(const Options& o, DType dtype) {
    const Dims out(o.size.begin() + 2, o.size.end());
    const int64_t axes = static_cast<int64_t>(out.size()), count = product(out);
    Tensor t = Tensor::empty({count, axes + 1}, dtype);
    visit_floating(dtype, [&]<class T>() {
      T* to = t.data<T>();
      for (int64_t p = 0; p < count; ++p, to += axes + 1) {
        int64_t rest = p;
        for (int64_t i = 0; i < axes; ++i) {
          const int64_t n = out[static_cast<size_t>(axes - 1 - i)];
          const double step = static_cast<double>(rest % n), size = static_cast<double>(n);
          to[i] = static_cast<T>(n == 1            ? 0
                                 : o.align_corners ? 2 * step / (size - 1) - 1
                                                   : (2 * step + 1) / size - 1);
          rest /= n;
        }
        to[axes] = 1;
      }
    });
    return t;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor grid = matmul(places(o, in[0].dtype()), transpose(in[0], 1, 2));
    return {reshape(grid, shape(o, in)[0].shape)};
  }
};
OMNIGRAD_OP(AffineGrid)

}  // namespace
}  // namespace omnigrad
