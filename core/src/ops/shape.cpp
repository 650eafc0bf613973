// Ops that move elements without changing them: views (reshape, permute, expand, slice, flip), cat, split,
// pad. Each one's gradient is another member of the family.
#include <algorithm>

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct Alias {
  static Schema schema() {
    return op("alias", "The same tensor with a place of its own in the graph.")
        .in("x", Kind::free)
        .out("y")
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static Tensor view(const NoOptions&, Inputs in) { return in[0].detach(); }
  static Grads vjp(const NoOptions&, const Saved&, Cotangents g, Need) { return {g[0]}; }
};
OMNIGRAD_OP(Alias)

struct Reshape {
  struct Options {
    Dims shape;
  };
  static Schema schema() {
    return op("reshape", "The same elements in another shape; a view where x is contiguous.")
        .in("x", Kind::any, "any shape")
        .arg("shape", &Options::shape, "the new shape; one size may be -1 and is inferred")
        .out("y");
  }
  static Dims resolve(const Dims& given, const Tensor& x) {
    Dims out = given;
    Dims sizes;
    size_t inferred = out.size();
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] == -1 && inferred == out.size()) {
        inferred = i;
      } else if (out[i] < 0) {
        fail("shape ", given, ": sizes are not negative, and one at most is -1");
      } else {
        sizes.push_back(out[i]);
      }
    }
    const int64_t known = product(sizes);
    if (inferred < out.size()) {
      if (known == 0 || x.numel() % known != 0)
        fail("shape ", given, " does not divide ", x.numel(), " elements");
      out[inferred] = x.numel() / known;
    } else if (known != x.numel()) {
      fail("shape ", given, " has ", known, " elements, the input ", x.numel());
    }
    if (out.size() > kMaxRank) fail("rank ", out.size(), " is above the limit of ", kMaxRank);
    return out;
  }
  static OutSpecs shape(const Options& o, Inputs in) { return {{resolve(o.shape, in[0]), in[0].dtype()}}; }
  static Tensor view(const Options& o, Inputs in) {
    const Dims shape = resolve(o.shape, in[0]);
    if (const auto strides = view_strides(in[0], shape))
      return in[0].as_strided(shape, *strides, in[0].offset());
    const Tensor x = in[0].contiguous();
    return x.as_strided(shape, contiguous_strides(shape), x.offset());
  }
  // Strides that show x in another shape, if there are any: each run of x's axes that lie evenly in memory is
  // cut anew.
  static std::optional<Dims> view_strides(const Tensor& x, const Dims& shape) {
    if (x.numel() == 0) return contiguous_strides(shape);
    Dims sizes, steps;  // x's runs, last first: how many elements, how far apart
    for (size_t a = x.shape().size(); a-- > 0;) {
      if (x.shape()[a] == 1) continue;
      if (!sizes.empty() && x.strides()[a] == sizes.back() * steps.back()) {
        sizes.back() *= x.shape()[a];
      } else {
        sizes.push_back(x.shape()[a]);
        steps.push_back(x.strides()[a]);
      }
    }
    Dims strides(shape.size(), 1);
    size_t run = 0;
    int64_t taken = 1;
    for (size_t a = shape.size(); a-- > 0;) {
      if (shape[a] == 1) continue;
      if (taken == sizes[run]) {
        ++run;
        taken = 1;
      }
      if (sizes[run] % (taken * shape[a])) return std::nullopt;
      strides[a] = taken * steps[run];
      taken *= shape[a];
    }
    return strides;
  }
  static Grads vjp(const Options&, const Saved& s, Cotangents g, Need) { return {reshape(g[0], s.shape(0))}; }
};
OMNIGRAD_OP(Reshape)

