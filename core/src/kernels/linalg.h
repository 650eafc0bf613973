// Factorizations of one row-major matrix of doubles: plain loops, in place where that is natural. float32
// comes here as double. Batches, dtypes, shapes and errors belong to the op. A failure is the number of the
// row or column where it shows, kDone otherwise.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

inline constexpr int64_t kDone = -1;

// a [n, n] becomes L below and U on and above the diagonal, rows permuted: row i was swapped with pivots[i].
// `sign` is that of the permutation. Fails at the first column without a pivot.
int64_t lu(double* a, int64_t n, int64_t* pivots, double* sign) noexcept;
// b [n, k] becomes the solution of A x = b, from lu's result.
void lu_solve(const double* a, int64_t n, const int64_t* pivots, double* b, int64_t k) noexcept;

// b [n, k] becomes op(A)^-1 b; op(A) is a, or a's transpose. Reads the triangle `upper` tells, of a itself.
// Fails at a zero on the diagonal.
int64_t triangular_solve(const double* a, int64_t n, double* b, int64_t k, bool upper, bool transpose,
                         bool unit) noexcept;

// The lower factor of a symmetric a [n, n] in place, zeros above. Fails where a is not positive definite.
int64_t cholesky(double* a, int64_t n) noexcept;

// a [m, n], m >= n, is used up: q [m, n], r [n, n]. `work`: 2 n. Signs as LAPACK's Householder vectors give
// them.
void qr(double* a, int64_t m, int64_t n, double* q, double* r, double* work) noexcept;

// Symmetric a [n, n] is used up: values [n] ascending, `vectors` [n, n] in columns, each with its largest
// component positive. `work`: n * n. Jacobi.
void eigh(double* a, int64_t n, double* values, double* vectors, double* work) noexcept;

// a [m, n], m >= n, is used up: u [m, n], values [n] descending, vt [n, n]. The largest component of each
// column of u is positive. `work`: m * n + 2 n * n + 2 n. One-sided Jacobi on R of the QR factorization.
void svd(double* a, int64_t m, int64_t n, double* u, double* values, double* vt, double* work) noexcept;

}  // namespace omnigrad::kernels
