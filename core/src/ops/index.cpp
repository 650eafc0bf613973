// Gathers and scatter-adds along one axis: each is the other's adjoint. Indices are checked before anything
// is allocated; negative ones are errors.
#include "kernels/index.h"

#include <cstring>

#include "omnigrad/ops.h"
#include "ops/axis.h"

namespace omnigrad {
namespace {

void check_range(const Tensor& index, int64_t size, int64_t dim) {
  const kernels::IndexRange r = kernels::index_range(index.dtype(), index.raw(), index.strides().data(),
                                                     index.shape().data(), static_cast<int>(index.rank()));
  if (r.max < r.min) return;
  if (r.min < 0 || r.max >= size) {
    fail(Code::index, "index ", r.min < 0 ? r.min : r.max, " is out of range for axis ", dim, " of size ",
         size);
  }
}

// Indices as the kernels want them.
Tensor int64_of(const Tensor& index) {
  if (index.dtype() == DType::int64) return index.contiguous();
  Tensor out = Tensor::empty(index.shape(), DType::int64);
  out.assign(index);
  return out;
}

struct DimOptions {
  int64_t dim = 0;
};

void check_one_axis(const Tensor& index) {
  if (index.rank() != 1) fail("index must have one axis, it has shape ", index.shape());
}

struct IndexSelect {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("indexSelect", "Entries of x along an axis, in the order of an index.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "[count], from 0 to the axis' size less 1")
        .saved()
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    check_one_axis(in[1]);
    check_range(in[1], in[0].size(dim), dim);
    Dims shape = in[0].shape();
    shape[static_cast<size_t>(dim)] = in[1].numel();
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    const Tensor x = in[0].contiguous(), index = int64_of(in[1]);
    const AxisView a(x.shape(), dim);
    kernels::index_select(static_cast<int>(size_of(x.dtype())), x.raw(), index.data<int64_t>(), out[0].raw(),
                          a.outer, x.size(dim), index.numel(), a.inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {index_add(zeros(s.shape(0), s.dtype(0)), s.in(1), g[0], o.dim), {}};
  }
};
OMNIGRAD_OP(IndexSelect)

struct IndexAdd {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("indexAdd", "x with source[i] added to entry index[i] along an axis; repeated indices add up.")
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "[count]")
        .saved()
        .in("source", Kind::number, "x's shape, but count along the axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    check_one_axis(in[1]);
    Dims expected = in[0].shape();
    expected[static_cast<size_t>(dim)] = in[1].numel();
    if (!(in[2].shape() == expected)) fail("source must have shape ", expected, ", it has ", in[2].shape());
    check_range(in[1], in[0].size(dim), dim);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    const Tensor index = int64_of(in[1]), source = in[2].contiguous();
    out[0].assign(in[0]);
    const AxisView a(in[0].shape(), dim);
    kernels::index_add(in[0].dtype(), source.raw(), index.data<int64_t>(), out[0].raw(), a.outer,
                       in[0].size(dim), index.numel(), a.inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    return {g[0], {}, need[2] ? index_select(g[0], s.in(1), o.dim) : Tensor()};
  }
};
OMNIGRAD_OP(IndexAdd)

// index may be smaller than `other` off the axis.
void check_inside(const Tensor& index, const Dims& other, const char* name, int64_t dim, bool along_too) {
  bool inside = index.shape().size() == other.size();
  for (size_t i = 0; inside && i < other.size(); ++i) {
    inside = (!along_too && static_cast<int64_t>(i) == dim) || index.shape()[i] <= other[i];
  }
  if (!inside)
    fail("index ", index.shape(), " must have ", name, "'s rank and no larger sizes",
         along_too ? "" : " off the axis", "; ", name, " is ", other);
}

struct Gather {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("gather", "y[i][j] = x[index[i][j]][j] for axis 0, likewise for others.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "x's rank; the result has its shape")
        .saved()
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    check_inside(in[1], in[0].shape(), "x", dim, false);
    check_range(in[1], in[0].size(dim), dim);
    return {{in[1].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous(), index = int64_of(in[1]);
    kernels::gather(static_cast<int>(size_of(x.dtype())), x.raw(), x.shape().data(), index.data<int64_t>(),
                    out[0].raw(), index.shape().data(), static_cast<int>(x.rank()),
                    static_cast<int>(normalize_dim(o.dim, x.rank())));
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    return {scatter_add(zeros(s.shape(0), s.dtype(0)), s.in(1), g[0], o.dim), {}};
  }
};
OMNIGRAD_OP(Gather)

struct ScatterAdd {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("scatterAdd", "x with y[index[i][j]][j] += source[i][j] for axis 0, likewise for others.")
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "x's rank")
        .saved()
        .in("source", Kind::number, "at least as large as index")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    check_inside(in[1], in[0].shape(), "x", dim, false);
    check_inside(in[1], in[2].shape(), "source", dim, true);
    check_range(in[1], in[0].size(dim), dim);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor index = int64_of(in[1]), source = in[2].contiguous();
    out[0].assign(in[0]);
    kernels::scatter_add(in[0].dtype(), source.raw(), source.shape().data(), index.data<int64_t>(),
                         out[0].raw(), in[0].shape().data(), index.shape().data(),
                         static_cast<int>(index.rank()),
                         static_cast<int>(normalize_dim(o.dim, in[0].rank())));
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    Grads grads{g[0], {}, {}};
    if (need[2]) {
      grads[2] = gather(g[0], s.in(1), o.dim);
      // Elements of source beyond index have no part in y.
      Dims pairs;
      const Dims& full = s.shape(2);
      for (size_t i = 0; i < full.size(); ++i) {
        pairs.push_back(0);
        pairs.push_back(full[i] - grads[2].shape()[i]);
      }
      if (!(grads[2].shape() == full)) grads[2] = pad(grads[2], pairs);
    }
    return grads;
  }
};
OMNIGRAD_OP(ScatterAdd)

}  // namespace

Tensor index_select(const Tensor& x, const Tensor& index, int64_t dim) {
  return apply1<IndexSelect>({x, index}, {dim});
}
Tensor index_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t dim) {
  return apply1<IndexAdd>({x, index, source}, {dim});
}
Tensor gather(const Tensor& x, const Tensor& index, int64_t dim) { return apply1<Gather>({x, index}, {dim}); }
Tensor scatter_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t dim) {
  return apply1<ScatterAdd>({x, index, source}, {dim});
}

}  // namespace omnigrad
