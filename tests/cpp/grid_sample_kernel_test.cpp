// The grid sampling kernels: the same bits on any number of threads, over several blocks of points; writing
// is the adjoint of reading. Slopes are held against differences by the gradient check of the op.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/grid_sample.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

using Mode = GridSampling::Mode;
using Padding = GridSampling::Padding;

template <class T>
std::vector<T> ramp(int64_t n, int step) {
  std::vector<T> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = static_cast<T>(static_cast<double>(i * static_cast<size_t>(step) % 1009) / 420 - 1.2);
  return v;
}
template <class T>
double dot(const std::vector<T>& a, const std::vector<T>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <class T>
struct Results {
  std::vector<T> y, gx, ggrid;
  bool operator==(const Results&) const = default;
};
template <class T>
void check(const GridSampling& s, double tolerance) {
  int64_t pixels = 1;
  for (int i = 0; i < s.rank; ++i) pixels *= s.size[i];
  const int64_t planes = s.batch * s.channels;
  const auto x = ramp<T>(planes * pixels, 389), g = ramp<T>(planes * s.points, 211);
  const auto grid = ramp<T>(s.batch * s.points * s.rank, 577);
  const auto run = [&](int threads) {
    parallel::start(threads);
    Results<T> r{std::vector<T>(g.size()), std::vector<T>(x.size(), T(9)), std::vector<T>(grid.size())};
    grid_read(s, x.data(), grid.data(), r.y.data());
    grid_write(s, g.data(), grid.data(), r.gx.data());
    grid_slope(s, x.data(), grid.data(), g.data(), r.ggrid.data());
    parallel::stop();
    return r;
  };
  const Results<T> one = run(1);
  for (int threads = 2; threads <= 4; ++threads) ASSERT_EQ(run(threads), one);
  const double read = dot(one.y, g);
  ASSERT_NEAR(read, dot(x, one.gx), tolerance * (1 + std::abs(read)));
}

TEST(GridSampleKernel, SameBitsOnAnyNumberOfThreadsAndWritingIsTheAdjointOfReading) {
  for (int rank = 1; rank <= 3; ++rank)
    for (const Mode mode : {Mode::bilinear, Mode::nearest, Mode::bicubic})
      for (const Padding padding : {Padding::zeros, Padding::border, Padding::reflection})
        for (const bool align : {false, true}) {
          const GridSampling s{mode, padding, align, rank, 2, 11, 301, {5, 4, 3}, {0, 0, 0}};
          check<float>(s, 1e-5);
          check<double>(s, 1e-12);
        }
}

}  // namespace
}  // namespace omnigrad::kernels
