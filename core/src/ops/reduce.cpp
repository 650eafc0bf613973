// Reductions over any axes. Axes that lie side by side are reduced in one pass, the last ones first; the
// order of a sum depends on sizes alone.
#include "kernels/reduce.h"

#include <algorithm>

#include "omnigrad/ops.h"
#include "ops/axis.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

struct ReduceOptions {
  Dims dim;
  bool keepdim = false;
};

constexpr Schema reduction(const char* name, Doc doc, Kind kind) {
  return op(name, doc)
      .arg("dim", &ReduceOptions::dim, "axes to reduce, one or several; none: all")
      .opt("keepdim", &ReduceOptions::keepdim, "keep reduced axes with size 1")
      .in("x", kind, "any shape");
}

Dims reduced_shape(const Dims& shape, const Dims& dims, bool keepdim) {
  Dims out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) != dims.end();
    if (!reduced) out.push_back(shape[i]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

// Calls pass(x, outer, n, inner, last) for each run of adjacent reduced axes, from the last on; x becomes its
// result.
template <class Pass>
Tensor reduce_runs(const Tensor& x, const Dims& dims, const Pass& pass) {
  Tensor t = x.contiguous();
  Dims shape = t.shape();
  for (size_t end = dims.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && dims[begin - 1] == dims[begin] - 1) --begin;
    int64_t outer = 1, n = 1, inner = 1;
    for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
      const int64_t d = shape[static_cast<size_t>(i)];
      (i < dims[begin] ? outer : i <= dims[end - 1] ? n : inner) *= d;
    }
    for (size_t i = begin; i < end; ++i) shape[static_cast<size_t>(dims[i])] = 1;
    t = pass(t, outer, n, inner);
    end = begin;
  }
  return t;
}

// A gradient or result of the reduction, with its reduced axes put back as size 1.
Tensor keep_dims(const Tensor& t, const Dims& shape, const Dims& dims) {
  return reshape(t, reduced_shape(shape, dims, true));
}

DType sum_dtype(DType t) { return is_floating(t) ? t : DType::int64; }

struct Sum {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction("sum", "Sum over axes. Integers and bool are summed as int64.", Kind::any).out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return {{reduced_shape(in[0].shape(), normalize_dims(o.dim, in[0].rank()), o.keepdim),
             sum_dtype(in[0].dtype())}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor t = reduce_runs(in[0], normalize_dims(o.dim, in[0].rank()),
                                 [](const Tensor& x, int64_t outer, int64_t n, int64_t inner) {
                                   Tensor y = Tensor::empty({outer, inner}, sum_dtype(x.dtype()));
                                   Workspace ws(kernels::sum_workspace(x.dtype(), outer, n, inner));
                                   kernels::sum(x.dtype(), x.raw(), y.raw(), outer, n, inner, ws.as());
                                   return y;
                                 });
    out[0].assign(t.as_strided(out[0].shape(), contiguous_strides(out[0].shape()), t.offset()));
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {
        expand(keep_dims(g[0], s.shape(0), normalize_dims(o.dim, static_cast<int64_t>(s.shape(0).size()))),
               s.shape(0))};
  }
};
OMNIGRAD_OP(Sum)

