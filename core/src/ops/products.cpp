// Products of vectors and of batches of matrices, distances and similarities: composites, and the Euclidean
// distances of all pairs, which need no memory for the differences.
//
// Points without a derivative: coincident points of cdist and zero vectors of cosineSimilarity have gradient
// 0, and so has, for p < 2, a coordinate in which two points agree; for p = Infinity equal largest
// coordinates share the gradient.
#include <cmath>

#include "kernels/distance.h"
#include "ops/linalg.h"

namespace omnigrad {
namespace {

using namespace linalg;

struct Bmm {
  static constexpr Schema schema() {
    return op("bmm", "Products of two batches of matrices; nothing broadcasts.")
        .in("x", Kind::floating, "[b, m, k]")
        .in("y", Kind::floating, "[b, k, n]")
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Dims &a = in[0].shape(), &b = in[1].shape();
    if (a.size() != 3 || b.size() != 3 || a[0] != b[0] || a[2] != b[1])
      fail("x ", a, " and y ", b, " must be [b, m, k] and [b, k, n]");
    return {{{a[0], a[1], b[2]}, in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) { return {matmul(in[0], in[1])}; }
};
OMNIGRAD_OP(Bmm)

void check_vectors(Inputs in) {
  for (const Tensor& t : in) {
    if (t.rank() != 1) fail("takes vectors, of one axis, got ", t.shape());
  }
}

struct Dot {
  static constexpr Schema schema() {
    return op("dot", "The sum of products of two vectors.")
        .in("x", Kind::floating, "[n]")
        .in("y", Kind::floating, "[n]")
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    check_vectors(in);
    if (in[0].numel() != in[1].numel()) fail("vectors must have one length");
    return {{{}, in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) { return {matmul(in[0], in[1])}; }
};
OMNIGRAD_OP(Dot)

struct Outer {
  static constexpr Schema schema() {
    return op("outer", "The products of each element of x with each of y.")
        .in("x", Kind::number, "[m]")
        .in("y", Kind::number, "[n]")
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    check_vectors(in);
    return {{{in[0].numel(), in[1].numel()}, in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) { return {unsqueeze(in[0], 1) * in[1]}; }
};
OMNIGRAD_OP(Outer)

struct Cross {
  struct Options {
    int64_t dim = -1;
  };
  static constexpr Schema schema() {
    return op("cross", "The vector product along an axis of size 3.")
        .in("x", Kind::number, "size 3 along dim")
        .in("y", Kind::number, "broadcasts with x")
        .opt("dim", &Options::dim, "the axis, of the broadcast shape")
        .out("z");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
    const int64_t rank = static_cast<int64_t>(shape.size()), dim = normalize_dim(o.dim, rank);
    for (const Tensor& t : {in[0], in[1]}) {
      if (dim - rank < -t.rank() || t.size(dim - rank) != 3)
        fail("both inputs need size 3 along axis ", dim, ", got ", t.shape());
    }
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const auto rank = static_cast<int64_t>(std::max(in[0].rank(), in[1].rank()));
    const int64_t dim = normalize_dim(o.dim, rank) - rank;
    const TensorList x = split(in[0], {1, 1, 1}, dim), y = split(in[1], {1, 1, 1}, dim);
    return {cat({x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]}, dim)};
  }
};
OMNIGRAD_OP(Cross)

struct Bilinear {
  static constexpr Schema schema() {
    return op("bilinear", "y[..., o] = x1 weight[o] x2, plus bias.")
        .in("x1", Kind::floating, "[..., in1]")
        .in("x2", Kind::floating, "[..., in2], the same leading axes")
        .in("weight", Kind::floating, "[out, in1, in2]")
        .in("bias", Kind::floating, "[out]")
        .optional()
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Dims &a = in[0].shape(), &b = in[1].shape(), &w = in[2].shape();
    if (a.empty() || b.empty() || !(leading(a, 1) == leading(b, 1)))
      fail("x1 ", a, " and x2 ", b, " must have the same axes but for the last");
    if (w.size() != 3 || w[1] != a.back() || w[2] != b.back())
      fail("weight ", w, " must be [out, ", a.back(), ", ", b.back(), "]");
    if (in[3] && !(in[3].shape() == Dims{w[0]})) fail("bias ", in[3].shape(), " must be [", w[0], "]");
    return {{joined(leading(a, 1), {w[0]}), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    const int64_t out = in[2].size(0), n = in[2].size(1), m = in[2].size(2);
    const int64_t rows = product(leading(in[0].shape(), 1));
    const Tensor w = reshape(permute(in[2], {1, 0, 2}), {n, out * m});
    const Tensor t = reshape(matmul(reshape(in[0], {rows, n}), w), {rows, out, m});
    const Tensor y =
        reshape(matmul(t, reshape(in[1], {rows, m, 1})), joined(leading(in[0].shape(), 1), {out}));
    return {in[3] ? y + in[3] : y};
  }
};
OMNIGRAD_OP(Bilinear)

struct Addmm {
  struct Options {
    double beta = 1, alpha = 1;
  };
  static constexpr Schema schema() {
    return op("addmm", "beta input + alpha x y, a matrix product, or one for each of a batch.")
        .in("input", Kind::floating, "broadcasts to the product's shape")
        .in("x", Kind::floating, "[..., m, k]")
        .in("y", Kind::floating, "[..., k, n]")
        .opt("beta", &Options::beta, "of input; 0: input is not read, as if 0")
        .opt("alpha", &Options::alpha, "of the product")
        .out("z");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    const Batch a = matrices(in[1]), b = matrices(in[2], "y");
    if (a.cols != b.rows)
      fail("inner sizes differ, ", a.cols, " and ", b.rows, ": x's columns must be y's rows");
    const Dims z = joined(broadcast_shapes(leading(in[1].shape()), leading(in[2].shape())), {a.rows, b.cols});
    if (!(broadcast_shapes(in[0].shape(), z) == z)) fail("input ", in[0].shape(), " must broadcast to ", z);
    return {{z, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const auto times = [](const Tensor& t, double s) { return s == 1 ? t : t * s; };
    const Tensor z = times(matmul(in[1], in[2]), o.alpha);
    return {o.beta == 0 ? z : times(in[0], o.beta) + z};
  }
};
OMNIGRAD_OP(Addmm)

struct CosineSimilarity {
  struct Options {
    int64_t dim = 1;
    double eps = 1e-8;
  };
  static constexpr Schema schema() {
    return op("cosineSimilarity", "x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along an axis.")
        .in("x1", Kind::floating, "any shape")
        .in("x2", Kind::floating, "broadcasts with x1")
        .opt("dim", &Options::dim, "the axis, of the broadcast shape")
        .opt("eps", &Options::eps, "the least norm, above 0")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
    shape.erase(static_cast<size_t>(normalize_dim(o.dim, static_cast<int64_t>(shape.size()))));
    if (!(o.eps > 0)) fail(Code::option, "eps ", o.eps, " must be above 0");
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
    const Tensor least = Tensor::scalar(o.eps * o.eps, in[0].dtype());
    const auto unit = [&](const Tensor& given) {
      const Tensor x = expand(given, shape);
      return x / sqrt(maximum(sum(square(x), {o.dim}, true), least));
    };
    return {sum(unit(in[0]) * unit(in[1]), {o.dim})};
  }
};
OMNIGRAD_OP(CosineSimilarity)

// What both forms of cdist check and give.
struct Pairs {
  Dims batch;
  int64_t rows, cols, width;

  explicit Pairs(Inputs in) {
    const Batch a = matrices(in[0], "x1"), b = matrices(in[1], "x2");
    if (a.cols != b.cols)
      fail("points of x1 have ", a.cols, " coordinates, of x2 ", b.cols, ": they must be as many");
    batch = broadcast_shapes(leading(in[0].shape()), leading(in[1].shape()));
    rows = a.rows;
    cols = b.rows;
    width = a.cols;
  }
  OutSpecs spec(DType dtype) const { return {{joined(batch, {rows, cols}), dtype}}; }
};

// Of batches of one shape.
struct EuclideanDistance {
  static constexpr Schema schema() {
    return op("euclideanDistance", "cdist for p = 2 and inputs of one batch shape.")
        .in("x1", Kind::floating, "[..., p, m]")
        .saved()
        .in("x2", Kind::floating, "[..., r, m]")
        .saved()
        .out("y")
        .saved()
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Pairs p(in);
    if (!(leading(in[0].shape()) == leading(in[1].shape())))
      fail("x1 ", in[0].shape(), " and x2 ", in[1].shape(), " must have the same leading axes");
    return p.spec(in[0].dtype());
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Pairs p(in);
    const Tensor a = in[0].contiguous(), b = in[1].contiguous();
    visit_floating(a.dtype(), [&]<class T>() {
      kernels::euclidean_distances(a.data<T>(), b.data<T>(), out[0].data<T>(), product(p.batch), p.rows,
                                   p.cols, p.width);
    });
  }
  // With w = g / y, 0 where y is: gx1 = x1 (sum of w's rows) - w x2.
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    const Tensor w = g[0] * reciprocal_or_zero(s.out(0));
    const auto side = [](const Tensor& weights, const Tensor& x, const Tensor& other) {
      return x * sum(weights, {-1}, true) - matmul(weights, other);
    };
    Grads grads(2);
    if (need[0]) grads[0] = side(w, s.in(0), s.in(1));
    if (need[1]) grads[1] = side(flipped(w), s.in(1), s.in(0));
    return grads;
  }
};
OMNIGRAD_OP(EuclideanDistance)

struct Cdist {
  struct Options {
    double p = 2;
  };
  static constexpr Schema schema() {
    return op("cdist",
              "Distances between all pairs of points, by the p-norm of their difference; the gradient of "
              "coincident "
              "points is 0.")
        .in("x1", Kind::floating, "[..., p, m]")
        .in("x2", Kind::floating, "[..., r, m]; leading axes broadcast")
        .opt("p", &Options::p, "0 or more, Infinity too; 0 counts coordinates that differ and has gradient 0")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.p >= 0)) fail(Code::option, "p ", o.p, " must be 0 or more");
    return Pairs(in).spec(in[0].dtype());
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Pairs p(in);
    const DType dtype = in[0].dtype();
    if (o.p == 2) {
      const auto whole = [&](const Tensor& x, int64_t n) { return expand(x, joined(p.batch, {n, p.width})); };
      return {apply1<EuclideanDistance>({whole(in[0], p.rows), whole(in[1], p.cols)})};
    }
    const Tensor d = unsqueeze(in[0], in[0].rank() - 1) - unsqueeze(in[1], in[1].rank() - 2);
    const Tensor zero = Tensor::scalar(0, dtype), one = Tensor::scalar(1, dtype);
    if (p.width == 0) return {sum(d, {-1})};
    if (o.p == 1) return {sum(abs(d), {-1})};
    if (std::isinf(o.p)) return {amax(abs(d), {-1})};
    const Tensor same = eq(d, zero);
    // What is added is 0, and keeps the result in the graph, with gradient 0.
    if (o.p == 0) return {sum(cast(ne(d, zero), dtype), {-1}) + sum(where(same, d, zero) * 0, {-1})};
    const auto power = [&](const Tensor& x, double e) { return pow(x, Tensor::scalar(e, dtype)); };
    const Tensor total = sum(where(same, zero, power(where(same, one, abs(d)), o.p)), {-1});
    const Tensor none = eq(total, zero);
    return {where(none, zero, power(where(none, one, total), 1 / o.p))};
  }
};
OMNIGRAD_OP(Cdist)

}  // namespace
}  // namespace omnigrad
