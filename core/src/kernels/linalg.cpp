#include "kernels/linalg.h"

#include <algorithm>
#include <cmath>

namespace omnigrad::kernels {
namespace {

// y += s x
void axpy(double* y, const double* x, double s, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) y[i] += s * x[i];
}
double dot(const double* x, const double* y, int64_t n) noexcept {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += x[i] * y[i];
  return s;
}
void scale(double* x, double s, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) x[i] *= s;
}
// The Euclidean norm, free of overflow.
double norm(const double* x, int64_t n, int64_t step = 1) noexcept {
  double top = 0, total = 0, s = 0;
  for (int64_t i = 0; i < n; ++i) {
    top = std::max(top, std::fabs(x[i * step]));
    total += std::fabs(x[i * step]);
  }
  if (total == 0) return 0;  // NaN is not 0
  for (int64_t i = 0; i < n; ++i) s += (x[i * step] / top) * (x[i * step] / top);
  return top * std::sqrt(s);
}
// (x, y) becomes (c x - s y, s x + c y).
void rotate(double* x, double* y, double c, double s, int64_t n, int64_t step = 1) noexcept {
  for (int64_t i = 0; i < n * step; i += step) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}
// The smaller rotation that makes [[a, c], [c, b]] diagonal.
void jacobi_angle(double a, double b, double c, double* cosine, double* sine) noexcept {
  const double theta = (b - a) / (2 * c);
  const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
  *cosine = 1 / std::sqrt(t * t + 1);
  *sine = t * *cosine;
}
// Swaps vectors and values so that the values ascend, or descend.
void sort_rows(double* values, double* rows, double* others, int64_t n, bool descending) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    int64_t best = i;
    for (int64_t j = i + 1; j < n; ++j) {
      if (descending ? values[j] > values[best] : values[j] < values[best]) best = j;
    }
    if (best == i) continue;
    std::swap(values[i], values[best]);
    std::swap_ranges(rows + i * n, rows + (i + 1) * n, rows + best * n);
    if (others) std::swap_ranges(others + i * n, others + (i + 1) * n, others + best * n);
  }
}
bool largest_is_negative(const double* x, int64_t n, int64_t step) noexcept {
  double best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (std::fabs(x[i * step]) > std::fabs(best)) best = x[i * step];
  }
  return best < 0;
}

constexpr double kEpsilon = 1.1e-16;
constexpr int kSweeps = 60;

}  // namespace

int64_t lu(double* a, int64_t n, int64_t* pivots, double* sign) noexcept {
  int64_t failed = kDone;
  *sign = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(a[i * n + k]) > std::fabs(a[best * n + k])) best = i;
    }
    pivots[k] = best;
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      *sign = -*sign;
    }
    const double pivot = a[k * n + k];
    if (pivot == 0) {
      if (failed == kDone) failed = k;
      continue;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const double l = a[i * n + k] /= pivot;
      axpy(a + i * n + k + 1, a + k * n + k + 1, -l, n - k - 1);
    }
  }
  return failed;
}

void lu_solve(const double* a, int64_t n, const int64_t* pivots, double* b, int64_t k) noexcept {
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] != i) std::swap_ranges(b + i * k, b + (i + 1) * k, b + pivots[i] * k);
  }
  triangular_solve(a, n, b, k, false, false, true);
  triangular_solve(a, n, b, k, true, false, false);
}

int64_t triangular_solve(const double* a, int64_t n, double* b, int64_t k, bool upper, bool transpose,
                         bool unit) noexcept {
  for (int64_t i = 0; i < n && !unit; ++i) {
    if (a[i * n + i] == 0) return i;
  }
  const bool backwards = upper != transpose;
  const int64_t row = transpose ? 1 : n, col = transpose ? n : 1;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = backwards ? n - 1 - step : step;
    for (int64_t j = backwards ? i + 1 : 0; j < (backwards ? n : i); ++j) {
      axpy(b + i * k, b + j * k, -a[i * row + j * col], k);
    }
    if (unit) continue;
    const double d = a[i * n + i];
    for (int64_t c = 0; c < k; ++c) b[i * k + c] /= d;
  }
  return kDone;
}

int64_t cholesky(double* a, int64_t n) noexcept {
  for (int64_t j = 0; j < n; ++j) {
    double* top = a + j * n;
    const double d = top[j] - dot(top, top, j);
    if (!(d > 0)) return j;
    top[j] = std::sqrt(d);
    for (int64_t i = j + 1; i < n; ++i) a[i * n + j] = (a[i * n + j] - dot(a + i * n, top, j)) / top[j];
    std::fill(top + j + 1, top + n, 0.0);
  }
  return kDone;
}

