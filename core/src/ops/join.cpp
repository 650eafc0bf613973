// Cutting along an axis and joining: split and cat, each the other's gradient, and stack.
#include "omnigrad/ops.h"
#include "ops/slice.h"

namespace omnigrad {
namespace {

struct Split {
  struct Options {
    Dims sizes;
    int64_t dim = 0;
  };
  static constexpr Schema schema() {
    return op("split", "Cuts x along an axis into parts of the given sizes.")
        .in("x", Kind::any, "at least one axis")
        .arg("sizes", &Options::sizes, "the parts' sizes; their sum is the axis' size")
        .opt("dim", &Options::dim, "the axis")
        .out("parts");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    OutSpecs out;
    int64_t total = 0;
    for (int64_t size : o.sizes) {
      if (size < 0) fail("sizes ", o.sizes, " are not negative");
      out.push_back({in[0].shape(), in[0].dtype()});
      out.back().shape[d] = size;
      total += size;
    }
    if (total != in[0].shape()[d])
      fail("sizes ", o.sizes, " add up to ", total, ", axis ", d, " has ", in[0].shape()[d]);
    return out;
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    int64_t start = 0;
    for (Tensor& part : out) {
      const int64_t size = part.size(normalize_dim(o.dim, part.rank()));
      part.assign(slice_view({o.dim, start, start + size, 1}, in[0]));
      start += size;
    }
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    TensorList parts;
    for (size_t i = 0; i < g.size(); ++i) parts.push_back(g[i] ? g[i] : zeros(s.out_shape(i), s.dtype(0)));
    return {cat(parts, o.dim)};
  }
};
OMNIGRAD_OP(Split)

struct Cat {
  struct Options {
    int64_t dim = 0;
  };
  static constexpr Schema schema() {
    return op("cat", "Joins tensors along an axis.")
        .in("xs", Kind::any, "the same shape but for that axis")
        .variadic()
        .arg("dim", &Options::dim, "the axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in.empty()) fail(Code::argument, "needs at least one tensor");
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    shape[d] = 0;
    for (const Tensor& t : in) {
      Dims other = t.shape();
      bool fits = other.size() == shape.size();
      for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == d || other[i] == shape[i];
      if (!fits) fail("shapes ", in[0].shape(), " and ", other, " differ in another axis than ", d);
      shape[d] += other[d];
    }
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    int64_t start = 0;
    for (const Tensor& t : in) {
      const int64_t size = t.size(normalize_dim(o.dim, t.rank()));
      slice_view({o.dim, start, start + size, 1}, out[0]).assign(t);
      start += size;
    }
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    Dims sizes;
    for (size_t i = 0; i < s.inputs(); ++i) {
      const Dims& shape = s.shape(i);
      sizes.push_back(shape[static_cast<size_t>(normalize_dim(o.dim, static_cast<int64_t>(shape.size())))]);
    }
    return split(g[0], sizes, o.dim);
  }
};
OMNIGRAD_OP(Cat)

struct Stack {
  using Options = Cat::Options;
  static constexpr Schema schema() {
    return op("stack", "Joins tensors of one shape along a new axis.")
        .in("xs", Kind::any, "all of one shape")
        .variadic()
        .arg("dim", &Options::dim, "where the new axis is")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in.empty()) fail(Code::argument, "needs at least one tensor");
    Dims shape = in[0].shape();
    for (const Tensor& t : in) {
      if (!(t.shape() == shape)) fail("shapes ", shape, " and ", t.shape(), " differ: all must be equal");
    }
    shape.insert(static_cast<size_t>(normalize_dim(o.dim, in[0].rank() + 1)),
                 static_cast<int64_t>(in.size()));
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    TensorList xs;
    const int64_t dim = normalize_dim(o.dim, in[0].rank() + 1);
    for (const Tensor& t : in) xs.push_back(unsqueeze(t, dim));
    return {cat(xs, dim)};
  }
};
OMNIGRAD_OP(Stack)

}  // namespace

Tensor cat(const TensorList& xs, int64_t dim) { return apply1<Cat>(xs, {dim}); }
TensorList split(const Tensor& x, const Dims& sizes, int64_t dim) { return apply<Split>({x}, {sizes, dim}); }

}  // namespace omnigrad
