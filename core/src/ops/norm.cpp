// Layer, RMS, group, instance and batch norm: shapes and running statistics around one fused normalisation.
// Statistics are of the population; running variances are unbiased, as in PyTorch.
#include <limits>

#include "omnigrad/autograd.h"
#include "ops/norm_groups.h"

namespace omnigrad {
namespace {

// The product of the sizes from `axis` on.
int64_t sizes_from(const Tensor& x, size_t axis) {
  return product(Dims(x.shape().begin() + std::min(axis, x.shape().size()), x.shape().end()));
}

void check_parameter(const char* name, const Tensor& t, const Dims& shape) {
  if (t && !(t.shape() == shape)) fail(name, " ", t.shape(), " must have shape ", shape);
}
void check_eps(double eps) {
  if (!(eps >= 0)) fail(Code::option, "eps ", eps, " must not be negative");
}
void check_channels(const Tensor& x, size_t axes) {
  if (x.shape().size() < axes)
    fail("x ", x.shape(), axes == 2 ? " needs [N, C, *S]" : " needs [N, C, *S] with S");
}

// The last axes, normalised row by row.
NormGroupsOptions rows(const Tensor& x, const Dims& normalized, bool centered, double eps) {
  NormGroupsOptions o;
  o.groups = 1;
  for (size_t i = 0; i + normalized.size() < x.shape().size(); ++i) o.groups *= x.shape()[i];
  o.inner = o.per = product(normalized);
  o.centered = centered;
  o.eps = eps;
  return o;
}
void check_rows(const Tensor& x, const Dims& normalized) {
  const size_t rank = x.shape().size(), n = normalized.size();
  if (n == 0) fail(Code::option, "normalizedShape must name at least one axis");
  if (n > rank || !(Dims(x.shape().end() - n, x.shape().end()) == normalized))
    fail("normalizedShape ", normalized, " must be the last sizes of x ", x.shape());
}

struct LayerNorm {
  struct Options {
    Dims normalizedShape;
    double eps = 1e-5;
  };
  static constexpr Schema schema() {
    return op("layerNorm", "(x - mean) / sqrt(variance + eps) * weight + bias over the last axes.")
        .in("x", Kind::floating, "[*, *normalizedShape]")
        .arg("normalizedShape", &Options::normalizedShape, "the last sizes of x, over which it is normalised")
        .in("weight", Kind::floating, "normalizedShape")
        .optional()
        .in("bias", Kind::floating, "normalizedShape")
        .optional()
        .opt("eps", &Options::eps, "added to the variance")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_rows(in[0], o.normalizedShape);
    check_parameter("weight", in[1], o.normalizedShape);
    check_parameter("bias", in[2], o.normalizedShape);
    check_eps(o.eps);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {norm_groups(in[0], in[1], in[2], rows(in[0], o.normalizedShape, true, o.eps))[0]};
  }
};
OMNIGRAD_OP(LayerNorm)

struct RmsNorm {
  struct Options {
    Dims normalizedShape;
    std::optional<double> eps;
  };
  static constexpr Schema schema() {
    return op("rmsNorm", "x / sqrt(mean(x^2) + eps) * weight over the last axes.")
        .in("x", Kind::floating, "[*, *normalizedShape]")
        .arg("normalizedShape", &Options::normalizedShape, "the last sizes of x, over which it is normalised")
        .in("weight", Kind::floating, "normalizedShape")
        .optional()
        .opt("eps", &Options::eps, "added to the mean square; null: the dtype's machine epsilon")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_rows(in[0], o.normalizedShape);
    check_parameter("weight", in[1], o.normalizedShape);
    check_eps(o.eps.value_or(0));
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const double epsilon = in[0].dtype() == DType::float32 ? std::numeric_limits<float>::epsilon()
                                                           : std::numeric_limits<double>::epsilon();
    return {norm_groups(in[0], in[1], {}, rows(in[0], o.normalizedShape, false, o.eps.value_or(epsilon)))[0]};
  }
};
OMNIGRAD_OP(RmsNorm)

struct GroupNorm {
  struct Options {
    int64_t numGroups = 1;
    double eps = 1e-5;
  };
  static constexpr Schema schema() {
    return op("groupNorm",
              "Normalises each sample over groups of channels, then times weight plus bias by channel.")
        .in("x", Kind::floating, "[N, C, *S]")
        .arg("numGroups", &Options::numGroups, "groups, which divide C")
        .in("weight", Kind::floating, "[C]")
        .optional()
        .in("bias", Kind::floating, "[C]")
        .optional()
        .opt("eps", &Options::eps, "added to the variance")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_channels(in[0], 2);
    const int64_t channels = in[0].size(1);
    if (o.numGroups < 1 || channels % o.numGroups != 0)
      fail(Code::option, "numGroups ", o.numGroups, " must divide the ", channels, " channels");
    check_parameter("weight", in[1], {channels});
    check_parameter("bias", in[2], {channels});
    check_eps(o.eps);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    NormGroupsOptions s;
    s.period = o.numGroups;
    s.groups = in[0].size(0) * o.numGroups;
    s.per = in[0].size(1) / o.numGroups;
    s.inner = s.per * sizes_from(in[0], 2);
    s.eps = o.eps;
    return {norm_groups(in[0], in[1], in[2], s)[0]};
  }
};
OMNIGRAD_OP(GroupNorm)

// ---- with running statistics

struct RunningOptions {
  double momentum = 0.1, eps = 1e-5;
};

template <class O>
constexpr Schema with_running(const char* name, Doc doc, Doc x, bool O::* mode, const char* mode_name,
                              Doc mode_doc) {
  return op(name, doc)
      .in("x", Kind::floating, x)
      .in("runningMean", Kind::floating, "[C]")
      .optional()
      .mutated()
      .in("runningVar", Kind::floating, "[C]")
      .optional()
      .mutated()
      .in("weight", Kind::floating, "[C]")
      .optional()
      .in("bias", Kind::floating, "[C]")
      .optional()
      .opt(mode_name, mode, mode_doc)
      .template opt<O, double>("momentum", &O::momentum, "share of the new statistics in the running ones")
      .template opt<O, double>("eps", &O::eps, "added to the variance")
      .out("y");
}

OutSpecs check_running(const RunningOptions& o, Inputs in, bool own, const char* mode) {
  const Dims channels{in[0].size(1)};
  if (in[1].defined() != in[2].defined())
    fail(Code::argument, "runningMean and runningVar come together: one of them is missing");
  if (!own && !in[1]) fail(Code::argument, mode, " false needs runningMean and runningVar");
  const char* names[] = {"", "runningMean", "runningVar", "weight", "bias"};
  for (size_t i = 1; i < 5; ++i) check_parameter(names[i], in[i], channels);
  for (size_t i = 1; own && i < 3 && in[i]; ++i) {
    if (in[i].size(0) > 1 && in[i].strides()[0] == 0)
      fail(names[i], " is expanded: it cannot be written, clone() it first");
  }
  check_eps(o.eps);
  return {{in[0].shape(), in[0].dtype()}};
}

// y from statistics that are given; they have no gradient.
Tensor with_statistics(Inputs in, double eps) {
  Dims along(in[0].shape().size(), 1);
  along[1] = in[0].size(1);
  Tensor scale;
  {
    GradMode off(false);
    scale = reciprocal(sqrt(in[2] + eps));
  }
  if (in[3]) scale = scale * in[3];
  const Tensor y = (in[0] - reshape(in[1].detach(), along)) * reshape(scale, along);
  return in[4] ? y + reshape(in[4], along) : y;
}

// running += momentum * (new - running); `n` elements made each variance.
void update_running(Inputs in, const Tensor& mean, const Tensor& variance, int64_t n, double momentum) {
  if (recomputing()) return;  // a checkpoint runs its function twice, the statistics move once
  if (!in[1] || n == 0) return;
  GradMode off(false);
  const double count = static_cast<double>(n);
  const auto mix = [=](const Tensor& running, const Tensor& now) {
    const NoOptions none;
    dispatch(*find_op("copy_"), &none, {running, running * (1 - momentum) + now * momentum});
  };
  mix(in[1], mean);
  mix(in[2], variance * (count / (count - 1)));
}

struct BatchNorm {
  struct Options : RunningOptions {
    bool training = false;
  };
  static constexpr Schema schema() {
    return with_running(
        "batchNorm",
        "Normalises each channel: in training with the batch's statistics, which also move the running "
        "ones, else with the running ones; then times weight plus bias by channel.",
        "[N, C, *S]", &Options::training, "training", "use the batch's statistics");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_channels(in[0], 2);
    const int64_t n = in[0].size(0) * sizes_from(in[0], 2);
    if (o.training && n == 1) fail("training needs more than one value a channel, x is ", in[0].shape());
    return check_running(o, in, o.training, "training");
  }
  static TensorList compose(const Options& o, Inputs in) {
    if (!o.training) return {with_statistics(in, o.eps)};
    const Tensor& x = in[0];
    const int64_t n = x.size(0), space = sizes_from(x, 2);
    NormGroupsOptions s;
    s.outer = n, s.groups = s.period = std::max<int64_t>(x.size(1), 1), s.inner = space, s.eps = o.eps;
    if (x.numel() == 0) return {alias(x)};
    TensorList t;
    if (space >= kLongRun || n == 1) {
      t = norm_groups(x, in[3], in[4], s);
    } else {
      // Runs too short for vectors: channels first.
      s.outer = 1, s.inner = n * space;
      t = norm_groups(clone(transpose(x, 0, 1)), in[3], in[4], s);
      t[0] = clone(transpose(t[0], 0, 1));
    }
    update_running(in, t[1], t[2], n * space, o.momentum);
    return {t[0]};
  }
  static constexpr int64_t kLongRun = 16;
};
OMNIGRAD_OP(BatchNorm)

struct InstanceNorm {
  struct Options : RunningOptions {
    bool useInputStats = true;
  };
  static constexpr Schema schema() {
    return with_running(
        "instanceNorm",
        "Normalises each channel of each sample, by its own statistics, whose means over the batch move "
        "the running ones, or by the running ones; then times weight plus bias by channel.",
        "[N, C, *S], S of one axis or more", &Options::useInputStats, "useInputStats",
        "use the statistics of x");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_channels(in[0], 3);
    if (o.useInputStats && sizes_from(in[0], 2) == 1)
      fail("useInputStats needs more than one value a channel, x is ", in[0].shape());
    return check_running(o, in, o.useInputStats, "useInputStats");
  }
  static TensorList compose(const Options& o, Inputs in) {
    if (!o.useInputStats) return {with_statistics(in, o.eps)};
    const Tensor& x = in[0];
    if (x.numel() == 0) return {alias(x)};
    NormGroupsOptions s;
    s.groups = x.size(0) * x.size(1), s.period = x.size(1), s.inner = sizes_from(x, 2), s.eps = o.eps;
    const TensorList t = norm_groups(x, in[3], in[4], s);
    if (in[1]) {
      const auto over_batch = [&](const Tensor& v) { return mean(reshape(v, {x.size(0), x.size(1)}), {0}); };
      update_running(in, over_batch(t[1]), over_batch(t[2]), s.inner, o.momentum);
    }
    return {t[0]};
  }
};
OMNIGRAD_OP(InstanceNorm)

}  // namespace
}  // namespace omnigrad
