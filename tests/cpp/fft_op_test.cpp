// Fourier transforms against the defining sum, for every length up to 130 and some long ones; conventions
// from PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "omnigrad/ops.h"
#include "support/gradcheck.h"

namespace omnigrad::test {
namespace {

Tensor of(const Dims& shape, std::vector<double> v) { return Tensor::from<double>(shape, v.data()); }
void expect_near(const Tensor& t, const std::vector<double>& expected, double tolerance = 1e-11) {
  const Tensor c = t.contiguous();
  ASSERT_EQ(static_cast<size_t>(c.numel()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(c.data<double>()[i], expected[i], tolerance) << i;
}

// The largest difference between fft and the sum, relative to the largest term's size.
double error_of(int64_t n) {
  Gen g(static_cast<uint64_t>(n), DType::float64, true);
  const Tensor x = g.tensor({n, 2}), y = Call("fft", {x}).run()[0].contiguous();
  const auto* in = reinterpret_cast<const std::complex<double>*>(x.data<double>());
  const auto* out = reinterpret_cast<const std::complex<double>*>(y.data<double>());
  double worst = 0;
  const int64_t step = n > 500 ? n / 50 : 1;
  for (int64_t k = 0; k < n; k += step) {
    std::complex<long double> total = 0;
    for (int64_t j = 0; j < n; ++j) {
      const long double angle = -2 * 3.14159265358979323846264338327950288L *
                                static_cast<long double>(j * k % n) / static_cast<long double>(n);
      total += std::complex<long double>(in[j]) * std::complex<long double>(std::cos(angle), std::sin(angle));
    }
    worst = std::max(worst, static_cast<double>(std::abs(total - std::complex<long double>(out[k]))));
  }
  const Tensor back = Call("ifft", {y}).run()[0].contiguous();
  for (int64_t i = 0; i < 2 * n; ++i)
    worst = std::max(worst, std::abs(back.data<double>()[i] - x.data<double>()[i]));
  return worst / std::sqrt(static_cast<double>(n));
}

TEST(Fft, IsTheSumForEveryLength) {
  for (int64_t n = 1; n <= 130; ++n) EXPECT_LT(error_of(n), 1e-14) << n;
  for (int64_t n : {211, 512, 997, 1000, 2018, 4096, 5041}) EXPECT_LT(error_of(n), 2e-14) << n;
}

TEST(Fft, NormAndLengthAreThoseOfPyTorch) {
  const Tensor x = of({5}, {1, 2, 4, 8, 16}), h = of({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rfft = [&](const char* norm) {
    return Call("rfft", {x}).set("n", int64_t{7}).choose("norm", norm).run()[0];
  };
  expect_near(rfft("backward"), {31, 0, -20.266356961766, -1.992304700723, 11.914837905087, -6.468972727638,
                                 -3.648480943321, 10.058981749092});
  expect_near(rfft("ortho"), {11.716898663286, 0, -7.659962928871, -0.753020396283, 4.503385429787,
                              -2.445041867913, -1.378996177027, 3.801937735805});
  expect_near(rfft("forward"), {4.428571428571, 0, -2.895193851681, -0.284614957246, 1.702119700727,
                                -0.924138961091, -0.521211563332, 1.436997392727});
  expect_near(Call("irfft", {h}).run()[0], {3, -3, 0, 1});
  expect_near(Call("irfft", {h}).choose("norm", "ortho").run()[0], {6, -6, 0, 2});
  expect_near(Call("irfft", {h}).choose("norm", "forward").run()[0], {12, -12, 0, 4});
  expect_near(Call("irfft", {h}).set("n", int64_t{5}).run()[0],
              {3.4, -3.979588627074, 1.18929283094, -1.49486563994, 1.885161436074});
}

TEST(Fft, SeveralAxes) {
  const Tensor x = reshape(arange(0, 24, 1, DType::float64), {3, 4, 2});
  expect_near(Call("irfft2", {x}).set("s", Dims{4, 5}).run()[0],
              {7.8,   -6.21625918434, 1.654839277611,  -1.884018884361, 4.64543879109,
               -6.85, 1.067551409569, 0.010445145982,  0.065948056268,  -0.543944611819,
               2.6,   -2.07208639478, 0.551613092537,  -0.628006294787, 1.54847959703,
               -1.15, 3.856742249911, -1.172913190791, 1.096519988541,  -4.380349047661});
  const Tensor y = square(reshape(arange(0, 12, 1, DType::float64), {3, 4}));
  expect_near(Call("rfftn", {y}).set("dim", Dims{1, 0}).choose("norm", "ortho").run()[0],
              {146.069618104975, 0, -17.320508075689, 20.784609690827, -19.052558883258, 0, -17.320508075689,
               -20.784609690827, -66.972631225997, 60, 2.928203230276, -10.928203230276, 6.928203230276, -4,
               10.928203230276, 2.928203230276});
  const Tensor z = Call("irfftn", {Call("rfftn", {y}).run()[0]}).set("s", Dims{3, 4}).run()[0];
  expect_near(z, {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121});
}

TEST(Fft, RefusesWhatHasNoPairs) {
  for (const char* op : {"fft", "irfft", "fft2"})
    EXPECT_THROW(Call(op, {of({3}, {1, 2, 3})}).run(), Error) << op;
  EXPECT_THROW(Call("fft", {of({1, 2}, {1, 2})}).set("n", int64_t{0}).run(), Error);
  EXPECT_THROW(Call("irfft", {of({1, 2}, {1, 2})}).run(), Error);  // n would be 0
  EXPECT_THROW(Call("rfftn", {of({2}, {1, 2})}).set("s", Dims{2, 2}).run(), Error);
}

}  // namespace
}  // namespace omnigrad::test
