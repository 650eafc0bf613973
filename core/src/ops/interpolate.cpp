// interpolate: resizing of all axes but the first two, by five modes and with antialiasing.
#include <cmath>

#include "omnigrad/ops.h"
#include "resample.h"

namespace omnigrad {
namespace {

using Mode = InterpolateOptions::Mode;

ResampleMode resample_mode(Mode mode) {
  switch (mode) {
    case Mode::nearest:
      return ResampleMode::nearest;
    case Mode::nearest_exact:
      return ResampleMode::nearest_exact;
    case Mode::linear:
    case Mode::bilinear:
    case Mode::trilinear:
      return ResampleMode::linear;
    case Mode::cubic:
    case Mode::bicubic:
      return ResampleMode::cubic;
    case Mode::lanczos3:
      break;
  }
  return ResampleMode::lanczos3;
}

struct Interpolate {
  using Options = InterpolateOptions;
  static constexpr Schema schema() {
    return op("interpolate", "Resizes the spatial axes of x, to a size or by a factor.")
        .in("x", Kind::floating, "[N, C, ...spatial], any number of spatial axes")
        .opt("size", &Options::size, "the new spatial sizes: one number, or one an axis")
        .opt("scaleFactor", &Options::scale_factor,
             "in place of size: sizes become floor(size * scaleFactor), and coordinates use the factor")
        .opt("mode", &Options::mode,
             "bilinear, trilinear and bicubic are linear and cubic for the number of axes they name",
             {"nearest", "nearest-exact", "linear", "cubic", "lanczos3", "bilinear", "trilinear", "bicubic"})
        .opt("alignCorners", &Options::align_corners, "corner pixels keep their place; not for nearest modes")
        .opt("antialias", &Options::antialias,
             "widens the filter when shrinking, as Pillow does; not for nearest modes")
        .out("y");
  }
  static ResampleOptions resolve(const Options& o, const Tensor& x) {
    const int64_t axes = x.rank() - 2;
    if (axes < 1) fail("x has rank ", x.rank(), ", it needs at least one axis after [N, C]");
    ResampleOptions r;
    r.in = spatial_sizes(x, axes);
    r.mode = resample_mode(o.mode);
    r.align_corners = o.align_corners;
    r.antialias = o.antialias;
    const bool two = o.mode == Mode::bilinear || o.mode == Mode::bicubic, three = o.mode == Mode::trilinear;
    if ((two && axes != 2) || (three && axes != 3)) {
      fail(Code::option, "mode ", two ? "bilinear or bicubic" : "trilinear", " is for ", two ? 2 : 3,
           " spatial axes, x has ", axes, ": linear and cubic take any number");
    }
    if (r.mode == ResampleMode::nearest || r.mode == ResampleMode::nearest_exact) {
      if (o.align_corners) fail(Code::option, "alignCorners is not for nearest modes");
      if (o.antialias) fail(Code::option, "antialias is not for nearest modes");
    }
    if (o.size.has_value() == o.scale_factor.has_value()) {
      fail(Code::option, "needs either size or scaleFactor", o.size ? ", not both" : "");
    }
    if (o.size) {
      r.out = per_axis(*o.size, axes, "size");
    } else {
      const double scale = *o.scale_factor;
      if (!(scale > 0) || !(scale < 1e9))
        fail(Code::option, "scaleFactor ", scale, " must be a number above 0");
      r.scale = scale;
      for (const int64_t n : r.in) {
        r.out.push_back(static_cast<int64_t>(std::floor(static_cast<double>(n) * scale)));
      }
    }
    for (const int64_t n : r.in) {
      if (n < 1) fail("spatial sizes ", r.in, " must be at least 1");
    }
    for (const int64_t n : r.out) {
      if (n < 1) fail("the result's sizes ", r.out, " must be at least 1");
    }
    return r;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const ResampleOptions r = resolve(o, in[0]);
    Dims shape{in[0].size(0), in[0].size(1)};
    shape.append(r.out.begin(), r.out.end());
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) { return {resample(in[0], resolve(o, in[0]))}; }
};
OMNIGRAD_OP(Interpolate)

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& o) { return apply1<Interpolate>({x}, o); }

}  // namespace omnigrad
