// Rearrangements made of views, slices and gathers: roll, repeat, tile, tril and triu, diagonal, pixel
// shuffles. Composites, so each one's gradient is its adjoint, of any order.
#include <algorithm>

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct Roll {
  struct Options {
    Dims shifts, dims;
  };
  static constexpr Schema schema() {
    return op("roll", "Shifts elements along axes; what leaves one end enters the other.")
        .in("x", Kind::any, "any shape")
        .arg("shifts", &Options::shifts, "by how many places")
        .arg("dims", &Options::dims, "along which axes; none: one shift of the flattened tensor")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.dims.empty() ? o.shifts.size() != 1 : o.shifts.size() != o.dims.size()) {
      fail(Code::option, "shifts ", o.shifts, " and dims ", o.dims, " must pair up");
    }
    for (int64_t d : o.dims) normalize_dim(d, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static Tensor one(const Tensor& x, int64_t shift, int64_t dim) {
    const int64_t n = x.size(dim);
    const int64_t cut = n == 0 ? 0 : ((-shift % n) + n) % n;
    return cut == 0 ? x : cat({slice(x, dim, cut, n), slice(x, dim, 0, cut)}, dim);
  }
  static TensorList compose(const Options& o, Inputs in) {
    if (o.dims.empty()) return {reshape(one(reshape(in[0], {-1}), o.shifts[0], 0), in[0].shape())};
    Tensor y = in[0];
    for (size_t i = 0; i < o.dims.size(); ++i) y = one(y, o.shifts[i], o.dims[i]);
    return {alias(y)};
  }
};
OMNIGRAD_OP(Roll)

struct Repeat {
  struct Options {
    Dims repeats;
  };
  static constexpr Schema schema() {
    return op("repeat", "Copies of the tensor side by side, as many along each axis as told.")
        .in("x", Kind::any, "any shape")
        .arg("repeats", &Options::repeats, "for each axis; more of them than axes add axes in front")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (o.repeats.size() < in[0].shape().size())
      fail("repeats ", o.repeats, " need one number for each of ", in[0].rank(), " axes");
    Dims shape = o.repeats;
    const size_t lead = shape.size() - in[0].shape().size();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) fail("repeats ", o.repeats, " are not negative");
      if (i >= lead) shape[i] *= in[0].shape()[i - lead];
    }
    if (2 * shape.size() > kMaxRank)
      fail("repeats of ", shape.size(), " axes are above the limit of ", kMaxRank / 2);
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    // [a, b] repeated (p, q) is [1, a, 1, b] expanded to [p, a, q, b].
    const size_t lead = o.repeats.size() - in[0].shape().size();
    Dims thin, wide;
    for (size_t i = 0; i < o.repeats.size(); ++i) {
      const int64_t size = i < lead ? 1 : in[0].shape()[i - lead];
      for (int64_t d : {int64_t{1}, size}) thin.push_back(d);
      for (int64_t d : {o.repeats[i], size}) wide.push_back(d);
    }
    return {reshape(expand(reshape(in[0], thin), wide), Repeat::shape(o, in)[0].shape)};
  }
};
OMNIGRAD_OP(Repeat)

struct Tile {
  using Options = Repeat::Options;
  static constexpr Schema schema() {
    return op("tile", "Copies of the tensor side by side; axes without a number stay single.")
        .in("x", Kind::any, "any shape")
        .arg("repeats", &Options::repeats, "for the last axes; more of them than axes add axes in front")
        .out("y");
  }
  static Options padded(const Options& o, const Tensor& x) {
    Options all = o;
    while (all.repeats.size() < x.shape().size()) all.repeats.insert(0, 1);
    return all;
  }
  static OutSpecs shape(const Options& o, Inputs in) { return Repeat::shape(padded(o, in[0]), in); }
  static TensorList compose(const Options& o, Inputs in) { return Repeat::compose(padded(o, in[0]), in); }
};
OMNIGRAD_OP(Tile)

struct TriangleOptions {
  int64_t diagonal = 0;
};

