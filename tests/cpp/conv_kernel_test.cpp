// Convolution and its two gradients against plain loops in double: ranks, strides, groups, every block edge,
// any threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/conv.h"
#include "kernels/conv_gather.h"
#include "kernels/conv_rows.h"
#include "kernels/winograd.h"
#include "parallel/parallel.h"
#include "support/conv_shapes.h"

namespace omnigrad::kernels {
namespace {

enum Way { kChosen, kGather, kRows };

template <class T>
struct Results {
  std::vector<T> y, gx, gw;
};

// The three kernels, each with its own workspace full of NaN. A way that cannot do the shape leaves nothing.
template <class T>
Results<T> run(const ConvShape& s, bool with_bias, Way way = kChosen) {
  const int64_t nx = s.batch * s.in_channels * product(s.in, s.rank);
  const int64_t ny = s.batch * s.out_channels * product(s.out, s.rank);
  const int64_t nw = s.out_channels * (s.in_channels / s.groups) * product(s.kernel, s.rank);
  const auto x = numbers<T>(nx, 1), w = numbers<T>(nw, 2), gy = numbers<T>(ny, 3),
             bias = numbers<T>(s.out_channels, 4);
  const T nan = static_cast<T>(NAN);
  Results<T> r{std::vector<T>(ny, nan), std::vector<T>(nx, nan), std::vector<T>(nw, nan)};
  const T* const b = with_bias ? bias.data() : nullptr;
  const auto scratch = [](size_t bytes) { return std::vector<char>(bytes, static_cast<char>(0xff)); };
  if (way == kRows) {
    const RowsPlan f = rows_forward_plan(s);
    RowsPlan g;
    const int64_t taps = product(s.kernel, s.rank), in = s.in_channels / s.groups;
    if (f.work() > 0) {
      auto ws = scratch(rows_product_workspace<T>(f));
      rows_product<T>(f, x.data(), w.data(), in * taps, taps, b, r.y.data(), ws.data());
      ws = scratch(rows_weight_grad_workspace<T>(f));
      rows_weight_grad<T>(f, gy.data(), x.data(), r.gw.data(), ws.data());
    } else {
      r.y.clear(), r.gw.clear();
    }
    if (rows_input_grad_plan(s, &g) && g.work() > 0) {
      auto ws = scratch(rows_product_workspace<T>(g));
      rows_product<T>(g, gy.data(), w.data(), taps, in * taps, nullptr, r.gx.data(), ws.data());
    } else {
      r.gx.clear();
    }
  } else if (way == kGather) {
    auto ws = scratch(gather_forward_workspace<T>(s));
    gather_forward<T>(s, x.data(), w.data(), b, r.y.data(), ws.data());
    ws = scratch(gather_input_grad_workspace<T>(s));
    gather_input_grad<T>(s, gy.data(), w.data(), r.gx.data(), ws.data());
    ws = scratch(gather_weight_grad_workspace<T>(s));
    gather_weight_grad<T>(s, gy.data(), x.data(), r.gw.data(), ws.data());
  } else {
    auto ws = scratch(conv_forward_workspace<T>(s));
    conv_forward<T>(s, x.data(), w.data(), b, r.y.data(), ws.data());
    ws = scratch(conv_input_grad_workspace<T>(s));
    conv_input_grad<T>(s, gy.data(), w.data(), r.gx.data(), ws.data());
    ws = scratch(conv_weight_grad_workspace<T>(s));
    conv_weight_grad<T>(s, gy.data(), x.data(), r.gw.data(), ws.data());
  }
  return r;
}

template <class T>
void compare(const std::vector<T>& got, const std::vector<double>& sum, const std::vector<double>& size,
             const char* what, const ConvShape& s) {
  const double eps = sizeof(T) == 4 ? 2e-6 : 4e-15;
  for (size_t i = 0; i < got.size(); ++i)
    if (!(std::fabs(got[i] - sum[i]) <= eps * (size[i] + 1e-30))) {
      ADD_FAILURE() << what << " of " << text(s) << " at " << i << ": " << got[i] << " for " << sum[i];
      return;
    }
}

template <class T>
void check(const ConvShape& s, bool with_bias) {
  const Results<T> r = run<T>(s, with_bias), gather = run<T>(s, with_bias, kGather),
                   rows = run<T>(s, with_bias, kRows);
  const auto x = numbers<T>(static_cast<int64_t>(r.gx.size()), 1),
             w = numbers<T>(static_cast<int64_t>(r.gw.size()), 2),
             gy = numbers<T>(static_cast<int64_t>(r.y.size()), 3), bias = numbers<T>(s.out_channels, 4);
  std::vector<double> y(r.y.size()), ys(y.size()), gx(x.size()), gxs(x.size()), gw(w.size()), gws(w.size());
  const int64_t out = product(s.out, s.rank);
  if (with_bias)
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i / out % s.out_channels], ys[i] = std::fabs(y[i]);
  for_terms(s, [&](int64_t i, int64_t j, int64_t k) {
    const double a = static_cast<double>(x[i]) * w[j], b = static_cast<double>(gy[k]) * w[j],
                 c = static_cast<double>(gy[k]) * x[i];
    y[k] += a, ys[k] += std::fabs(a);
    gx[i] += b, gxs[i] += std::fabs(b);
    gw[j] += c, gws[j] += std::fabs(c);
  });
  // Winograd's error is that of its tile, not of the element: winograd_test.cpp holds it to the largest.
  if (!winograd_forward_pays(s)) compare(r.y, y, ys, "y", s);
  if (!winograd_input_grad_pays(s)) compare(r.gx, gx, gxs, "gx", s);
  if (!winograd_weight_grad_pays(s)) compare(r.gw, gw, gws, "gw", s);
  compare(gather.y, y, ys, "gathered y", s);
  compare(gather.gx, gx, gxs, "gathered gx", s);
  compare(gather.gw, gw, gws, "gathered gw", s);
  compare(rows.y, y, ys, "y from rows", s);
  compare(rows.gx, gx, gxs, "gx from rows", s);
  compare(rows.gw, gw, gws, "gw from rows", s);
}

void check_both(const ConvShape& s, bool with_bias = false) {
  check<float>(s, with_bias);
  check<double>(s, with_bias);
}

TEST(ConvKernel, ChannelsAndGroups) {
  for (int64_t c : {1, 2, 3, 4, 5, 8, 9})
    for (int64_t o : {1, 2, 3, 4, 5, 7, 8, 9, 65})
      check_both(make_shape(2, c, o, 1, {{5, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}), o % 2);
  for (int64_t g : {2, 3, 6, 18})
    for (int64_t cg : {1, 2, 3, 5})
      for (int64_t og : {1, 2, 3, 4, 5})
        check_both(make_shape(2, g * cg, g * og, g, {{5, 3, 1, 1, 1}, {6, 2, 2, 1, 0}}), og % 2);
}

TEST(ConvKernel, FewRows) {
  for (int64_t g : {15, 16, 17, 31, 32, 33, 65})
    for (int64_t og : {1, 2})
      check_both(make_shape(2, g, g * og, g, {{9, 3, 1, 1, 1}, {13, 3, 2, 1, 1}}), og == 1);
  for (int64_t c : {15, 16, 17, 33})
    for (int64_t o : {1, 2})
      check_both(make_shape(3, c * 2, o * 2, 2, {{9, 3, 1, 1, 1}, {13, 3, 2, 1, 1}}), o == 1);
  check_both(make_shape(1, 18, 18, 18, {{70, 50, 1, 9, 9}, {70, 52, 1, 9, 9}}));
}

TEST(ConvKernel, SizesStridesDilations) {
  for (int64_t in : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 65})
    for (int64_t kernel : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3, 4})
        for (int64_t dilation : {1, 2, 3})
          for (int64_t pad : {0, 1, 4}) {
            if (in + 2 * pad - dilation * (kernel - 1) < 1) continue;
            check<float>(make_shape(2, 2, 3, 1, {{in, kernel, stride, pad, pad, dilation}}), false);
            check<double>(make_shape(3, 3, 2, 1, {{in, kernel, stride, pad, pad / 2, dilation}}), true);
          }
}

