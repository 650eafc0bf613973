// Decompositions: qr, eigh, svd, and matrixNorm, pinv and lstsq by them. Kernels compute in float64 for both
// dtypes.
//
// Points without a derivative. The vjps of eigh and svd divide by differences of eigenvalues, and of squared
// singular values: where two are equal that term is 0, as is the one that divides by a singular value of 0.
// So the gradient of what depends on eigenvalues alone is right at equal ones; vectors of equal values are
// arbitrary, and have none. qr needs a tall matrix' columns, or a wide one's first square, independent: else
// backward is an error.
#include <limits>

#include "kernels/linalg.h"
#include "omnigrad/autograd.h"
#include "ops/linalg.h"

namespace omnigrad {
namespace {

using namespace linalg;
using kernels::kDone;

double flops(int64_t m, int64_t n) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(n);
}

struct QrTall {
  static constexpr Schema schema() {
    return op("qrTall", "qr of matrices with no more columns than rows.")
        .in("x", Kind::floating, "[..., m, n], m >= n")
        .out("q")
        .saved()
        .out("r")
        .saved()
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Batch b = matrices(in[0]);
    if (b.rows < b.cols) fail("x ", in[0].shape(), " must have no more columns than rows");
    return {{in[0].shape(), in[0].dtype()},
            {joined(leading(in[0].shape()), {b.cols, b.cols}), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Batch b = matrices(in[0]);
    const Tensor a = work_copy(in[0]), q = work_space(out[0].shape()), r = work_space(out[1].shape());
    const Tensor work = work_space({b.count, 2 * b.cols});
    for_each_matrix(a, flops(b.rows, b.cols), nullptr, [&](int64_t i) noexcept {
      const int64_t mn = b.rows * b.cols, nn = b.cols * b.cols;
      kernels::qr(a.data<double>() + i * mn, b.rows, b.cols, q.data<double>() + i * mn,
                  r.data<double>() + i * nn, work.data<double>() + i * 2 * b.cols);
      return kDone;
    });
    out[0].assign(q);
    out[1].assign(r);
  }
  // gx r^T = gq + q (m + m^T - diagonal of m), m the upper triangle of gr r^T - q^T gq.
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    const Tensor q = s.out(0), r = s.out(1);
    Tensor m;
    if (g[1]) m = matmul(g[1], flipped(r));
    if (g[0]) {
      const Tensor t = matmul(flipped(q), g[0]);
      m = m ? m - t : -t;
    }
    const int64_t n = r.size(-1);
    m = m * pattern(n, n, 0, 0.5, 1, m.dtype());
    Tensor gx = matmul(q, m + flipped(m));
    if (g[0]) gx = gx + g[0];
    return {flipped(triangular_solve(r, flipped(gx), true, false))};
  }
};
OMNIGRAD_OP(QrTall)

struct Qr {
  static constexpr Schema schema() {
    return op("qr",
              "x = q r with orthonormal columns in q and r upper triangular, reduced: q [..., m, k], r "
              "[..., k, n], k = min(m, n). Signs are those of LAPACK.")
        .in("x", Kind::floating, "[..., m, n]; for gradients the first k columns are independent")
        .out("q")
        .out("r");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Batch b = matrices(in[0]);
    const int64_t k = std::min(b.rows, b.cols);
    const Dims batch = leading(in[0].shape());
    return {{joined(batch, {b.rows, k}), in[0].dtype()}, {joined(batch, {k, b.cols}), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    const int64_t m = in[0].size(-2), n = in[0].size(-1);
    if (m >= n) return apply<QrTall>(in);
    const TensorList f = apply<QrTall>({slice(in[0], -1, 0, m)});
    return {f[0], cat({f[1], matmul(flipped(f[0]), slice(in[0], -1, m, n))}, -1)};
  }
};
OMNIGRAD_OP(Qr)

struct Eigh {
  static constexpr Schema schema() {
    return op("eigh",
              "Eigenvalues, ascending, and orthonormal eigenvectors, in columns, of symmetric matrices: x = "
              "vectors diag(values) vectors^T, the largest component of each vector positive. Of x the "
              "symmetric part, (x + x^T) / 2, counts. Terms of the gradient that divide by the difference of "
              "equal eigenvalues are 0.")
        .in("x", Kind::floating, "[..., n, n], symmetric")
        .out("values")
        .saved()
        .out("vectors")
        .saved();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    squares(in[0]);
    return {{leading(in[0].shape(), 1), in[0].dtype()}, {in[0].shape(), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const int64_t n = in[0].size(-1);
    const Tensor values = work_space(out[0].shape()), vectors = work_space(out[1].shape());
    const Tensor work = work_space(out[1].shape()), a = work_copy(in[0]);
    for_each_matrix(a, 10 * flops(n, n), nullptr, [&](int64_t i) noexcept {
      double* m = a.data<double>() + i * n * n;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t k = 0; k < j; ++k) m[j * n + k] = m[k * n + j] = (m[j * n + k] + m[k * n + j]) / 2;
      }
      kernels::eigh(m, n, values.data<double>() + i * n, vectors.data<double>() + i * n * n,
                    work.data<double>() + i * n * n);
      return kDone;
    });
    out[0].assign(values);
    out[1].assign(vectors);
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    const Tensor values = s.out(0), v = s.out(1);
    const int64_t n = v.size(-1);
    Tensor inner;
    if (g[1]) {
      const Tensor gaps = unsqueeze(values, values.rank() - 1) - unsqueeze(values, values.rank());
      inner = matmul(flipped(v), g[1]) * reciprocal_or_zero(gaps);
    }
    if (g[0]) {
      const Tensor d = unsqueeze(g[0], g[0].rank()) * pattern(n, n, 0, 1, 0, v.dtype());
      inner = inner ? inner + d : d;
    }
    const Tensor gx = matmul(matmul(v, inner), flipped(v));
    return {(gx + flipped(gx)) * 0.5};
  }
};
OMNIGRAD_OP(Eigh)

struct Svd {
  static constexpr Schema schema() {
    return op("svd",
              "Singular values, descending, and vectors: x = u diag(s) vh, reduced: u [..., m, k], s [..., "
              "k], vh "
              "[..., k, n], k = min(m, n); the largest component of each column of the taller of u and v is "
              "positive. Terms of the gradient that divide by the difference of equal singular values, or by "
              "one of 0, are 0.")
        .in("x", Kind::floating, "[..., m, n]")
        .out("u")
        .saved()
        .out("s")
        .saved()
        .out("vh")
        .saved();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Batch b = matrices(in[0]);
    const int64_t k = std::min(b.rows, b.cols);
    const Dims batch = leading(in[0].shape());
    return {{joined(batch, {b.rows, k}), in[0].dtype()},
            {joined(batch, {k}), in[0].dtype()},
            {joined(batch, {k, b.cols}), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Batch b = matrices(in[0]);
    const bool wide = b.rows < b.cols;
    const int64_t m = std::max(b.rows, b.cols), n = std::min(b.rows, b.cols);
    const auto turned = [wide](const Tensor& t) {  // not recorded: forward runs without
      Dims shape = t.shape(), strides = t.strides();
      if (wide) {
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
        std::swap(strides[shape.size() - 1], strides[shape.size() - 2]);
      }
      return t.as_strided(shape, strides, t.offset());
    };
    const Dims batch = leading(in[0].shape());
    const Tensor a = work_copy(turned(in[0])), u = work_space(a.shape());
    const Tensor values = work_space(out[1].shape()), vt = work_space(joined(batch, {n, n}));
    const int64_t size = m * n + 2 * n * n + 2 * n;
    const Tensor work = work_space({b.count, size});
    for_each_matrix(a, 10 * flops(m, n), nullptr, [&](int64_t i) noexcept {
      kernels::svd(a.data<double>() + i * m * n, m, n, u.data<double>() + i * m * n,
                   values.data<double>() + i * n, vt.data<double>() + i * n * n,
                   work.data<double>() + i * size);
      return kDone;
    });
    out[0].assign(wide ? turned(vt) : u);
    out[1].assign(values);
    out[2].assign(wide ? turned(u) : vt);
  }
  // u (skew(u^T gu) / e s + s skew(v^T gv) / e + diag(gs)) v^T, e[i][j] = s_j^2 - s_i^2, and what of gu and
  // gv lies outside the span of u and v, divided by s.
  static Grads vjp(const NoOptions&, const Saved& saved, Cotangents g, Need) {
    const Tensor u = saved.out(0), s = saved.out(1), vh = saved.out(2);
    const int64_t m = u.size(-2), k = s.size(-1), n = vh.size(-1), r = s.rank();
    const Tensor row = unsqueeze(s, r - 1), col = unsqueeze(s, r);
    const Tensor gap = square(row) - square(col);
    const auto skew = [&](const Tensor& t) { return (t - flipped(t)) * reciprocal_or_zero(gap); };
    Tensor inner = unsqueeze(g[1] ? g[1] : zeros_like(s), r) * pattern(k, k, 0, 1, 0, s.dtype());
    if (g[0]) inner = inner + skew(matmul(flipped(u), g[0])) * row;
    if (g[2]) inner = inner + col * skew(matmul(vh, flipped(g[2])));
    Tensor gx = matmul(matmul(u, inner), vh);
    if (g[0] && m > k) {
      const Tensor t = g[0] * reciprocal_or_zero(row);
      gx = gx + matmul(t - matmul(u, matmul(flipped(u), t)), vh);
    }
    if (g[2] && n > k) {
      const Tensor t = g[2] * reciprocal_or_zero(col);
      gx = gx + matmul(u, t - matmul(matmul(t, flipped(vh)), vh));
    }
    return {gx};
  }
};
OMNIGRAD_OP(Svd)

struct MatrixNorm {
  enum class Ord { fro, nuc, one, minus_one, two, minus_two, inf, minus_inf };
  struct Options {
    Ord ord = Ord::fro;
    bool keepdim = false;
  };
  static constexpr Schema schema() {
    return op("matrixNorm", "A norm of matrices; the gradient of the Frobenius norm of zeros is 0.")
        .in("x", Kind::floating, "[..., m, n]")
        .opt(
            "ord", &Options::ord,
            "fro: of all elements; nuc: sum of singular values; 1 and -1: largest and smallest column sum of "
            "magnitudes; inf and -inf: of rows; 2 and -2: largest and smallest singular value",
            {"fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf"})
        .opt("keepdim", &Options::keepdim, "keep the two axes with size 1")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Batch b = matrices(in[0]);
    if (o.ord > Ord::nuc && (b.rows == 0 || b.cols == 0))
      fail("x ", in[0].shape(), " has no elements: an extreme needs at least one");
    const Dims batch = leading(in[0].shape());
    return {{o.keepdim ? joined(batch, {1, 1}) : batch, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    const bool smallest = o.ord == Ord::minus_one || o.ord == Ord::minus_two || o.ord == Ord::minus_inf;
    Tensor y;
    if (o.ord == Ord::fro) {
      y = sqrt_or_zero(sum(square(x), {-2, -1}));
    } else if (o.ord == Ord::one || o.ord == Ord::minus_one || o.ord >= Ord::inf) {
      const Tensor sums = sum(abs(x), {o.ord >= Ord::inf ? -1 : -2});
      y = smallest ? amin(sums, {-1}) : amax(sums, {-1});
    } else {
      const Tensor s = apply<Svd>({x})[1];
      y = o.ord == Ord::nuc ? sum(s, {-1}) : smallest ? amin(s, {-1}) : amax(s, {-1});
    }
    return {o.keepdim ? as_matrices(y) : y};
  }
};
OMNIGRAD_OP(MatrixNorm)

struct Pinv {
  struct Options {
    std::optional<double> rtol;
  };
  static constexpr Schema schema() {
    return op("pinv",
              "The pseudo-inverse of Moore and Penrose. The gradient is that at constant rank (Golub and "
              "Pereyra "
              "1973).")
        .in("x", Kind::floating, "[..., m, n]")
        .saved()
        .opt("rtol", &Options::rtol,
             "singular values up to this part of the largest count as 0; none: max(m, n) times the dtype's "
             "epsilon")
        .out("y")
        .saved();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Batch b = matrices(in[0]);
    if (o.rtol && !(*o.rtol >= 0)) fail(Code::option, "rtol ", *o.rtol, " must not be negative");
    return {{joined(leading(in[0].shape()), {b.cols, b.rows}), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const GradMode off(false);
    const bool wide = in[0].dtype() == DType::float64;
    const double epsilon =
        wide ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    const double rtol =
        o.rtol.value_or(epsilon * static_cast<double>(std::max(in[0].size(-1), in[0].size(-2))));
    const TensorList f = apply<Svd>({cast(in[0], DType::float64)});
    const Tensor s = f[1];
    if (s.size(-1) == 0) return out[0].assign(full(out[0].shape(), 0, out[0].dtype()));
    const Tensor kept = cast(gt(s, amax(s, {-1}, true) * rtol), s.dtype()) * reciprocal_or_zero(s);
    out[0].assign(matmul(flipped(f[2]) * unsqueeze(kept, s.rank() - 1), flipped(f[0])));
  }
  // With p the result: -p^T g p^T + (1 - x p) g^T p p^T + p^T p g^T (1 - p x).
  static Grads vjp(const Options&, const Saved& s, Cotangents g, Need) {
    const Tensor x = s.in(0), p = s.out(0), pt = flipped(p), gt = flipped(g[0]);
    Tensor gx = -matmul(matmul(pt, g[0]), pt);
    const Tensor left = matmul(matmul(gt, p), pt), right = matmul(matmul(pt, p), gt);
    gx = gx + (left - matmul(x, matmul(p, left)));
    return {gx + (right - matmul(matmul(right, p), x))};
  }
};
OMNIGRAD_OP(Pinv)

struct Lstsq {
  using Options = Pinv::Options;
  static constexpr Schema schema() {
    return op("lstsq", "The x of least norm among those of least squares, |a x - b|: pinv(a) b.")
        .in("a", Kind::floating, "[..., m, n]")
        .in("b", Kind::floating, "[..., m, k]; leading axes broadcast")
        .opt("rtol", &Options::rtol, "as in pinv")
        .out("x");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Pinv::shape(o, in);
    const Batch a = matrices(in[0], "a"), b = matrices(in[1], "b");
    if (a.rows != b.rows)
      fail("b ", in[1].shape(), " must have ", a.rows, " rows, as many as a ", in[0].shape(), " has");
    return {{joined(broadcast_shapes(leading(in[0].shape()), leading(in[1].shape())), {a.cols, b.cols}),
             in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) { return {matmul(apply1<Pinv>({in[0]}, o), in[1])}; }
};
OMNIGRAD_OP(Lstsq)

}  // namespace

TensorList svd(const Tensor& x) { return apply<Svd>({x}); }

}  // namespace omnigrad
