#include "kernels/fft.h"

#include <algorithm>
#include <cmath>

namespace omnigrad::kernels {
namespace {

constexpr int64_t kLargestRadix = 49;

struct Complex {
  double re, im;
};
Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// exp(-2 pi i k / n); the angle is at most a quarter turn before rounding.
Complex root(int64_t k, int64_t n) noexcept {
  const int64_t quarter = 4 * k / n;  // 0 to 3
  const double angle =
      1.5707963267948966 * (static_cast<double>(4 * k - quarter * n) / static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  const Complex turned[] = {{c, -s}, {-s, -c}, {-c, s}, {s, c}};
  return turned[quarter];
}

// One stage of Stockham's transform: y[j + s (p q + u)] = w^(q u) sum over t of x[j + s (q + m t)] wp^(t u).
void stage(const Complex* x, Complex* y, const Complex* roots, int64_t length, int64_t p, int64_t m,
           int64_t s) noexcept {
  const int64_t apart = s * m;
  for (int64_t q = 0; q < m; ++q) {
    for (int64_t j = 0; j < s; ++j) {
      const Complex* in = x + j + s * q;
      Complex* out = y + j + s * p * q;
      if (p == 2) {
        const Complex a = in[0], b = in[apart];
        out[0] = a + b;
        out[s] = (a - b) * roots[q * s];
      } else if (p == 4) {
        const Complex a = in[0] + in[2 * apart], b = in[0] - in[2 * apart];
        const Complex c = in[apart] + in[3 * apart], d = in[apart] - in[3 * apart];
        const Complex turned{d.im, -d.re};
        out[0] = a + c;
        out[s] = (b + turned) * roots[q * s];
        out[2 * s] = (a - c) * roots[2 * q * s];
        out[3 * s] = (b - turned) * roots[3 * q * s];
      } else {
        const int64_t step = length / p;
        for (int64_t u = 0; u < p; ++u) {
          Complex total = in[0];
          int64_t turn = 0;
          for (int64_t t = 1; t < p; ++t) {
            turn += u;
            if (turn >= p) turn -= p;
            total = total + in[t * apart] * roots[turn * step];
          }
          out[u * s] = total * roots[q * u * s];
        }
      }
    }
  }
}

// Transforms x, with y for scratch; returns the one that holds the result.
Complex* transform(const FftPlan& plan, const Complex* roots, Complex* x, Complex* y) noexcept {
  int64_t m = plan.inner, s = 1;
  for (int f = 0; f < plan.factors; ++f) {
    const int64_t p = plan.factor[f];
    m /= p;
    stage(x, y, roots, plan.inner, p, m, s);
    s *= p;
    std::swap(x, y);
  }
  return x;
}

struct Table {
  const Complex *roots, *chirp, *filter;
  Table(const FftPlan& plan, const double* table)
      : roots(reinterpret_cast<const Complex*>(table)), chirp(roots + plan.inner), filter(chirp + plan.n) {}
};

}  // namespace

FftPlan::FftPlan(int64_t n) noexcept : n(n), inner(n) {
  int64_t rest = n;
  for (int64_t p = 4; rest > 1 && p <= kLargestRadix; p = p == 4 ? 2 : p == 2 ? 3 : p + 2) {
    for (; rest % p == 0; rest /= p) factor[factors++] = p;
  }
  if (rest <= 1) return;
  factors = 0;
  for (inner = 1; inner < 2 * n - 1; inner *= 4) factor[factors++] = 4;
  if (inner / 2 >= 2 * n - 1) {
    inner /= 2;
    factor[factors - 1] = 2;
  }
}

void fft_prepare(const FftPlan& plan, double* table, double* scratch) noexcept {
  auto* roots = reinterpret_cast<Complex*>(table);
  for (int64_t k = 0; k < plan.inner; ++k) roots[k] = root(k, plan.inner);
  if (plan.direct()) return;
  const int64_t n = plan.n, m = plan.inner;
  Complex *chirp = roots + m, *filter = chirp + n;
  auto *x = reinterpret_cast<Complex*>(scratch), *y = x + m;
  std::fill_n(x, m, Complex{0, 0});
  int64_t square = 0;  // k * k modulo 2 n
  for (int64_t k = 0; k < n; ++k) {
    chirp[k] = root(square, 2 * n);
    x[k] = {chirp[k].re, -chirp[k].im};
    if (k > 0) x[m - k] = x[k];
    square = (square + 2 * k + 1) % (2 * n);
  }
  std::copy_n(transform(plan, roots, x, y), m, filter);
}

void fft_line(const FftPlan& plan, const double* table, double* line, bool inverse, double scale,
              double* scratch) noexcept {
  const Table t(plan, table);
  const int64_t n = plan.n, m = plan.inner;
  auto* data = reinterpret_cast<Complex*>(line);
  auto *x = reinterpret_cast<Complex*>(scratch), *y = x + m;
  // The inverse is the transform with the real and imaginary parts exchanged before and after.
  const auto exchanged = [inverse](Complex c) { return inverse ? Complex{c.im, c.re} : c; };
  for (int64_t k = 0; k < n; ++k) x[k] = exchanged(data[k]);
  if (!plan.direct()) {
    for (int64_t k = 0; k < n; ++k) x[k] = x[k] * t.chirp[k];
    std::fill(x + n, x + m, Complex{0, 0});
    Complex* f = transform(plan, t.roots, x, y);
    if (f != x) std::swap(x, y);
    for (int64_t k = 0; k < m; ++k) {  // and the inverse transform of the product
      const Complex c = x[k] * t.filter[k];
      x[k] = {c.im, c.re};
    }
    f = transform(plan, t.roots, x, y);
    for (int64_t k = 0; k < n; ++k) x[k] = Complex{f[k].im, f[k].re} * t.chirp[k];
    scale /= static_cast<double>(m);
  } else {
    x = transform(plan, t.roots, x, y);
  }
  // Bluestein's scale falls on each element once, here.
  for (int64_t k = 0; k < n; ++k) {
    const Complex c = exchanged(x[k]);
    data[k] = {c.re * scale, c.im * scale};
  }
}

}  // namespace omnigrad::kernels