struct Mean {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction("mean", "Mean over axes; of no elements it is NaN.", Kind::floating).out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return {{reduced_shape(in[0].shape(), normalize_dims(o.dim, in[0].rank()), o.keepdim), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    double n = 1;
    for (int64_t d : normalize_dims(o.dim, in[0].rank())) n *= static_cast<double>(in[0].size(d));
    return {sum(in[0], o.dim, o.keepdim) / n};
  }
};
OMNIGRAD_OP(Mean)

void check_not_empty(const Dims& shape, const Dims& dims) {
  for (int64_t d : dims) {
    if (shape[static_cast<size_t>(d)] == 0)
      fail("axis ", d, " has no elements: an extreme needs at least one");
  }
}

// amax and amin; ties share the gradient equally.
template <class Op>
struct ExtremeOp {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction(Op::kName, Op::kDoc, Kind::number).saved().out("y").saved();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims dims = normalize_dims(o.dim, in[0].rank());
    check_not_empty(in[0].shape(), dims);
    return {{reduced_shape(in[0].shape(), dims, o.keepdim), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor t =
        reduce_runs(in[0], normalize_dims(o.dim, in[0].rank()),
                    [](const Tensor& x, int64_t outer, int64_t n, int64_t inner) {
                      Tensor y = Tensor::empty({outer, inner}, x.dtype());
                      kernels::extreme(Op::kExtreme, x.dtype(), x.raw(), y.raw(), outer, n, inner);
                      return y;
                    });
    out[0].assign(t.as_strided(out[0].shape(), contiguous_strides(out[0].shape()), t.offset()));
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const Dims dims = normalize_dims(o.dim, static_cast<int64_t>(s.shape(0).size()));
    const Tensor hit = cast(eq(s.in(0), keep_dims(s.out(0), s.shape(0), dims)), g[0].dtype());
    return {hit * (keep_dims(g[0], s.shape(0), dims) / sum(hit, dims, true))};
  }
};

struct Amax : ExtremeOp<Amax> {
  static constexpr const char* kName = "amax";
  static constexpr Doc kDoc = "Maximum over axes; NaN if one is. Equal maxima share the gradient.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::max;
};
OMNIGRAD_OP(Amax)

struct Amin : ExtremeOp<Amin> {
  static constexpr const char* kName = "amin";
  static constexpr Doc kDoc = "Minimum over axes; NaN if one is. Equal minima share the gradient.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::min;
};
OMNIGRAD_OP(Amin)

struct ArgOptions {
  std::optional<int64_t> dim;
  bool keepdim = false;
};

template <class Op>
struct ArgExtremeOp {
  using Options = ArgOptions;
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .arg("dim", &Options::dim, "axis to search; none: the flattened tensor")
        .opt("keepdim", &Options::keepdim, "keep the axis with size 1")
        .in("x", Kind::number, "any shape")
        .nondiff()
        .out("y")
        .nondiff()
        .no_gradient("an index");
  }
  static Dims dims(const Options& o, Inputs in) {
    return normalize_dims(o.dim ? Dims{*o.dim} : Dims{}, in[0].rank());
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_not_empty(in[0].shape(), dims(o, in));
    return {{reduced_shape(in[0].shape(), dims(o, in), o.keepdim), DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const AxisView v = o.dim ? AxisView(x.shape(), *o.dim) : AxisView({x.numel()}, 0);
    kernels::arg_extreme(Op::kExtreme, x.dtype(), x.raw(), out[0].data<int64_t>(), v.outer, v.n, v.inner);
  }
};

struct Argmax : ArgExtremeOp<Argmax> {
  static constexpr const char* kName = "argmax";
  static constexpr Doc kDoc = "Index of the maximum, the first of equals; int64.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::max;
};
OMNIGRAD_OP(Argmax)

struct Argmin : ArgExtremeOp<Argmin> {
  static constexpr const char* kName = "argmin";
  static constexpr Doc kDoc = "Index of the minimum, the first of equals; int64.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::min;
};
OMNIGRAD_OP(Argmin)

}  // namespace

Tensor sum(const Tensor& x, const Dims& dims, bool keepdim) { return apply1<Sum>({x}, {dims, keepdim}); }
Tensor mean(const Tensor& x, const Dims& dims, bool keepdim) { return apply1<Mean>({x}, {dims, keepdim}); }
Tensor amax(const Tensor& x, const Dims& dims, bool keepdim) { return apply1<Amax>({x}, {dims, keepdim}); }
Tensor amin(const Tensor& x, const Dims& dims, bool keepdim) { return apply1<Amin>({x}, {dims, keepdim}); }

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  const size_t lead = x.shape().size() - shape.size();
  Dims dims;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    if (i < lead || (shape[i - lead] == 1 && x.shape()[i] != 1)) dims.push_back(static_cast<int64_t>(i));
  }
  return reshape(dims.empty() ? x : sum(x, dims, true), shape);
}

}  // namespace omnigrad