struct Permute {
  struct Options {
    Dims dims;
  };
  static Schema schema() {
    return op("permute", "Axes in another order; a view.")
        .in("x", Kind::any, "any shape")
        .arg("dims", &Options::dims, "which axis of x each axis of the result is, every one once")
        .out("y");
  }
  static Dims resolve(const Options& o, int64_t rank) {
    if (static_cast<int64_t>(o.dims.size()) != rank)
      fail("dims ", o.dims, " must name each of ", rank, " axes once");
    normalize_dims(o.dims, rank);  // checks
    Dims out;
    for (int64_t d : o.dims) out.push_back(normalize_dim(d, rank));
    return out;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape;
    for (int64_t d : resolve(o, in[0].rank())) shape.push_back(in[0].size(d));
    return {{shape, in[0].dtype()}};
  }
  static Tensor view(const Options& o, Inputs in) {
    Dims shape, strides;
    for (int64_t d : resolve(o, in[0].rank())) {
      shape.push_back(in[0].size(d));
      strides.push_back(in[0].strides()[static_cast<size_t>(d)]);
    }
    return in[0].as_strided(shape, strides, in[0].offset());
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    const Dims dims = resolve(o, g[0].rank());
    Dims inverse(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(dims[i])] = static_cast<int64_t>(i);
    return {permute(g[0], inverse)};
  }
};
OMNIGRAD_OP(Permute)

struct Expand {
  struct Options {
    Dims shape;
  };
  static Schema schema() {
    return op("expand", "Repeats axes of size 1 without copying; a view.")
        .in("x", Kind::any, "broadcasts to shape")
        .arg("shape", &Options::shape, "the new shape; -1 keeps a size")
        .out("y");
  }
  static Dims resolve(const Dims& given, const Dims& from) {
    if (given.size() < from.size()) fail("shape ", given, " has fewer axes than the input's ", from);
    if (given.size() > kMaxRank) fail("rank ", given.size(), " is above the limit of ", kMaxRank);
    Dims out = given;
    const size_t lead = given.size() - from.size();
    for (size_t i = 0; i < out.size(); ++i) {
      const int64_t size = i < lead ? 1 : from[i - lead];
      if (out[i] == -1 && i >= lead) out[i] = size;
      if (out[i] < 0) fail("shape ", given, ": sizes are not negative");
      if (size != out[i] && size != 1)
        fail("shape ", from, " does not expand to ", given, ": only size 1 is repeated");
    }
    // A view costs nothing, whatever its size; counts of its elements must not overflow.
    if (product(out) > int64_t{1} << 53) fail("shape ", given, " has more elements than can be counted");
    return out;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return {{resolve(o.shape, in[0].shape()), in[0].dtype()}};
  }
  static Tensor view(const Options& o, Inputs in) {
    const Dims shape = resolve(o.shape, in[0].shape());
    const size_t lead = shape.size() - in[0].shape().size();
    Dims strides(shape.size());
    for (size_t i = lead; i < shape.size(); ++i) {
      if (in[0].shape()[i - lead] == shape[i]) strides[i] = in[0].strides()[i - lead];
    }
    return in[0].as_strided(shape, strides, in[0].offset());
  }
  static Grads vjp(const Options&, const Saved& s, Cotangents g, Need) { return {sum_to(g[0], s.shape(0))}; }
};
OMNIGRAD_OP(Expand)

struct SliceOptions {
  int64_t dim = 0, start = 0;
  std::optional<int64_t> stop;
  int64_t step = 1;
};

// start and stop as numbers in [0, size], as Python slices resolve them.
struct Range {
  int64_t start, count;
};
Range resolve(const SliceOptions& o, int64_t size) {
  if (o.step < 1) fail(Code::option, "step ", o.step, " must be at least 1; flip() reverses an axis");
  const auto clamp = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t start = clamp(o.start), stop = o.stop ? clamp(*o.stop) : size;
  return {start, stop > start ? (stop - start + o.step - 1) / o.step : 0};
}

Tensor slice_view(const SliceOptions& o, const Tensor& x) {
  const auto d = static_cast<size_t>(normalize_dim(o.dim, x.rank()));
  const Range r = resolve(o, x.shape()[d]);
  Dims shape = x.shape(), strides = x.strides();
  shape[d] = r.count;
  const int64_t offset = x.offset() + (r.count ? r.start * strides[d] : 0);
  strides[d] *= o.step;
  return x.as_strided(shape, strides, offset);
}

struct Slice {
  using Options = SliceOptions;
  static Schema schema() {
    return op("slice",
              "Elements start, start + step, ... before stop along an axis, as Python slices; a view.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("start", &Options::start, "the first index; negative counts from the end")
        .opt("stop", &Options::stop, "the index to stop before; none: the end")
        .opt("step", &Options::step, "at least 1")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    shape[d] = resolve(o, shape[d]).count;
    return {{shape, in[0].dtype()}};
  }
  static Tensor view(const Options& o, Inputs in) { return slice_view(o, in[0]); }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need);
};
OMNIGRAD_OP(Slice)

