// Sorting and what follows from it: argsort, topk, median, kthvalue. Stable; NaN counts as the greatest.
#include "kernels/sort.h"

#include "omnigrad/ops.h"
#include "ops/axis.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

struct SortOptions {
  int64_t dim = -1;
  bool descending = false;
};

struct Sort {
  using Options = SortOptions;
  static constexpr Schema schema() {
    return op("sort",
              "Elements in order along an axis, and where they were. Equal ones keep their order; NaN is "
              "greatest.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("descending", &Options::descending, "the greatest first")
        .out("values")
        .out("indices")
        .nondiff()
        .saved();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}, {in[0].shape(), DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const AxisView v(x.shape(), o.dim);
    Workspace ws(kernels::sort_workspace(v.outer, v.n, v.inner));
    kernels::sort(x.dtype(), x.raw(), out[0].raw(), out[1].data<int64_t>(), v.outer, v.n, v.inner,
                  o.descending, ws.as());
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    if (!g[0]) return {{}};
    return {scatter_add(zeros_like(g[0]), s.out(1), g[0], o.dim)};
  }
};
OMNIGRAD_OP(Sort)

struct Argsort {
  using Options = SortOptions;
  static constexpr Schema schema() {
    return op("argsort", "Indices that sort an axis; int64.")
        .in("x", Kind::any, "at least one axis")
        .nondiff()
        .arg("dim", &Options::dim, "the axis")
        .opt("descending", &Options::descending, "the greatest first")
        .out("y")
        .nondiff()
        .no_gradient("indices");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return {Sort::shape(o, in)[1]}; }
  static TensorList compose(const Options& o, Inputs in) { return {apply<Sort>({in[0].detach()}, o)[1]}; }
};
OMNIGRAD_OP(Argsort)

struct Topk {
  struct Options {
    int64_t k = 1, dim = -1;
    bool largest = true;
  };
  static constexpr Schema schema() {
    return op("topk", "The k greatest elements along an axis, in order, and where they are.")
        .in("x", Kind::any, "at least one axis")
        .arg("k", &Options::k, "how many")
        .opt("dim", &Options::dim, "the axis")
        .opt("largest", &Options::largest, "false: the k least")
        .out("values")
        .out("indices")
        .nondiff();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    if (o.k < 0 || o.k > shape[d])
      fail(Code::option, "k ", o.k, " must be from 0 to the axis' size ", shape[d]);
    shape[d] = o.k;
    return {{shape, in[0].dtype()}, {shape, DType::int64}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const TensorList sorted = apply<Sort>({in[0]}, {o.dim, o.largest});
    return {slice(sorted[0], o.dim, 0, o.k), slice(sorted[1], o.dim, 0, o.k)};
  }
};
OMNIGRAD_OP(Topk)

struct Kthvalue {
  struct Options {
    int64_t k = 1, dim = -1;
    bool keepdim = false;
  };
  static constexpr Schema schema() {
    return op("kthvalue", "The k-th least element along an axis, and where it is.")
        .in("x", Kind::any, "at least one axis")
        .arg("k", &Options::k, "from 1")
        .opt("dim", &Options::dim, "the axis")
        .opt("keepdim", &Options::keepdim, "keep the axis with size 1")
        .out("values")
        .out("indices")
        .nondiff();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    if (o.k < 1 || o.k > shape[d])
      fail(Code::option, "k ", o.k, " must be from 1 to the axis' size ", shape[d]);
    shape[d] = 1;
    if (!o.keepdim) shape.erase(d);
    return {{shape, in[0].dtype()}, {shape, DType::int64}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    TensorList sorted = apply<Sort>({in[0]}, {o.dim, false});
    for (Tensor& t : sorted) {
      t = slice(t, o.dim, o.k - 1, o.k);
      if (!o.keepdim) t = squeeze(t, o.dim);
    }
    return sorted;
  }
};
OMNIGRAD_OP(Kthvalue)

struct Median {
  struct Options {
    std::optional<int64_t> dim;
    bool keepdim = false;
  };
  static constexpr Schema schema() {
    return op("median", "The median, the lower of two; NaN counts as the greatest.")
        .in("x", Kind::number, "any shape")
        .arg("dim", &Options::dim, "the axis; none: the flattened tensor")
        .opt("keepdim", &Options::keepdim, "keep the axis with size 1")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!o.dim) {
      if (in[0].numel() == 0) fail("of no elements there is no median");
      return {{{}, in[0].dtype()}};
    }
    const int64_t n = in[0].size(normalize_dim(*o.dim, in[0].rank()));
    if (n == 0) fail("of no elements there is no median");
    return {Kthvalue::shape({(n + 1) / 2, *o.dim, o.keepdim}, in)[0]};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor x = o.dim ? in[0] : reshape(in[0], {-1});
    const int64_t dim = o.dim.value_or(0);
    return {apply1<Kthvalue>({x}, {(x.size(normalize_dim(dim, x.rank())) + 1) / 2, dim, o.keepdim && o.dim})};
  }
};
OMNIGRAD_OP(Median)

}  // namespace
}  // namespace omnigrad
