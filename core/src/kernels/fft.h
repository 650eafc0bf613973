// Discrete Fourier transforms of lines of complex doubles, (real, imaginary) pairs, of any length: mixed
// radix where all prime factors are small, else Bluestein's convolution. float32 comes here as double.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

struct FftPlan {
  explicit FftPlan(int64_t n) noexcept;

  int64_t n;        // length of a line
  int64_t inner;    // length of the mixed radix transform: n, or a power of two that holds the convolution
  int factors = 0;  // of inner
  int64_t factor[64];

  bool direct() const noexcept { return inner == n; }
  int64_t table_size() const noexcept { return 2 * (direct() ? n : n + 2 * inner); }  // doubles
  int64_t scratch_size() const noexcept { return 4 * inner; }                         // doubles, for one line
};

// Fills table[plan.table_size()]; `scratch` as for one line.
void fft_prepare(const FftPlan& plan, double* table, double* scratch) noexcept;
// x[n] becomes scale * sum over k of x[k] exp(-+2 pi i j k / n), + where `inverse`.
void fft_line(const FftPlan& plan, const double* table, double* x, bool inverse, double scale,
              double* scratch) noexcept;

}  // namespace omnigrad::kernels