// The adjoint of slice: x in its place, zeros around it.
struct SliceScatter {
  struct Options : SliceOptions {
    int64_t size = 0;  // of the axis
  };
  static Schema schema() {
    return op("sliceScatter", "Zeros, but for x at start, start + step, ... along an axis: slice's adjoint.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("start", &Options::start)
        .opt("stop", &Options::stop)
        .opt("step", &Options::step)
        .arg("size", &Options::size, "the axis' size in the result")
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    if (o.size < 0 || resolve(o, o.size).count != shape[d]) {
      fail("a slice of an axis of size ", o.size, " has ", o.size < 0 ? 0 : resolve(o, o.size).count,
           " elements, the input ", shape[d]);
    }
    shape[d] = o.size;
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    out[0].assign(
        Tensor::scalar(0, out[0].dtype()).as_strided(out[0].shape(), Dims(out[0].shape().size()), 0));
    slice_view(o, out[0]).assign(in[0]);
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<Slice>({g[0]}, static_cast<const SliceOptions&>(o))};
  }
};
OMNIGRAD_OP(SliceScatter)

Grads Slice::vjp(const Options& o, const Saved& s, Cotangents g, Need) {
  const int64_t size =
      s.shape(0)[static_cast<size_t>(normalize_dim(o.dim, static_cast<int64_t>(s.shape(0).size())))];
  return {apply1<SliceScatter>({g[0]}, {o, size})};
}

struct Flip {
  struct Options {
    Dims dims;
  };
  static Schema schema() {
    return op("flip", "Reverses axes; a view.")
        .in("x", Kind::any, "any shape")
        .arg("dims", &Options::dims, "axes to reverse")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!o.dims.empty()) normalize_dims(o.dims, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static Tensor view(const Options& o, Inputs in) {
    Dims strides = in[0].strides();
    int64_t offset = in[0].offset();
    if (in[0].numel() == 0) return in[0].detach();
    for (int64_t dim : o.dims) {
      const auto d = static_cast<size_t>(normalize_dim(dim, in[0].rank()));
      offset += (in[0].shape()[d] - 1) * strides[d];
      strides[d] = -strides[d];
    }
    return in[0].as_strided(in[0].shape(), strides, offset);
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) { return {flip(g[0], o.dims)}; }
};
OMNIGRAD_OP(Flip)

struct Split {
  struct Options {
    Dims sizes;
    int64_t dim = 0;
  };
  static Schema schema() {
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
  static Schema schema() {
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
  static Schema schema() {
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

Tensor alias(const Tensor& x) { return apply1<Alias>({x}); }
Tensor reshape(const Tensor& x, const Dims& shape) { return apply1<Reshape>({x}, {shape}); }
Tensor permute(const Tensor& x, const Dims& dims) { return apply1<Permute>({x}, {dims}); }
Tensor expand(const Tensor& x, const Dims& shape) { return apply1<Expand>({x}, {shape}); }
Tensor flip(const Tensor& x, const Dims& dims) { return apply1<Flip>({x}, {dims}); }
Tensor cat(const TensorList& xs, int64_t dim) { return apply1<Cat>(xs, {dim}); }
TensorList split(const Tensor& x, const Dims& sizes, int64_t dim) { return apply<Split>({x}, {sizes, dim}); }
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  return apply1<Slice>({x}, {dim, start, stop, step});
}

Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  Dims dims = normalize_dims({}, x.rank());
  std::swap(dims[static_cast<size_t>(normalize_dim(a, x.rank()))],
            dims[static_cast<size_t>(normalize_dim(b, x.rank()))]);
  return permute(x, dims);
}
Tensor unsqueeze(const Tensor& x, int64_t dim) {
  Dims shape = x.shape();
  shape.insert(static_cast<size_t>(normalize_dim(dim, x.rank() + 1)), 1);
  return reshape(x, shape);
}
Tensor squeeze(const Tensor& x, int64_t dim) {
  Dims shape = x.shape();
  shape.erase(static_cast<size_t>(normalize_dim(dim, x.rank())));
  return reshape(x, shape);
}

}  // namespace omnigrad