// 0 outside the triangle; the mask is a constant of the shape.
template <class Op>
struct Triangle {
  using Options = TriangleOptions;
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::any, "[..., rows, columns]")
        .opt("diagonal", &Options::diagonal, "which diagonal bounds it; 0: the main one, positive: above it")
        .out("y");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    if (in[0].rank() < 2) fail("needs at least two axes, [..., rows, columns]");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t rows = in[0].size(-2), columns = in[0].size(-1);
    Tensor mask = Tensor::empty({rows, columns}, DType::boolean);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j)
        mask.data<bool>()[i * columns + j] = Op::inside(j - i - o.diagonal);
    }
    return {where(mask, in[0], Tensor::scalar(0, in[0].dtype()))};
  }
};

struct Tril : Triangle<Tril> {
  static constexpr const char* kName = "tril";
  static constexpr Doc kDoc = "The lower triangle of matrices, zeros above it.";
  static bool inside(int64_t above) { return above <= 0; }
};
OMNIGRAD_OP(Tril)

struct Triu : Triangle<Triu> {
  static constexpr const char* kName = "triu";
  static constexpr Doc kDoc = "The upper triangle of matrices, zeros below it.";
  static bool inside(int64_t above) { return above >= 0; }
};
OMNIGRAD_OP(Triu)

struct Diagonal {
  struct Options {
    int64_t offset = 0, dim1 = 0, dim2 = 1;
  };
  static constexpr Schema schema() {
    return op("diagonal", "A diagonal of two axes, as the last axis.")
        .in("x", Kind::any, "at least two axes")
        .opt("offset", &Options::offset, "which one; 0: the main one, positive: above it")
        .opt("dim1", &Options::dim1, "the axis of rows")
        .opt("dim2", &Options::dim2, "the axis of columns")
        .out("y");
  }
  static int64_t length(const Options& o, int64_t rows, int64_t columns) {
    return std::max<int64_t>(
        o.offset >= 0 ? std::min(rows, columns - o.offset) : std::min(rows + o.offset, columns), 0);
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t a = normalize_dim(o.dim1, in[0].rank()), b = normalize_dim(o.dim2, in[0].rank());
    if (a == b) fail(Code::option, "dim1 and dim2 are both ", a, ": they must differ");
    Dims shape;
    for (int64_t i = 0; i < in[0].rank(); ++i) {
      if (i != a && i != b) shape.push_back(in[0].size(i));
    }
    shape.push_back(length(o, in[0].size(a), in[0].size(b)));
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t a = normalize_dim(o.dim1, in[0].rank()), b = normalize_dim(o.dim2, in[0].rank());
    const int64_t rows = in[0].size(a), columns = in[0].size(b), n = length(o, rows, columns);
    Dims order, flat;
    for (int64_t i = 0; i < in[0].rank(); ++i) {
      if (i == a || i == b) continue;
      order.push_back(i);
      flat.push_back(in[0].size(i));
    }
    order.push_back(a);
    order.push_back(b);
    flat.push_back(rows * columns);
    Tensor index = Tensor::empty({n}, DType::int64);
    for (int64_t i = 0; i < n; ++i) {
      index.data<int64_t>()[i] =
          (i + std::max<int64_t>(-o.offset, 0)) * columns + i + std::max<int64_t>(o.offset, 0);
    }
    return {index_select(reshape(permute(in[0], order), flat), index, -1)};
  }
};
OMNIGRAD_OP(Diagonal)

