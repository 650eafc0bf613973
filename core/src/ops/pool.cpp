// Average pooling over all axes but the first two, by windows or to a given size: resamplings.
#include "pool_windows.h"

namespace omnigrad {
namespace {

struct AvgPool {
  using Options = AvgPoolOptions;
  static constexpr Schema schema() {
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

struct AdaptiveAvgPool {
  struct Options {
    Dims output_size{1};
  };
  static constexpr Schema schema() {
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

}  // namespace

Tensor avg_pool(const Tensor& x, const AvgPoolOptions& o) { return apply1<AvgPool>({x}, o); }
Tensor adaptive_avg_pool(const Tensor& x, const Dims& output_size) {
  return apply1<AdaptiveAvgPool>({x}, {output_size});
}

}  // namespace omnigrad