TEST(ConvKernel, BlockEdges) {
  // Positions around a block, depth around a block of channels and of taps, rows around a block of rows.
  for (int64_t width : {63, 64, 65, 255, 256, 257, 511, 512, 513}) {
    check<float>(make_shape(1, 1, 5, 1, {{width, 3, 1, 1, 1}}), true);
    check<float>(make_shape(3, 2, 1, 1, {{width, 3, 2, 1, 1}}), true);
  }
  for (int64_t c : {63, 64, 65, 129})
    check<float>(make_shape(1, c, 6, 1, {{5, 3, 1, 1, 1}, {6, 3, 1, 1, 1}}), true);
  check_both(make_shape(1, 2, 3, 1, {{40, 25, 1, 3, 3}, {41, 26, 1, 3, 3}}), true);
  check_both(make_shape(2, 3, 130, 1, {{4, 3, 1, 1, 1}, {5, 3, 1, 1, 1}}), true);
  check_both(make_shape(1, 40, 66, 1, {{9, 3, 2, 1, 1}, {9, 3, 2, 1, 1}}));
  check_both(make_shape(1, 7, 2, 1, {{300, 5, 1, 2, 2}}));
  check_both(make_shape(50, 300, 6, 1, {{1, 1}}));
}

// Bands of rows: several an image, planes of leading axes, every phase of a stride, multipliers.
TEST(ConvKernel, Rows) {
  check_both(make_shape(2, 3, 5, 1, {{40, 3, 1, 1, 1}, {150, 3, 1, 1, 1}}), true);
  check_both(make_shape(1, 3, 16, 1, {{61, 7, 2, 3, 3}, {150, 7, 2, 3, 3}}), true);
  check_both(make_shape(1, 2, 2, 2, {{300, 3, 1, 1, 1}, {57, 3, 1, 1, 1}}), true);
  check_both(make_shape(2, 3, 6, 3, {{2, 1}, {3, 1}, {19, 5, 3, 2, 1, 2}, {23, 4, 3, 0, 2, 2}}), true);
  for (int64_t width : {1, 3, 7, 8, 9, 16, 17})
    for (int64_t stride : {1, 2, 3})
      check_both(make_shape(2, 4, 4, 4, {{6, 3, stride, 1, 0}, {width, 3, stride, 1, 1}}), width % 2);
  // A last panel of three lines, which have tiles of their own.
  for (int64_t width : {11, 12, 13, 20, 21, 23, 24, 33, 36})
    check_both(make_shape(1, 3, 7, 1, {{5, 3, 1, 1, 1}, {width, 3, 1, 1, 1}}), true);
}

