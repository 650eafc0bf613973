// Winograd convolution against plain loops in double, to 2e-5 of the largest element in float: every tile
// edge, padding, block and slice, leading axes, groups; and that any number of threads gives the same bits.
#include "kernels/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "parallel/parallel.h"
#include "support/conv_shapes.h"

namespace omnigrad::kernels {
namespace {

template <class T>
struct Results {
  std::vector<T> y, gx, gw;
};

template <class T>
Results<T> run(const ConvShape& s, bool with_bias) {
  const int64_t nx = s.batch * s.in_channels * product(s.in, s.rank);
  const int64_t ny = s.batch * s.out_channels * product(s.out, s.rank);
  const int64_t nw = s.out_channels * (s.in_channels / s.groups) * product(s.kernel, s.rank);
  const auto x = numbers<T>(nx, 1), w = numbers<T>(nw, 2), gy = numbers<T>(ny, 3),
             bias = numbers<T>(s.out_channels, 4);
  const T nan = static_cast<T>(NAN);
  Results<T> r{std::vector<T>(ny, nan), std::vector<T>(nx, nan), std::vector<T>(nw, nan)};
  const auto scratch = [](size_t bytes) { return std::vector<char>(bytes, static_cast<char>(0xff)); };
  auto ws = scratch(winograd_forward_workspace<T>(s));
  winograd_forward<T>(s, x.data(), w.data(), with_bias ? bias.data() : nullptr, r.y.data(), ws.data());
  ws = scratch(winograd_input_grad_workspace<T>(s));
  winograd_input_grad<T>(s, gy.data(), w.data(), r.gx.data(), ws.data());
  ws = scratch(winograd_weight_grad_workspace<T>(s));
  winograd_weight_grad<T>(s, gy.data(), x.data(), r.gw.data(), ws.data());
  return r;
}

template <class T>
void compare(const std::vector<T>& got, const std::vector<double>& want, const char* what,
             const ConvShape& s) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    largest = std::fmax(largest, std::fabs(want[i]));
    const double e = std::fabs(got[i] - want[i]);
    error = e >= error || std::isnan(e) ? e : error;
  }
  EXPECT_LE(error, (sizeof(T) == 4 ? 2e-5 : 4e-14) * largest) << what << " of " << text(s);
}

template <class T>
void check_one(const ConvShape& s, bool with_bias) {
  ASSERT_TRUE(winograd_applies(s)) << text(s);
  const Results<T> r = run<T>(s, with_bias);
  const auto x = numbers<T>(static_cast<int64_t>(r.gx.size()), 1),
             w = numbers<T>(static_cast<int64_t>(r.gw.size()), 2),
             gy = numbers<T>(static_cast<int64_t>(r.y.size()), 3), bias = numbers<T>(s.out_channels, 4);
  std::vector<double> y(r.y.size()), gx(x.size()), gw(w.size());
  const int64_t out = product(s.out, s.rank);
  if (with_bias)
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i / out % s.out_channels];
  for_terms(s, [&](int64_t i, int64_t j, int64_t k) {
    y[k] += static_cast<double>(x[i]) * w[j];
    gx[i] += static_cast<double>(gy[k]) * w[j];
    gw[j] += static_cast<double>(gy[k]) * x[i];
  });
  compare(r.y, y, "y", s);
  compare(r.gx, gx, "gx", s);
  compare(r.gw, gw, "gw", s);
}

void check(const ConvShape& s, bool with_bias = false) {
  check_one<float>(s, with_bias);
  check_one<double>(s, with_bias);
}

TEST(Winograd, TileEdgesAndPadding) {
  for (int64_t size = 1; size <= 13; ++size)
    for (int64_t lo : {0, 1, 2, 3})
      for (int64_t hi : {0, 1, 2, 4}) {
        if (size + lo + hi < 3) continue;
        check(make_shape(2, 5, 3, 1, {{size, 3, 1, lo, hi}, {9, 3, 1, hi, lo}}), true);
        check(make_shape(1, 3, 6, 1, {{6, 3, 1, 1, 1}, {size, 3, 1, lo, hi}}));
      }
}

