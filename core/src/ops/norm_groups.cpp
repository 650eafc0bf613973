// The fused normalisation and its gradient as ops. The gradient op takes forward's statistics as a cache: as
// a function it depends on x, weight and g alone, and its own vjp goes through the composite of those.
#include "ops/norm_groups.h"

#include "kernels/reduce.h"
#include "omnigrad/autograd.h"
#include "tensor/pool.h"

namespace omnigrad {

Tensor norm_groups_composite(const Tensor& x, const Tensor& weight, const NormGroupsOptions& o) {
  Tensor t = reshape(x, {o.outer, o.groups, o.inner});
  if (o.centered) t = t - mean(t, {0, 2}, true);
  t = t * reciprocal(sqrt(mean(square(t), {0, 2}, true) + o.eps));
  if (weight) {
    t = reshape(t, {o.outer, o.groups / o.period, o.period, o.per, o.run()}) *
        reshape(weight, {o.period, o.per, 1});
  }
  return reshape(t, x.shape());
}

namespace {

template <class O>
constexpr Schema size_options(Schema s) {
  s.opt<O, int64_t>("outer", &O::outer, "x counts as [outer, groups, inner]")
      .template opt<O, int64_t>("groups", &O::groups, "each has statistics of its own")
      .template opt<O, int64_t>("inner", &O::inner, "elements of a group that lie side by side")
      .template opt<O, int64_t>("period", &O::period, "groups after which weights repeat")
      .template opt<O, int64_t>("per", &O::per, "weights of a group")
      .template opt<O, bool>("centered", &O::centered, "subtract the mean")
      .template opt<O, double>("eps", &O::eps, "added to the variance");
  return s;
}

void check_sizes(const NormGroupsOptions& o, const Tensor& x) {
  int64_t n = 0;
  if (o.outer < 0 || o.groups < 0 || o.inner < 0 || __builtin_mul_overflow(o.outer, o.groups, &n) ||
      __builtin_mul_overflow(n, o.inner, &n) || n != x.numel()) {
    fail("x ", x.shape(), " does not have ", o.outer, " * ", o.groups, " * ", o.inner, " elements");
  }
  if (!(o.eps >= 0)) fail(Code::option, "eps ", o.eps, " must not be negative");
  if (o.period < 1 || o.groups % o.period != 0)
    fail(Code::option, "period ", o.period, " must divide groups ", o.groups);
  if (o.per < 0 || (o.per == 0 ? o.inner != 0 : o.inner % o.per != 0))
    fail(Code::option, "per ", o.per, " must divide inner ", o.inner);
  if (o.outer != 1 && o.per != 1) fail(Code::option, "outer ", o.outer, " goes with per 1, not ", o.per);
}
void check_weight(const char* name, const Tensor& t, const NormGroupsOptions& o) {
  if (!t) return;
  int64_t n = 0;
  if (__builtin_mul_overflow(o.period, o.per, &n) || t.numel() != n)
    fail(name, " ", t.shape(), " must have ", o.period, " * ", o.per, " elements");
}

template <class T>
const T* data_of(const Tensor& t) {
  return t ? t.data<T>() : nullptr;
}
Tensor packed(const Tensor& t) { return t ? t.contiguous() : t; }

struct NormGroupsGrad {
  struct Options : NormGroupsOptions {
    bool want_x = true, want_weight = true, want_bias = true;
  };
  static constexpr Schema schema() {
    return size_options<Options>(
               op("normGroupsGrad", "The gradients of normGroups, fused; those not wanted are empty.")
                   .in("x", Kind::floating, "as normGroups'")
                   .saved()
                   .in("weight", Kind::floating, "as normGroups'")
                   .optional()
                   .saved()
                   .in("g", Kind::floating, "the cotangent of y")
                   .saved()
                   .in("mean", Kind::floating, "normGroups', saving the time to make it again")
                   .nondiff()
                   .optional()
                   .in("variance", Kind::floating, "with mean")
                   .nondiff()
                   .optional())
        .opt("wantX", &Options::want_x)
        .opt("wantWeight", &Options::want_weight)
        .opt("wantBias", &Options::want_bias)
        .out("gx")
        .when("wantX")
        .out("gweight")
        .when("wantWeight")
        .out("gbias")
        .when("wantBias")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_sizes(o, in[0]);
    check_weight("weight", in[1], o);
    if (!(in[2].shape() == in[0].shape())) fail("g ", in[2].shape(), " must have x's shape ", in[0].shape());
    for (size_t i : {size_t{3}, size_t{4}})
      if (in[i] && in[i].numel() != o.groups) fail("statistics ", in[i].shape(), " must be of ", o.groups);
    const DType t = in[0].dtype();
    const Dims weights{o.period, o.per};
    return {{o.want_x ? in[0].shape() : Dims{0}, t},
            {o.want_weight && in[1] ? in[1].shape() : Dims{0}, t},
            {o.want_bias ? weights : Dims{0}, t}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), weight = packed(in[1]), g = in[2].contiguous(), mean = packed(in[3]),
                 variance = mean ? packed(in[4]) : mean;
    const int64_t block = kernels::norm_groups_per_part(o), rows = (o.groups + block - 1) / block;
    const bool want_weight = o.want_weight && weight;
    Tensor weight_parts, bias_parts;
    if (want_weight) weight_parts = Tensor::empty({rows, o.per}, x.dtype());
    if (o.want_bias) bias_parts = Tensor::empty({rows, o.per}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::normalize_groups_grad<T>(
          o, x.data<T>(), data_of<T>(weight), g.data<T>(), o.want_x ? out[0].data<T>() : nullptr,
          want_weight ? weight_parts.data<T>() : nullptr, o.want_bias ? bias_parts.data<T>() : nullptr,
          variance ? data_of<T>(mean) : nullptr, data_of<T>(variance));
    });
    const auto total = [&](const Tensor& parts, const Tensor& to) {
      const int64_t n = rows / o.period, inner = o.period * o.per;
      Workspace ws(kernels::sum_workspace(x.dtype(), 1, n, inner));
      kernels::sum(x.dtype(), parts.raw(), to.raw(), 1, n, inner, ws.as());
    };
    if (want_weight) total(weight_parts, out[1]);
    if (o.want_bias) total(bias_parts, out[2]);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    const Tensor x = s.in(0), weight = s.in(1), g = s.in(2);
    TensorList wanted(2);
    if (o.want_x) wanted[0] = v[0];
    if (o.want_weight && weight) wanted[1] = v[1];
    Grads grads = double_backward(
        [&o](const TensorList& in) { return TensorList{norm_groups_composite(in[0], in[1], o)}; },
        {x, weight}, {g}, wanted, need);
    // gbias is linear in g alone.
    if (need[2] && o.want_bias && v[2]) {
      const Dims spread{o.outer, o.groups / o.period, o.period, o.per, o.run()};
      const Tensor gg = reshape(expand(reshape(v[2], {o.period, o.per, 1}), spread), g.shape());
      grads[2] = grads[2] ? grads[2] + gg : gg;
    }
    grads.resize(5);
    return grads;
  }
};
OMNIGRAD_OP(NormGroupsGrad)

struct NormGroups {
  using Options = NormGroupsOptions;
  static constexpr Schema schema() {
    return size_options<Options>(
               op("normGroups",
                  "(x - mean) / sqrt(variance + eps) * weight + bias with the statistics of each group.")
                   .in("x", Kind::floating, "any shape with as many elements")
                   .saved()
                   .in("weight", Kind::floating, "period * per elements")
                   .optional()
                   .saved()
                   .in("bias", Kind::floating, "period * per elements")
                   .optional())
        .out("y")
        .out("mean")
        .nondiff()
        .saved()
        .out("variance")
        .nondiff()
        .saved()
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_sizes(o, in[0]);
    check_weight("weight", in[1], o);
    check_weight("bias", in[2], o);
    const DType t = in[0].dtype();
    return {{in[0].shape(), t}, {{o.groups}, t}, {{o.groups}, t}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), weight = packed(in[1]), bias = packed(in[2]);
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::normalize_groups<T>(o, x.data<T>(), data_of<T>(weight), data_of<T>(bias), out[0].data<T>(),
                                   out[1].data<T>(), out[2].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    NormGroupsGrad::Options options;
    static_cast<NormGroupsOptions&>(options) = o;
    options.want_x = need[0], options.want_weight = need[1], options.want_bias = need[2];
    const TensorList t = apply<NormGroupsGrad>({s.in(0), s.in(1), g[0], s.out(1), s.out(2)}, options);
    Grads grads(3);
    if (need[0]) grads[0] = t[0];
    if (need[1]) grads[1] = t[1];
    if (need[2]) grads[2] = reshape(t[2], s.shape(2));
    return grads;
  }
};
OMNIGRAD_OP(NormGroups)

}  // namespace

TensorList norm_groups(const Tensor& x, const Tensor& weight, const Tensor& bias,
                       const NormGroupsOptions& o) {
  return apply<NormGroups>({x, weight, bias}, o);
}

}  // namespace omnigrad