// Taps of leading axes choose planes: some wholly in padding, with strides and dilations, groups, cropping.
TEST(ConvKernel, RowsOfFoldedPlanes) {
  const Axis a{4, 3, 1, 1, 1}, b{5, 3, 1, 1, 1}, c{6, 3, 1, 1, 1}, d{12, 3, 1, 1, 1};
  RowsPlan grad;
  ASSERT_TRUE(rows_input_grad_plan(make_shape(2, 8, 1, 1, {a, b, c, d}), &grad));
  const RowsPlan plan = rows_forward_plan(make_shape(2, 1, 8, 1, {a, b, c, d}));
  ASSERT_TRUE(rows_pay(plan, kLanes<float>) && rows_pay(grad, kLanes<float>) && rows_weight_grad_pays(plan));
  for (const int64_t channels : {1, 2, 3, 8, 9}) {
    check_both(make_shape(2, 1, channels, 1, {a, b, c, d}), true);
    check_both(make_shape(2, channels, 1, 1, {a, b, c, d}));
    check_both(make_shape(1, 2, channels * 2, 2, {b, c, {17, 3, 1, 1, 1}}), true);
  }
  check_both(make_shape(1, 16, 1, 1, {b, {40, 3, 1, 1, 1}, {35, 3, 1, 1, 1}}));  // several bands
  check_both(make_shape(2, 2, 3, 1, {{9, 3, 2, 2, 1}, {8, 2, 3, 0, 1, 2}, c, d}), true);
  check_both(make_shape(1, 1, 4, 1, {{3, 1, 1, 4, 5}, c, d}), true);
  check_both(make_shape(1, 2, 1, 1, {{9, 3, 1, -1, -2}, {7, 5, 1, 6, 0, 2}, c, d}));
}

// The kernels for depthwise 3x3: every side of an image, whether or not the image is wider than the padding.
TEST(ConvKernel, Depthwise) {
  const RowsPlan p = rows_forward_plan(make_shape(2, 33, 33, 33, {{5, 3}, {6, 3}}));
  ASSERT_TRUE(depthwise_fits(p) && depthwise_weight_grad_fits(p));
  for (int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16})
    for (int64_t lo : {0, 1, 2, 5})
      for (int64_t hi : {0, 1, 3}) {
        if (size + lo + hi < 3) continue;
        check_both(make_shape(1, 33, 33, 33, {{5, 3, 1, hi, lo}, {size, 3, 1, lo, hi}}), size % 2);
        check_both(make_shape(2, 3, 3, 3, {{size, 3, 1, lo, hi}, {7, 3, 1, 1, 1}}), true);
      }
  check_both(make_shape(3, 37, 37, 37, {{2, 1}, {4, 3, 1, 1, 1}, {9, 3, 1, 1, 1}}), true);
  check_both(make_shape(2, 40, 40, 40, {{9, 3, 1, -1, 0}, {11, 3, 1, 0, -2}}));
}

TEST(ConvKernel, AnyRank) {
  for (int rank = 1; rank <= 8; ++rank) {
    std::vector<Axis> axes;
    for (int i = 0; i < rank; ++i)
      axes.push_back({rank > 5 ? 2 + i % 2 : 4 - i % 2, 1 + (i + rank) % 2 + (rank < 5), 1 + i % 2, i % 2,
                      (i + 1) % 2, 1});
    check_both(make_shape(2, 4, 6, 2, axes), true);
  }
  check_both(make_shape(1, 3, 3, 3, {{6, 3, 1, 1, 1}, {5, 3, 2, 2, 0}, {7, 3, 1, 0, 1, 2}}), true);
}

