// Fast paths of elementwise kernels against their plain ones: powers by a constant, choices by vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/elementwise.h"

namespace omnigrad::kernels {
namespace {

template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::float32 : DType::float64;

template <class T>
class ElementwiseKernelOf : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ElementwiseKernelOf, Types);

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{T(0),    -T(0), T(1), T(-1), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                   T(1e-30)};
  for (int i = 0; i < 200; ++i) x.push_back(static_cast<T>(std::sin(i * 1.7) * std::exp(i % 11 - 5)));
  return x;
}

// An exponent of one number has the bits of a tensor of it, and both are the C library's within 2 ulp.
TYPED_TEST(ElementwiseKernelOf, Powers) {
  using T = TypeParam;
  const auto x = special_values<T>();
  const int64_t shape[1] = {static_cast<int64_t>(x.size())}, dense[1] = {1}, repeated[1] = {0};
  for (const double e : {2.0, 0.5, 3.0, 1.0, -1.0, -0.5, -2.0, 0.0, 1.7, -3.0}) {
    const std::vector<T> exponent(x.size(), static_cast<T>(e));
    std::vector<T> one(x.size()), many(x.size());
    binary(Binary::pow, dtype_of<T>, {x.data(), dense}, {exponent.data(), repeated}, one.data(), shape, 1);
    binary(Binary::pow, dtype_of<T>, {x.data(), dense}, {exponent.data(), dense}, many.data(), shape, 1);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(same(one[i], many[i])) << x[i] << " to " << e;
      const T want = static_cast<T>(std::pow(static_cast<double>(x[i]), e));
      if (std::isnan(want) || std::isinf(want) || want == T(0)) {
        ASSERT_TRUE(same(one[i], want)) << x[i] << " to " << e << ": " << one[i];
      } else {
        ASSERT_NEAR(one[i] / want, 1, 4 * std::numeric_limits<T>::epsilon()) << x[i] << " to " << e;
      }
    }
  }
}

TYPED_TEST(ElementwiseKernelOf, ReluByVectors) {
  using T = TypeParam;
  const auto x = special_values<T>();
  for (size_t n = 1; n <= x.size(); n += 1 + n / 8) {
    const int64_t shape[1] = {static_cast<int64_t>(n)}, dense[1] = {1};
    std::vector<T> y(n + 1, T(7)), g(n), gx(n + 1, T(7));
    for (size_t i = 0; i < n; ++i) g[i] = static_cast<T>(i) - T(3.5);
    unary(Unary::relu, dtype_of<T>, {x.data(), dense}, y.data(), shape, 1);
    binary(Binary::relu_grad, dtype_of<T>, {g.data(), dense}, {x.data(), dense}, gx.data(), shape, 1);
    for (size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same(y[i], x[i] <= T(0) ? T(0) : x[i])) << x[i];
      ASSERT_TRUE(same(gx[i], x[i] > T(0) ? g[i] : T(0))) << x[i];
    }
    ASSERT_EQ(y[n], T(7));
    ASSERT_EQ(gx[n], T(7));
  }
}

// Bits pass unchanged, NaN's too; a condition byte counts as true if it is not 0.
TEST(ElementwiseKernel, WhereByVectors) {
  for (int64_t n = 1; n <= 37; ++n) {
    std::vector<uint32_t> p, q;
    std::vector<uint8_t> c;
    for (uint32_t i = 0; i < n; ++i) {
      p.push_back(0x7fc00001u + i), q.push_back(0xff800000u - i), c.push_back(i * 7 % 3 == 0 ? 0 : 1);
    }
    const int64_t shape[1] = {n}, steps[3][1] = {{0}, {1}, {-1}};
    for (const int a : {0, 1, 2})
      for (const int b : {0, 1, 2}) {
        std::vector<uint32_t> y(static_cast<size_t>(n) + 1, 5);
        const auto from = [&](const std::vector<uint32_t>& v, int step) {
          return Operand{v.data() + (step == 2 ? n - 1 : 0), steps[step]};
        };
        const auto at = [&](size_t i, int step) { return step == 0 ? 0 : step == 1 ? i : p.size() - 1 - i; };
        where({c.data(), steps[1]}, 4, from(p, a), from(q, b), y.data(), shape, 1);
        for (size_t i = 0; i < p.size(); ++i)
          ASSERT_EQ(y[i], c[i] != 0 ? p[at(i, a)] : q[at(i, b)]) << i << " of " << n;
        ASSERT_EQ(y.back(), 5u);
      }
  }
}

}  // namespace
}  // namespace omnigrad::kernels