TEST(Winograd, ChannelsAndGroups) {
  for (int64_t c : {1, 2, 3, 4, 5, 8, 9, 17, 65})
    for (int64_t o : {1, 2, 3, 4, 5, 8, 9, 15, 66})
      check(make_shape(2, c, o, 1, {{6, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}), o % 2);
  for (int64_t groups : {2, 3})
    check(make_shape(3, 5 * groups, 9 * groups, groups, {{10, 3, 1, 1, 1}, {6, 3, 1, 0, 1}}), true);
}

TEST(Winograd, BlocksAndSlices) {
  check(make_shape(1, 24, 20, 1, {{70, 3, 1, 1, 1}, {45, 3, 1, 1, 1}}), true);  // rows of one image
  check(make_shape(40, 20, 16, 1, {{8, 3, 1, 1, 1}, {9, 3, 1, 1, 1}}), true);   // images
  check(make_shape(3, 130, 140, 1, {{7, 3, 1, 1, 1}, {9, 3, 1, 1, 1}}), true);  // channels
  check(make_shape(2, 4, 70, 1, {{30, 3, 1, 1, 1}, {150, 3, 1, 1, 1}}));  // wide; operands change places
}

TEST(Winograd, LeadingAxes) {
  const Axis h{9, 3, 1, 1, 1}, w{6, 3, 1, 1, 1};
  for (int64_t kernel : {1, 2, 3})
    for (int64_t dilation : {1, 2})
      for (int64_t lo : {0, 1, 3})
        for (int64_t hi : {0, 2}) {
          if (5 + lo + hi < dilation * (kernel - 1) + 1) continue;
          check(make_shape(2, 5, 6, 1, {{5, kernel, 1, lo, hi, dilation}, h, w}), true);
        }
  check(make_shape(2, 3, 4, 1, {{4, 3, 1, 1, 1}, {3, 2, 1, 1, 0}, h, w}), true);
  check(make_shape(1, 6, 4, 2, {{2, 2, 1, 1, 0}, {3, 1, 1, 0, 0}, {3, 3, 1, 1, 1}, h, w}), true);
  check(make_shape(2, 24, 17, 1, {{6, 3, 1, 1, 1}, {20, 3, 1, 1, 1}, {21, 3, 1, 1, 1}}), true);
  check(make_shape(70, 16, 16, 1, {{2, 3, 1, 1, 1}, {4, 3, 1, 1, 1}, {5, 3, 1, 1, 1}}));
}

TEST(Winograd, DoesNotApply) {
  EXPECT_FALSE(winograd_applies(make_shape(1, 8, 8, 1, {{8, 3}})));
  EXPECT_FALSE(winograd_applies(make_shape(1, 8, 8, 1, {{8, 3}, {8, 3, 2}})));
  EXPECT_FALSE(winograd_applies(make_shape(1, 8, 8, 1, {{8, 3, 1, 1, 1, 2}, {8, 3}})));
  EXPECT_FALSE(winograd_applies(make_shape(1, 8, 8, 1, {{8, 3}, {8, 2}})));
  EXPECT_FALSE(winograd_applies(make_shape(1, 8, 8, 1, {{8, 1, 2}, {8, 3}, {8, 3}})));
  EXPECT_TRUE(winograd_forward_pays(make_shape(8, 64, 64, 1, {{56, 3, 1, 1, 1}, {56, 3, 1, 1, 1}})));
  EXPECT_FALSE(winograd_forward_pays(make_shape(8, 64, 64, 1, {{3, 3}, {3, 3}})));  // a tile for one output
  EXPECT_FALSE(winograd_forward_pays(make_shape(8, 1024, 1024, 1, {{56, 3}, {56, 3}})));  // memory
  EXPECT_FALSE(winograd_forward_pays(make_shape(8, 64, 64, 64, {{56, 3, 1, 1, 1}, {56, 3, 1, 1, 1}})));
}

template <class T>
void same_on_any_threads() {
  const auto results = [] {
    std::vector<Results<T>> r;
    for (const ConvShape& s :
         {make_shape(9, 16, 24, 1, {{28, 3, 1, 1, 1}, {28, 3, 1, 1, 1}}),
          make_shape(1, 130, 150, 1, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}),
          make_shape(2, 16, 8, 2, {{6, 3, 1, 1, 1}, {20, 3, 1, 1, 1}, {20, 3, 1, 1, 1}})})
      r.push_back(run<T>(s, true));
    return r;
  };
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  };
  const auto serial = results();
  for (int threads : {1, 2, 3, 4}) {
    parallel::start(threads);
    const auto r = results();
    parallel::stop();
    for (size_t i = 0; i < r.size(); ++i)
      EXPECT_TRUE(same(r[i].y, serial[i].y) && same(r[i].gx, serial[i].gx) && same(r[i].gw, serial[i].gw))
          << i << " on " << threads;
  }
}
TEST(Winograd, SameBitsOnAnyThreads) {
  same_on_any_threads<float>();
  same_on_any_threads<double>();
}

}  // namespace
}  // namespace omnigrad::kernels