TEST(ConvKernel, OddShapes) {
  check_both(make_shape(0, 3, 4, 1, {{5, 3}, {5, 3}}), true);              // no images
  check_both(make_shape(2, 0, 4, 1, {{5, 3}, {5, 3}}), true);              // no input channels
  check_both(make_shape(2, 3, 0, 1, {{5, 3}, {5, 3}}), true);              // no output channels
  check_both(make_shape(2, 3, 4, 1, {{2, 3}, {5, 3}}), true);              // no outputs
  check_both(make_shape(2, 3, 4, 1, {{0, 3, 1, 2, 2}, {5, 3}}), true);     // padding only
  check_both(make_shape(2, 3, 4, 1, {{7, 2, 5}, {8, 1, 3}}), true);        // stride beyond the kernel
  check_both(make_shape(2, 3, 4, 1, {{3, 1, 1, 4, 5}, {2, 2, 2, 5, 1}}));  // windows wholly in padding
  check_both(make_shape(2, 3, 4, 1,
                        {{9, 3, 4, 2, 2, 2}, {10, 3, 6, 1, 4, 3}}));  // stride and dilation share a factor
  check_both(make_shape(2, 3, 4, 1, {{9, 3, 1, -1, -2}}));            // cropping
}

template <class T>
std::vector<Results<T>> threaded_results() {
  std::vector<Results<T>> r;
  for (const ConvShape& s : {make_shape(4, 16, 24, 1, {{28, 3, 1, 1, 1}, {28, 3, 1, 1, 1}}),
                             make_shape(16, 1, 8, 1, {{28, 3, 1, 1, 1}, {28, 3, 2, 1, 1}}),
                             make_shape(1, 128, 130, 1, {{7, 3, 1, 1, 1}, {7, 3, 1, 1, 1}}),
                             make_shape(4, 48, 48, 48, {{20, 3, 1, 1, 1}, {20, 3, 2, 1, 1}}),
                             make_shape(4, 48, 48, 48, {{20, 3, 1, 1, 1}, {19, 3, 1, 1, 1}}),
                             make_shape(8, 4, 1, 1, {{30, 5, 1, 2, 2}, {33, 5, 1, 2, 2}}),
                             make_shape(2, 1, 8, 1, {{6, 3, 1, 1, 1}, {7, 3, 1, 1, 1}, {12, 3, 1, 1, 1}}),
                             make_shape(2, 8, 1, 1, {{6, 3, 1, 1, 1}, {7, 3, 1, 1, 1}, {12, 3, 1, 1, 1}})})
    r.push_back(run<T>(s, true));
  return r;
}

template <class T>
void same_on_any_threads() {
  const auto serial = threaded_results<T>();
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
  };
  for (int threads : {1, 2, 3, 4}) {
    parallel::start(threads);
    const auto r = threaded_results<T>();
    parallel::stop();
    for (size_t i = 0; i < r.size(); ++i)
      EXPECT_TRUE(same(r[i].y, serial[i].y) && same(r[i].gx, serial[i].gx) && same(r[i].gw, serial[i].gw))
          << i << " on " << threads;
  }
}
// What an image holds next to a row of outputs does not reach the weight's gradient.
TEST(ConvKernel, InfinityStaysWhereItIs) {
  for (const int64_t groups : {1, 32})
    for (const int64_t kernel : {1, 3}) {
      const ConvShape s = make_shape(1, groups, groups, groups, {{kernel, kernel}, {11, kernel, 1, 0, -1}});
      const int64_t width = s.out[1], taps = kernel * kernel;
      std::vector<float> x(static_cast<size_t>(groups * kernel * 11), 2.f);
      for (size_t i = 10; i < x.size(); i += 11) x[i] = INFINITY;
      std::vector<float> gy(static_cast<size_t>(groups * width), 1.f), gw(static_cast<size_t>(groups * taps));
      const RowsPlan p = rows_forward_plan(s);
      const auto expect_finite = [&] {
        for (float v : gw) EXPECT_EQ(v, 2.f * static_cast<float>(width));
      };
      std::vector<char> ws(conv_weight_grad_workspace<float>(s));
      conv_weight_grad<float>(s, gy.data(), x.data(), gw.data(), ws.data());
      expect_finite();
      ws.resize(rows_weight_grad_workspace<float>(p));
      rows_weight_grad<float>(p, gy.data(), x.data(), gw.data(), ws.data());
      expect_finite();
      ws.resize(gather_weight_grad_workspace<float>(s));
      gather_weight_grad<float>(s, gy.data(), x.data(), gw.data(), ws.data());
      expect_finite();
    }
}

TEST(ConvKernel, SameBitsOnAnyThreads) {
  same_on_any_threads<float>();
  same_on_any_threads<double>();
}

}  // namespace
}  // namespace omnigrad::kernels
