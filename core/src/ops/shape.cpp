// Ops that show the same elements otherwise, as views: reshape, permute, expand, flip. Each one's gradient is
// another member of the family. slice is in slice.cpp, split and cat in join.cpp.
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct Alias {
  static constexpr Schema schema() {
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
  static constexpr Schema schema() {
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
  static constexpr Schema schema() {
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
  static constexpr Schema schema() {
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

struct Flip {
  struct Options {
    Dims dims;
  };
  static constexpr Schema schema() {
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

}  // namespace

Tensor alias(const Tensor& x) { return apply1<Alias>({x}); }
Tensor reshape(const Tensor& x, const Dims& shape) { return apply1<Reshape>({x}, {shape}); }
Tensor permute(const Tensor& x, const Dims& dims) { return apply1<Permute>({x}, {dims}); }
Tensor expand(const Tensor& x, const Dims& shape) { return apply1<Expand>({x}, {shape}); }
Tensor flip(const Tensor& x, const Dims& dims) { return apply1<Flip>({x}, {dims}); }

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