struct Meshgrid {
  enum class Indexing { ij, xy };
  struct Options {
    Indexing indexing = Indexing::ij;
  };
  static constexpr Schema schema() {
    return op("meshgrid", "Coordinate grids of axes: grid k holds xs[k] along its axis k.")
        .in("xs", Kind::any, "each [n]")
        .variadic()
        .opt("indexing", &Options::indexing, "ij: axis k is xs[k]'s; xy: the first two swapped", {"ij", "xy"})
        .out("grids");
  }
  static Dims grid(Inputs in) {
    Dims shape;
    for (const Tensor& t : in) {
      if (t.rank() > 1) fail("each input has one axis, one has shape ", t.shape());
      shape.push_back(t.numel());
    }
    return shape;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in.empty()) fail(Code::argument, "needs at least one tensor");
    Dims shape = grid(in);
    if (o.indexing == Indexing::xy && shape.size() > 1) std::swap(shape[0], shape[1]);
    OutSpecs specs;
    for (const Tensor& t : in) specs.push_back({shape, t.dtype()});
    return specs;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims shape = grid(in);
    TensorList out;
    for (size_t k = 0; k < in.size(); ++k) {
      Dims thin(shape.size(), 1);
      thin[k] = shape[k];
      const Tensor t = expand(reshape(in[k], thin), shape);
      out.push_back(o.indexing == Indexing::xy && in.size() > 1 ? transpose(t, 0, 1) : t);
    }
    return out;
  }
};
OMNIGRAD_OP(Meshgrid)

struct ShuffleOptions {
  int64_t factor = 1;
};
constexpr int64_t kMaxFactor = int64_t{1} << 20;
// The axes before [C, H, W] as one.
int64_t leading(const Tensor& x) { return product(Dims(x.shape().begin(), x.shape().end() - 3)); }

struct PixelShuffle {
  using Options = ShuffleOptions;
  static constexpr Schema schema() {
    return op("pixelShuffle",
              "Channels to space (Shi et al. 2016): [..., C r r, H, W] to [..., C, H r, W r].")
        .in("x", Kind::any, "[..., C r r, H, W]")
        .arg("upscaleFactor", &Options::factor, "r")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t r = o.factor;
    if (r < 1 || r > kMaxFactor) fail(Code::option, "upscaleFactor ", r, " must be from 1 to ", kMaxFactor);
    if (in[0].rank() < 3) fail("needs at least three axes, [..., channels, height, width]");
    if (in[0].size(-3) % (r * r)) fail("channels ", in[0].size(-3), " must be a multiple of ", r * r);
    Dims shape = in[0].shape();
    const size_t n = shape.size();
    shape[n - 3] /= r * r;
    shape[n - 2] *= r;
    shape[n - 1] *= r;
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t r = o.factor, c = in[0].size(-3) / (r * r), h = in[0].size(-2), w = in[0].size(-1);
    const Tensor t = permute(reshape(in[0], {leading(in[0]), c, r, r, h, w}), {0, 1, 4, 2, 5, 3});
    return {reshape(t, PixelShuffle::shape(o, in)[0].shape)};
  }
};
OMNIGRAD_OP(PixelShuffle)

struct PixelUnshuffle {
  using Options = ShuffleOptions;
  static constexpr Schema schema() {
    return op("pixelUnshuffle", "Space to channels: [..., C, H r, W r] to [..., C r r, H, W].")
        .in("x", Kind::any, "[..., C, H r, W r]")
        .arg("downscaleFactor", &Options::factor, "r")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t r = o.factor;
    if (r < 1 || r > kMaxFactor) fail(Code::option, "downscaleFactor ", r, " must be from 1 to ", kMaxFactor);
    if (in[0].rank() < 3) fail("needs at least three axes, [..., channels, height, width]");
    Dims shape = in[0].shape();
    const size_t n = shape.size();
    if (shape[n - 2] % r || shape[n - 1] % r) fail("height and width must be multiples of ", r);
    shape[n - 3] *= r * r;
    shape[n - 2] /= r;
    shape[n - 1] /= r;
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t r = o.factor, c = in[0].size(-3), h = in[0].size(-2) / r, w = in[0].size(-1) / r;
    const Tensor t = permute(reshape(in[0], {leading(in[0]), c, h, r, w, r}), {0, 1, 3, 5, 2, 4});
    return {reshape(t, PixelUnshuffle::shape(o, in)[0].shape)};
  }
};
OMNIGRAD_OP(PixelUnshuffle)

}  // namespace
}  // namespace omnigrad