void qr(double* a, int64_t m, int64_t n, double* q, double* r, double* work) noexcept {
  double *tau = work, *w = work + n;
  // Rows [j, m) of `to`, columns [from, n): to -= tau v (v^T to), v = 1 and a's column j below the diagonal.
  const auto reflect = [&](int64_t j, double* to, int64_t from) {
    const int64_t count = n - from;
    std::copy_n(to + j * n + from, count, w);
    for (int64_t i = j + 1; i < m; ++i) axpy(w, to + i * n + from, a[i * n + j], count);
    axpy(to + j * n + from, w, -tau[j], count);
    for (int64_t i = j + 1; i < m; ++i) axpy(to + i * n + from, w, -tau[j] * a[i * n + j], count);
  };
  for (int64_t j = 0; j < n; ++j) {
    double& alpha = a[j * n + j];
    const double below = norm(a + (j + 1) * n + j, m - j - 1, n);
    tau[j] = 0;
    if (below == 0) continue;
    const double both[] = {alpha, below};
    const double beta = alpha > 0 ? -norm(both, 2) : norm(both, 2);
    tau[j] = (beta - alpha) / beta;
    for (int64_t i = j + 1; i < m; ++i) a[i * n + j] /= alpha - beta;
    alpha = beta;
    reflect(j, a, j + 1);
  }
  for (int64_t i = 0; i < n; ++i) {
    std::fill_n(r + i * n, i, 0.0);
    std::copy(a + i * n + i, a + (i + 1) * n, r + i * n + i);
  }
  std::fill_n(q, m * n, 0.0);
  for (int64_t j = 0; j < n; ++j) q[j * n + j] = 1;
  for (int64_t j = n; j-- > 0;) reflect(j, q, j);
}

void eigh(double* a, int64_t n, double* values, double* vectors, double* work) noexcept {
  double* v = work;  // eigenvectors in rows
  std::fill_n(v, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) v[i * n + i] = 1;
  const double small = kEpsilon * 0.1 * norm(a, n * n);
  for (int sweep = 0, turned = 1; turned && sweep < kSweeps; ++sweep) {
    turned = 0;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double apq = a[p * n + q];
        if (!(std::fabs(apq) > small)) continue;
        turned = 1;
        double c, s;
        jacobi_angle(a[p * n + p], a[q * n + q], apq, &c, &s);
        rotate(a + p * n, a + q * n, c, s, n);
        rotate(a + p, a + q, c, s, n, n);
        a[p * n + q] = a[q * n + p] = 0;
        rotate(v + p * n, v + q * n, c, s, n);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  sort_rows(values, v, nullptr, n, false);
  for (int64_t j = 0; j < n; ++j) {
    const double sign = largest_is_negative(v + j * n, n, 1) ? -1 : 1;
    for (int64_t i = 0; i < n; ++i) vectors[i * n + j] = sign * v[j * n + i];
  }
}

void svd(double* a, int64_t m, int64_t n, double* u, double* values, double* vt, double* work) noexcept {
  double *q = work, *w = q + m * n, *r = w + n * n, *rest = r + n * n;
  qr(a, m, n, q, r, rest);
  // The columns of R as rows, of a size whose squares neither overflow nor vanish.
  const double all = norm(r, n * n), size = all > 0 && std::isfinite(all) ? all : 1;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) w[i * n + j] = r[j * n + i] / size;
  }
  std::fill_n(vt, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) vt[i * n + i] = 1;
  for (int sweep = 0, turned = 1; turned && sweep < kSweeps; ++sweep) {
    turned = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        double *x = w + i * n, *y = w + j * n;
        const double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
        if (!(std::fabs(xy) > 4 * kEpsilon * std::sqrt(xx) * std::sqrt(yy))) continue;
        turned = 1;
        double c, s;
        jacobi_angle(xx, yy, xy, &c, &s);
        rotate(x, y, c, s, n);
        rotate(vt + i * n, vt + j * n, c, s, n);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = norm(w + i * n, n);
  sort_rows(values, w, vt, n, true);
  for (int64_t i = 0; i < n; ++i) {
    double* x = w + i * n;
    if (!(values[i] <= kEpsilon * kEpsilon * values[0])) {
      for (int64_t k = 0; k < n; ++k) x[k] /= values[i];
      continue;
    }
    // A singular value of 0: any direction across those before it, from the first axis that leaves enough.
    values[i] = 0;
    for (int64_t axis = 0; axis < n; ++axis) {
      std::fill_n(x, n, 0.0);
      x[axis] = 1;
      for (int twice = 0; twice < 2; ++twice) {
        for (int64_t j = 0; j < i; ++j) axpy(x, w + j * n, -dot(x, w + j * n, n), n);
      }
      const double left = norm(x, n);
      if (left * left * 2 * static_cast<double>(n) < 1) continue;
      scale(x, 1 / left, n);
      break;
    }
  }
  scale(values, size, n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) u[i * n + j] = dot(q + i * n, w + j * n, n);
  }
  for (int64_t j = 0; j < n; ++j) {
    if (!largest_is_negative(u + j, m, n)) continue;
    for (int64_t i = 0; i < m; ++i) u[i * n + j] = -u[i * n + j];
    scale(vt + j * n, -1, n);
  }
}

}  // namespace omnigrad::kernels
