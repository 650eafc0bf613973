#include "kernels/special.h"

#include <cmath>
#include <limits>

namespace omnigrad::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The k-th derivative of pi / tan(pi x), for the reflection of polygamma: a polynomial in c = cot(pi x), by
// d/dx c = -pi (1 + c^2).
double cotangent_derivative(int k, double x) noexcept {
  const double c = 1 / std::tan(kPi * x);
  // p[i]: coefficient of c^i in the j-th derivative of pi * cot(pi x).
  double p[24] = {0, kPi};
  for (int j = 0; j < k; ++j) {
    double q[24] = {};
    for (int i = 1; i <= j + 1; ++i) {
      q[i - 1] -= kPi * i * p[i];
      q[i + 1] -= kPi * i * p[i];
    }
    for (int i = 0; i < 24; ++i) p[i] = q[i];
  }
  double y = 0;
  for (int i = 23; i >= 0; --i) y = y * c + p[i];
  return y;
}

}  // namespace

// Giles' approximation (2010) as the start, then two steps of Newton on erf, to the last bits of a double.
double erfinv(double x) noexcept {
  if (!(x > -1 && x < 1)) {
    if (x == 1 || x == -1) return x * std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }
  double w = -std::log((1 - x) * (1 + x)), y;
  if (w < 5) {
    constexpr double c[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                            -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
    y = 0;
    for (double k : c) y = y * (w - 2.5) + k;
  } else {
    constexpr double c[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                            -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
    y = 0;
    for (double k : c) y = y * (std::sqrt(w) - 3) + k;
  }
  y *= x;
  for (int i = 0; i < 2; ++i) {
    // erfc keeps the digits that erf loses near 1.
    const double error = x > 0.5    ? (1 - x) - std::erfc(y)
                         : x < -0.5 ? std::erfc(-y) - (1 + x)
                                    : std::erf(y) - x;
    y -= error / (2 / std::sqrt(kPi) * std::exp(-y * y));
  }
  return y;
}

// Abramowitz and Stegun 6.3.18, 6.4.7 and 6.4.11: reflection below 1/2, recurrence up to 20, then the
// asymptotic series.
double polygamma(int n, double x) noexcept {
  if (x != x || (x <= 0 && x == std::floor(x))) return std::numeric_limits<double>::quiet_NaN();
  if (x < 0.5) {
    // polygamma(n, 1 - x) = (-1)^n (polygamma(n, x) + d^n/dx^n pi cot(pi x))
    return (n % 2 ? -1 : 1) * polygamma(n, 1 - x) - cotangent_derivative(n, x);
  }
  double factorial = 1;  // n!
  for (int i = 2; i <= n; ++i) factorial *= i;
  const double sign = n % 2 ? 1 : -1;
  double sum = 0;
  for (; x < 20 + n; x += 1) sum += n == 0 ? -1 / x : sign * factorial * std::pow(x, -(n + 1));
  // Bernoulli numbers B2, B4, ...
  constexpr double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                  5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  if (n == 0) {
    double tail = std::log(x) - 0.5 / x, power = 1 / (x * x);
    for (int k = 1; k <= 8; ++k, power /= x * x) tail -= bernoulli[k - 1] / (2 * k) * power;
    return sum + tail;
  }
  // sign * [(n-1)!/x^n + n!/(2 x^(n+1)) + sum_k B2k (2k+n-1)!/((2k)! x^(2k+n))]
  double tail = factorial / n * std::pow(x, -n) + factorial / 2 * std::pow(x, -(n + 1));
  double ratio = factorial * (n + 1) / 2;  // (2k+n-1)!/(2k)!, k = 1
  for (int k = 1; k <= 8; ++k) {
    tail += bernoulli[k - 1] * ratio * std::pow(x, -(2 * k + n));
    ratio *= static_cast<double>((2 * k + n) * (2 * k + n + 1)) / ((2 * k + 1) * (2 * k + 2));
  }
  return sum + sign * tail;
}

double sinc(double x) noexcept { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }

}  // namespace omnigrad::kernels
