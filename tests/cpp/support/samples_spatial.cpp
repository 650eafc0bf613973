// Samples of interpolation and pooling, with the linear maps and gathers they are made of.
#include <algorithm>

#include "samples.h"

namespace omnigrad::test {
namespace {

Dims planes(Gen& g, const Dims& spatial) {
  Dims shape{g.size(2), g.size(2)};
  shape.append(spatial.begin(), spatial.end());
  return shape;
}

Call interpolate(Gen& g) {
  const int64_t axes = g.integer(1, 3), largest = axes == 1 ? 6 : axes == 2 ? 4 : 3;
  const Dims in = g.sizes(axes, 1, largest);
  Call c("interpolate", {g.tensor(planes(g, in))});
  const char* mode = g.pick({"nearest", "nearest-exact", "linear", "cubic", "lanczos3"});
  c.choose("mode", mode);
  if (mode[0] != 'n') {
    c.set("alignCorners", g.chance(0.3));
    c.set("antialias", g.chance(0.3));
  }
  if (g.chance(0.6)) return c.set("size", g.sizes(axes, 1, largest + 2));
  const int64_t least = *std::min_element(in.begin(), in.end());
  return c.set("scaleFactor", std::max(1.0 / static_cast<double>(least), g.pick({0.5, 0.75, 1.5, 2.0, 2.3})));
}

// Kernel, stride and padding of windows that fit into `in`.
struct Windows {
  Dims in, kernel, stride, padding;
  explicit Windows(Gen& g) {
    const int64_t axes = g.integer(1, 3);
    kernel = g.sizes(axes, 1, axes == 3 ? 2 : 3);
    stride = g.sizes(axes, 1, 3);
    for (int64_t k : kernel) {
      padding.push_back(g.integer(0, k / 2));
      padding.push_back(g.integer(0, k / 2));
      in.push_back(k + g.integer(0, axes == 1 ? 5 : 2));
    }
  }
  Call& set(Call& c, Gen& g) const {
    c.set("kernelSize", kernel).set("padding", Padding{padding, true}).set("ceilMode", g.chance());
    if (g.chance(0.7)) c.set("stride", stride);
    return c;
  }
};

Call avg_pool(Gen& g) {
  const Windows w(g);
  Call c("avgPool", {g.tensor(planes(g, w.in))});
  w.set(c, g).set("countIncludePad", g.chance());
  if (g.chance(0.3)) c.set("divisorOverride", g.integer(1, 5));
  return c;
}
Call max_pool(Gen& g) {
  const Windows w(g);
  Call c("maxPool", {g.distinct(planes(g, w.in))});
  return w.set(c, g).set("returnIndices", g.chance());
}
Call max_pool_windows(Gen& g) {
  const Windows w(g);
  Call c("maxPoolWindows", {g.distinct(planes(g, w.in))});
  return w.set(c, g);
}
Call max_pool_2x2(Gen& g) {
  return Call("maxPool2x2", {g.distinct({g.size(2), g.integer(1, 3), g.integer(2, 5), g.integer(2, 9)})});
}
Call max_pool_2x2_grad(Gen& g) {
  const Dims x{g.size(2), g.integer(1, 3), g.integer(2, 5), g.integer(2, 9)};
  return Call("maxPool2x2Grad", {g.distinct(x), g.tensor({x[0], x[1], x[2] / 2, x[3] / 2})});
}
Sampler adaptive(const char* name) {
  return [=](Gen& g) {
    const int64_t axes = g.integer(1, 3);
    return Call(name, {g.distinct(planes(g, g.sizes(axes, 1, axes == 1 ? 7 : 4)))})
        .set("outputSize", g.sizes(axes, 1, 4));
  };
}

Sampler resample(const char* name, bool adjoint) {
  return [=](Gen& g) {
    const int64_t axes = g.integer(1, 2);
    const Dims in = g.sizes(axes, 1, 5), out = g.sizes(axes, 1, 5);
    Dims shape = g.shape(0, 2, 2);
    const Dims& last = adjoint ? out : in;
    shape.append(last.begin(), last.end());
    return Call(name, {g.tensor(shape)})
        .set("in", in)
        .set("out", out)
        .choose("mode", g.pick({"nearest", "nearest-exact", "linear", "cubic", "lanczos3", "adaptive"}));
  };
}

Dims joined(Dims a, const Dims& b) {
  a.append(b.begin(), b.end());
  return a;
}
Call plane_gather(Gen& g) {
  const Dims lead = g.shape(0, 2, 3), plane = g.sizes(g.integer(1, 2), 1, 4);
  const Dims result = g.sizes(static_cast<int64_t>(plane.size()), 1, 3);
  return Call("planeGather",
              {g.tensor(joined(lead, plane)), g.index(joined(lead, result), product(plane), DType::int64)})
      .set("axes", static_cast<int64_t>(plane.size()));
}
Call plane_scatter(Gen& g) {
  const Dims lead = g.shape(0, 2, 3), plane = g.sizes(g.integer(1, 2), 1, 4);
  const Dims shape = joined(lead, g.sizes(static_cast<int64_t>(plane.size()), 1, 3));
  return Call("planeScatter", {g.tensor(shape), g.index(shape, product(plane), DType::int64)})
      .set("size", plane);
}

}  // namespace

void add_spatial_samples(SampleTable& t) {
  t["interpolate"] = interpolate;
  t["resample"] = resample("resample", false);
  t["resampleAdjoint"] = resample("resampleAdjoint", true);
  t["avgPool"] = avg_pool;
  t["maxPool"] = max_pool;
  t["maxPoolWindows"] = max_pool_windows;
  t["maxPool2x2"] = max_pool_2x2;
  t["maxPool2x2Grad"] = max_pool_2x2_grad;
  t["adaptiveAvgPool"] = adaptive("adaptiveAvgPool");
  t["adaptiveMaxPool"] = adaptive("adaptiveMaxPool");
  t["planeGather"] = plane_gather;
  t["planeScatter"] = plane_scatter;
}

}  // namespace omnigrad::test
