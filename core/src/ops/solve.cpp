// Linear systems: inverse, solve, triangularSolve, cholesky, det, slogdet. Kernels compute in float64 for
// both dtypes. A vjp is written in these ops and matmul.
#include <cmath>

#include "kernels/linalg.h"
#include "omnigrad/autograd.h"
#include "ops/linalg.h"

namespace omnigrad {
namespace {

using namespace linalg;
using kernels::kDone;

constexpr const char* kSingular = "is singular: a pivot is 0";

double cubed(int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

// LU factors of each matrix of `a`, a work copy, one after another: then(i, status, sign).
template <class Then>
void factor(const Tensor& a, const char* what, const Then& then) {
  const Batch b = matrices(a);
  Workspace ws(static_cast<size_t>(b.count * b.rows) * sizeof(int64_t));
  for_each_matrix(a, cubed(b.rows), what, [&](int64_t i) noexcept {
    double* m = a.data<double>() + i * b.rows * b.rows;
    int64_t* pivots = ws.as<int64_t>() + i * b.rows;
    double sign;
    const int64_t status = kernels::lu(m, b.rows, pivots, &sign);
    return then(i, m, pivots, sign, status);
  });
}

// A x = b for right-hand sides [..., n, k] that become x.
void solve_in_place(const Tensor& a, const Tensor& b) {
  const int64_t n = b.size(-2), k = b.size(-1);
  factor(a, kSingular,
         [&](int64_t i, const double* m, const int64_t* pivots, double, int64_t status) noexcept {
           if (status == kDone) kernels::lu_solve(m, n, pivots, b.data<double>() + i * n * k, k);
           return status;
         });
}

struct Inverse {
  static constexpr Schema schema() {
    return op("inverse", "The inverse of square matrices; an error where one is singular.")
        .in("x", Kind::floating, "[..., n, n]")
        .out("y")
        .saved();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    squares(in[0]);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const int64_t n = in[0].size(-1);
    const Tensor identity = pattern(n, n, 0, 1, 0, DType::float64);
    const Tensor b = work_copy(
        identity.as_strided(in[0].shape(), joined(Dims(static_cast<size_t>(in[0].rank() - 2)), {n, 1}), 0));
    solve_in_place(work_copy(in[0]), b);
    out[0].assign(b);
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    const Tensor t = flipped(s.out(0));
    return {-matmul(matmul(t, g[0]), t)};
  }
};
OMNIGRAD_OP(Inverse)

// Right-hand sides are matrices [..., n, k] whose leading axes broadcast with a's; solve takes vectors too.
struct System {
  Dims batch;
  int64_t n, k;

  System(const Tensor& a, const Tensor& b) {
    n = squares(a, "a").rows;
    matrices(b, "b");
    if (b.size(-2) != n) fail("b ", b.shape(), " must have ", n, " rows, as many as a ", a.shape(), " has");
    k = b.size(-1);
    batch = broadcast_shapes(leading(a.shape()), leading(b.shape()));
  }
  Tensor copy_a(const Tensor& a) const { return work_copy(detached(a, joined(batch, {n, n}))); }
  Tensor copy_b(const Tensor& b) const { return work_copy(detached(b, joined(batch, {n, k}))); }

 private:
  static Tensor detached(const Tensor& x, const Dims& shape) {
    const GradMode off(false);
    return expand(x, shape);
  }
};

struct SolveMatrix {
  static constexpr Schema schema() {
    return op("solveMatrix", "solve with right-hand sides in the columns of a matrix.")
        .in("a", Kind::floating, "[..., n, n]")
        .saved()
        .in("b", Kind::floating, "[..., n, k]; leading axes broadcast")
        .out("x")
        .saved()
        .internal();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const System s(in[0], in[1]);
    return {{joined(s.batch, {s.n, s.k}), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const System s(in[0], in[1]);
    const Tensor b = s.copy_b(in[1]);
    solve_in_place(s.copy_a(in[0]), b);
    out[0].assign(b);
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    const Tensor gb = apply1<SolveMatrix>({flipped(s.in(0)), g[0]});
    Grads grads(2);
    if (need[0]) grads[0] = sum_to(-matmul(gb, flipped(s.out(0))), s.shape(0));
    if (need[1]) grads[1] = sum_to(gb, s.shape(1));
    return grads;
  }
};
OMNIGRAD_OP(SolveMatrix)

struct Solve {
  static constexpr Schema schema() {
    return op("solve",
              "The x of a x = b, by LU with partial pivoting; an error where a is singular. b is a vector "
              "where it has one axis, or one less than a and a's shape without its last axis; else a matrix.")
        .in("a", Kind::floating, "[..., n, n]")
        .in("b", Kind::floating, "[n], [..., n] or [..., n, k]; leading axes broadcast")
        .out("x");
  }
  static bool is_vector(const Tensor& a, const Tensor& b) {
    return b.rank() == 1 || (b.rank() == a.rank() - 1 && b.shape() == leading(a.shape(), 1));
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    squares(in[0], "a");
    if (!is_vector(in[0], in[1])) return SolveMatrix::shape({}, in);
    if (in[1].size(-1) != in[0].size(-1))
      fail("b ", in[1].shape(), " must have ", in[0].size(-1), " elements, as many as a has rows");
    return {{leading(in[0].shape(), 1), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    if (!is_vector(in[0], in[1])) return {apply1<SolveMatrix>(in)};
    return {squeeze(apply1<SolveMatrix>({in[0], unsqueeze(in[1], in[1].rank())}), -1)};
  }
};
OMNIGRAD_OP(Solve)

struct TriangularSolve {
  struct Options {
    bool upper = true, transpose = false, unitriangular = false;
  };
  static constexpr Schema schema() {
    return op("triangularSolve",
              "The x of a x = b for triangular a, by substitution; an error where the diagonal has a 0.")
        .in("a", Kind::floating, "[..., n, n]; the other triangle is not read")
        .saved()
        .in("b", Kind::floating, "[..., n, k]; leading axes broadcast")
        .opt("upper", &Options::upper, "a is its upper triangle; else its lower one")
        .opt("transpose", &Options::transpose, "solve with the transpose of that triangle")
        .opt("unitriangular", &Options::unitriangular, "take the diagonal as 1 and do not read it")
        .out("x")
        .saved();
  }
  static OutSpecs shape(const Options&, Inputs in) { return SolveMatrix::shape({}, in); }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const System s(in[0], in[1]);
    const Tensor a = s.copy_a(in[0]), b = s.copy_b(in[1]);
    for_each_matrix(a, static_cast<double>(s.n * s.n * s.k), "is singular: its diagonal has a 0",
                    [&](int64_t i) noexcept {
                      return kernels::triangular_solve(a.data<double>() + i * s.n * s.n, s.n,
                                                       b.data<double>() + i * s.n * s.k, s.k, o.upper,
                                                       o.transpose, o.unitriangular);
                    });
    out[0].assign(b);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    const Tensor gb = apply1<TriangularSolve>({s.in(0), g[0]}, {o.upper, !o.transpose, o.unitriangular});
    Grads grads(2);
    if (need[0]) {
      const Tensor x = s.out(0);
      const Tensor ga = o.transpose ? matmul(x, flipped(gb)) : matmul(gb, flipped(x));
      const double below = o.upper ? 0 : -1, on = o.unitriangular ? 0 : -1, above = o.upper ? -1 : 0;
      grads[0] = sum_to(ga * pattern(ga.size(-1), ga.size(-1), below, on, above, ga.dtype()), s.shape(0));
    }
    if (need[1]) grads[1] = sum_to(gb, s.shape(1));
    return grads;
  }
};
OMNIGRAD_OP(TriangularSolve)

struct Cholesky {
  struct Options {
    bool upper = false;
  };
  static constexpr Schema schema() {
    return op("cholesky",
              "The triangular factor l of x = l l^T; an error where x is not positive definite. What is "
              "factored is the symmetric part of x, (x + x^T) / 2.")
        .in("x", Kind::floating, "[..., n, n], symmetric")
        .opt("upper", &Options::upper, "give l^T, upper triangular")
        .out("l")
        .saved();
  }
  static OutSpecs shape(const Options&, Inputs in) {
    squares(in[0]);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const int64_t n = in[0].size(-1);
    const Tensor a = work_copy(in[0]);
    for_each_matrix(a, cubed(n), "is not positive definite", [&](int64_t i) noexcept {
      double* m = a.data<double>() + i * n * n;
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t k = 0; k < j; ++k) m[j * n + k] = (m[j * n + k] + m[k * n + j]) / 2;
      }
      return kernels::cholesky(m, n);
    });
    out[0].assign(o.upper ? flipped(a) : a);
  }
  // With p = l^T g, its lower triangle with half the diagonal s: the symmetric part of l^-T s l^-1.
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    const Tensor l = o.upper ? flipped(s.out(0)) : s.out(0), gl = o.upper ? flipped(g[0]) : g[0];
    const Tensor p = matmul(flipped(l), gl) * pattern(l.size(-1), l.size(-1), 0.5, 0.25, 0, l.dtype());
    const auto back = [&](const Tensor& t) {
      return flipped(apply1<TriangularSolve>({l, t}, {false, true}));
    };
    return {back(back(p + flipped(p)))};
  }
};
OMNIGRAD_OP(Cholesky)

// Where a matrix is near to singular the inverse is no way to the derivatives of its determinant, which is a
// polynomial. With constant orthogonal u and v, det a = +-det(u^T a v); from u and v of a's singular value
// decomposition the block of large values splits off, and the determinant of what is left, a Schur complement
// of as many rows as there are small values, is multiplied out without division (Bird 2011).
Tensor det(const Tensor& x);

Tensor det_without_division(const Tensor& c) {
  const int64_t n = c.size(-1);
  const Tensor above = pattern(n, n, 0, 0, 1, c.dtype()), on = pattern(n, n, 0, 1, 0, c.dtype());
  Tensor f = c;
  for (int64_t i = 1; i < n; ++i) {
    const Tensor tails = matmul(above, unsqueeze(sum(f * on, {-1}), c.rank() - 1));
    f = matmul(f * above - on * tails, c);
  }
  const Tensor corner = slice(slice(f, -2, 0, 1), -1, 0, 1);
  const Tensor d = reshape(corner, leading(c.shape()));
  return n % 2 ? d : -d;
}

Tensor det_near_singular(const Tensor& x) {
  const int64_t n = x.size(-1);
  Tensor left, right, sign;
  int64_t small = 0;
  {
    const GradMode off(false);
    const TensorList f = svd(x.detach());
    left = flipped(f[0]);
    right = flipped(f[2]);
    sign = det(f[0]) * det(f[2]);
    const Tensor values = cast(f[1], DType::float64).contiguous();
    for (int64_t i = 0; i < values.numel(); ++i) {
      const double* row = values.data<double>() + i / n * n;
      if (row[i % n] <= 1e-4 * row[0]) small = std::max(small, n - i % n);
    }
  }
  const Tensor b = matmul(matmul(left, x), right);
  const int64_t large = n - small;
  if (large == 0) return det_without_division(b) * sign;
  const auto block = [&](int64_t i, int64_t j) {
    return slice(slice(b, -2, i ? large : 0, i ? n : large), -1, j ? large : 0, j ? n : large);
  };
  const Tensor b11 = block(0, 0);
  if (small == 0) return det(b11) * sign;
  const Tensor schur = block(1, 1) - matmul(block(1, 0), apply1<SolveMatrix>({b11, block(0, 1)}));
  return det(b11) * det_without_division(schur) * sign;
}

struct Det {
  static constexpr Schema schema() {
    return op("det", "The determinant of square matrices; differentiable at singular ones too.")
        .in("x", Kind::floating, "[..., n, n]")
        .saved()
        .out("y")
        .saved();
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    squares(in[0]);
    return {{leading(in[0].shape()), in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const int64_t n = in[0].size(-1);
    const Tensor values = work_space(out[0].shape());
    factor(work_copy(in[0]), nullptr,
           [&](int64_t i, const double* m, const int64_t*, double sign, int64_t) noexcept {
             for (int64_t j = 0; j < n; ++j) sign *= m[j * (n + 1)];
             values.data<double>()[i] = sign;
             return kDone;
           });
    out[0].assign(values);
  }
  static bool near_singular(const Tensor& x) {
    const int64_t n = x.size(-1);
    const Tensor ratios = work_space(leading(x.shape()));
    factor(work_copy(x), nullptr, [&](int64_t i, const double* m, const int64_t*, double, int64_t) noexcept {
      double low = n ? std::abs(m[0]) : 1, high = low;
      for (int64_t j = 1; j < n; ++j) {
        low = std::min(low, std::abs(m[j * (n + 1)]));
        high = std::max(high, std::abs(m[j * (n + 1)]));
      }
      ratios.data<double>()[i] = low <= 1e-5 * high ? 1 : 0;
      return kDone;
    });
    const double* r = ratios.data<double>();
    return std::any_of(r, r + ratios.numel(), [](double v) { return v != 0; });
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    const Tensor x = s.in(0);
    if (!near_singular(x)) return {as_matrices(g[0] * s.out(0)) * flipped(apply1<Inverse>({x}))};
    // As for a fused op: the gradient of another way to compute the same, recorded where this is.
    const bool recording = grad_enabled();
    const GradMode on(true);
    Tensor a = x.detach();
    if (recording && x.requires_grad())
      a = alias(x);
    else
      a.set_requires_grad(true);
    return grad({det_near_singular(a)}, {a}, {g[0]}, {.create_graph = recording});
  }
};
OMNIGRAD_OP(Det)

Tensor det(const Tensor& x) { return apply1<Det>({x}); }

struct Slogdet {
  static constexpr Schema schema() {
    return op("slogdet",
              "The sign of the determinant and the logarithm of its magnitude: 0 and -Infinity where a "
              "matrix is "
              "singular, which has no gradient: there backward is an error.")
        .in("x", Kind::floating, "[..., n, n]")
        .saved()
        .out("sign")
        .nondiff()
        .out("logabsdet");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    squares(in[0]);
    const Dims batch = leading(in[0].shape());
    return {{batch, in[0].dtype()}, {batch, in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const int64_t n = in[0].size(-1);
    const Tensor signs = work_space(out[0].shape()), magnitudes = work_space(out[0].shape());
    factor(work_copy(in[0]), nullptr,
           [&](int64_t i, double* m, const int64_t*, double sign, int64_t) noexcept {
             for (int64_t j = 0; j < n; ++j) {
               double& d = m[j * (n + 1)];
               if (!(d > 0)) sign = d < 0 ? -sign : d * sign;  // 0 and NaN stay
               d = std::abs(d);
             }
             signs.data<double>()[i] = sign;
             double& total = magnitudes.data<double>()[i] = 0;
             for (int64_t j = 0; j < n; ++j) total += std::log(m[j * (n + 1)]);
             return kDone;
           });
    out[0].assign(signs);
    out[1].assign(magnitudes);
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) {
    return {as_matrices(g[1]) * flipped(apply1<Inverse>({s.in(0)}))};
  }
};
OMNIGRAD_OP(Slogdet)

}  // namespace

Tensor inverse(const Tensor& x) { return apply1<Inverse>({x}); }
Tensor solve(const Tensor& a, const Tensor& b) { return apply1<Solve>({a, b}); }
Tensor triangular_solve(const Tensor& a, const Tensor& b, bool upper, bool transpose) {
  return apply1<TriangularSolve>({a, b}, {upper, transpose, false});
}

}  // namespace omnigrad
