// Samples of gridSample with the maps it is made of, affine grids, lp pooling and max unpooling.
#include <cmath>
#include <limits>

#include "samples.h"

namespace omnigrad::test {
namespace {

// An image, a grid over it, and options. Where samples are smooth, places are away from whole pixels, halves
// and the lines that padding mirrors at.
struct Sampling {
  Dims size, x, out;  // x: [N, C, *size]; out: [N, C, *out]
  Tensor grid;
  bool align;

  explicit Sampling(Gen& g) {
    const int64_t axes = g.integer(1, 3), batch = g.size(2), channels = g.size(2);
    size = g.sizes(axes, 1, axes == 3 ? 3 : 4);
    align = g.chance();
    x = {batch, channels};
    out = x;
    x.append(size.begin(), size.end());
    Dims shape{batch};
    for (int64_t i = 0; i < axes; ++i) shape.push_back(g.size(3));
    out.append(shape.begin() + 1, shape.end());
    shape.push_back(axes);
    grid = Tensor::empty(shape, g.dtype);
    for (int64_t i = 0; i < grid.numel(); ++i) {
      const double n = static_cast<double>(size[static_cast<size_t>(axes - 1 - i % axes)]);
      double at = static_cast<double>(g.integer(-2, static_cast<int64_t>(n) + 1));
      at += g.smooth ? g.pick({0.15, 0.65}) + g.real(0, 0.2) : g.pick({0.0, 0.25, 0.5, 0.8});
      const double place = !align ? (2 * at + 1) / n - 1 : n > 1 ? 2 * at / (n - 1) - 1 : at;
      visit_floating(g.dtype,
                     [&]<class T>() { grid.data<T>()[i] = static_cast<T>(static_cast<float>(place)); });
    }
  }
  Call& options(Call& c, Gen& g) const {
    return c.set("alignCorners", align)
        .choose("mode", g.pick({"bilinear", "nearest", "bicubic"}))
        .choose("paddingMode", g.pick({"zeros", "border", "reflection"}));
  }
  Call& internal(Call& c, Gen& g) const {
    Dims order;
    for (size_t i = 0; i < size.size(); ++i) order.push_back(g.pick({0, 0, 1}));
    return options(c, g).set("order", order).set("size", size);
  }
};

Call grid_sample(Gen& g) {
  const Sampling s(g);
  Call c("gridSample", {g.tensor(s.x), s.grid});
  return s.options(c, g);
}
Call grid_read(Gen& g) {
  const Sampling s(g);
  Call c("gridRead", {g.tensor(s.x), s.grid});
  return s.internal(c, g);
}
Call grid_write(Gen& g) {
  const Sampling s(g);
  Call c("gridWrite", {g.tensor(s.out), s.grid});
  return s.internal(c, g);
}
Call grid_slope(Gen& g) {
  const Sampling s(g);
  Call c("gridSlope", {g.tensor(s.x), s.grid, g.tensor(s.out)});
  return s.internal(c, g);
}

Call affine_grid(Gen& g) {
  const int64_t axes = g.integer(1, 3);
  const Dims size = g.sizes(axes + 2, 1, 3);
  return Call("affineGrid", {g.tensor({size[0], axes, axes + 1})})
      .set("size", size)
      .set("alignCorners", g.chance());
}

Call lp_pool(Gen& g) {
  const int64_t axes = g.integer(1, 3);
  const Dims kernel = g.sizes(axes, 1, axes == 3 ? 2 : 3);
  Dims shape{g.size(2), g.size(2)};
  for (int64_t k : kernel) shape.push_back(k + g.integer(0, axes == 1 ? 5 : 2));
  const double p = g.pick({1.0, 1.5, 2.0, 3.0, 4.0, std::numeric_limits<double>::infinity()});
  const bool negative = p == 2 || p == 4;
  Call c("lpPool", {std::isinf(p) ? g.distinct(shape) : negative ? g.away(shape) : g.tensor(shape, 0.3, 2)});
  c.set("normType", p).set("kernelSize", kernel).set("ceilMode", g.chance());
  if (g.chance()) c.set("stride", g.sizes(axes, 1, 3));
  return c;
}
Call max_unpool(Gen& g) {
  const int64_t axes = g.integer(1, 3);
  const Dims kernel = g.sizes(axes, 2, 3);
  Dims shape{g.size(2), g.size(2)}, out;
  for (int64_t k : kernel) {
    shape.push_back(g.integer(1, 3));
    out.push_back(shape.back() * k);
  }
  Call c("maxUnpool", {g.tensor(shape), g.index(shape, product(out), DType::int64)});
  c.set("kernelSize", kernel);
  if (g.chance()) c.set("outputSize", out);
  return c;
}

}  // namespace

void add_sampling_samples(SampleTable& t) {
  t["gridSample"] = grid_sample;
  t["gridRead"] = grid_read;
  t["gridWrite"] = grid_write;
  t["gridSlope"] = grid_slope;
  t["affineGrid"] = affine_grid;
  t["lpPool"] = lp_pool;
  t["maxUnpool"] = max_unpool;
}

}  // namespace omnigrad::test
