// Special functions that the C library lacks, in double, for kernels.
#pragma once

namespace omnigrad::kernels {

// The inverse of erf on (-1, 1); -+Infinity at -+1, NaN beyond.
double erfinv(double x) noexcept;
// The n-th derivative of digamma: polygamma(0, x) is digamma(x). NaN at poles.
double polygamma(int n, double x) noexcept;
// sin(pi x) / (pi x), 1 at 0.
double sinc(double x) noexcept;

}  // namespace omnigrad::kernels
