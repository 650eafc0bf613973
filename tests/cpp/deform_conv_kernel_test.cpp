// Deformable convolution's kernels against a plain double definition, at tile and block edges, and bit for
// bit on one to four threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/deform_conv.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

struct Case {
  int rank;
  int64_t batch, channels, out_channels;
  std::vector<int64_t> size, kernel;
  int64_t stride = 1, padding = 1, dilation = 1, groups = 1, offset_groups = 1;
  bool mask = true, bias = true;
};

DeformConvSizes sizes_of(const Case& c) {
  DeformConvSizes s;
  s.rank = c.rank;
  s.batch = c.batch, s.channels = c.channels, s.out_channels = c.out_channels;
  s.groups = c.groups, s.offset_groups = c.offset_groups;
  for (int i = 0; i < c.rank; ++i) {
    s.size[i] = c.size[i], s.kernel[i] = c.kernel[i];
    s.stride[i] = c.stride, s.padding[i] = c.padding, s.dilation[i] = c.dilation;
    s.out[i] = (c.size[i] + 2 * c.padding - c.dilation * (c.kernel[i] - 1) - 1) / c.stride + 1;
  }
  return s;
}

template <class T>
std::vector<T> numbers(int64_t n, uint32_t seed, double scale) {
  std::vector<T> v(n);
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>((static_cast<int>(seed >> 16) % 4096 - 2048) / 2048.0 * scale);
  }
  return v;
}

template <class T>
struct Data {
  std::vector<T> x, offset, weight, mask, bias, gy;
  Data(const DeformConvSizes& s, const Case& c) {
    const int64_t samples = s.batch * s.offset_groups * s.taps() * s.positions();
    x = numbers<T>(s.batch * s.channels * s.pixels(), 1, 1);
    offset = numbers<T>(samples * s.rank, 2, 2.5);
    for (size_t i = 0; i < offset.size(); i += 7) offset[i] = std::floor(offset[i]);  // exact integers too
    weight = numbers<T>(s.out_channels * (s.channels / s.groups) * s.taps(), 3, 1);
    if (c.mask) mask = numbers<T>(samples, 4, 1);
    if (c.bias) bias = numbers<T>(s.out_channels, 5, 1);
    gy = numbers<T>(s.batch * s.out_channels * s.positions(), 6, 1);
  }
};

struct Naive {
  std::vector<double> y, x, offset, weight, mask;
};

// The definition, one sample at a time: values, and all gradients of sum(y * gy).
template <class T>
Naive naive(const DeformConvSizes& s, const Data<T>& d) {
  const int64_t P = s.positions(), K = s.taps(), per_group = s.channels / s.groups,
                outs = s.out_channels / s.groups;
  const int64_t per_offset = s.channels / s.offset_groups, corners = int64_t{1} << s.rank;
  Naive r{std::vector<double>(d.gy.size()), std::vector<double>(d.x.size()),
          std::vector<double>(d.offset.size()), std::vector<double>(d.weight.size()),
          std::vector<double>(d.mask.size())};
  for (size_t i = 0; i < r.y.size() && !d.bias.empty(); ++i) r.y[i] = d.bias[i / P % s.out_channels];
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t k = 0; k < K; ++k)
        for (int64_t p = 0; p < P; ++p) {
          const int64_t tap = (n * s.offset_groups + c / per_offset) * K + k;
          double at[3], fraction[3];
          int64_t low[3];
          bool inside = true;
          for (int64_t i = s.rank - 1, rest_p = p, rest_k = k; i >= 0; --i) {
            const int64_t base =
                rest_p % s.out[i] * s.stride[i] - s.padding[i] + rest_k % s.kernel[i] * s.dilation[i];
            rest_p /= s.out[i], rest_k /= s.kernel[i];
            at[i] = static_cast<T>(base) + d.offset[(tap * s.rank + i) * P + p];
            inside = inside && at[i] > -1 && at[i] < static_cast<double>(s.size[i]);
            low[i] = static_cast<int64_t>(std::floor(at[i]));
            fraction[i] = at[i] - static_cast<double>(low[i]);
          }
          const double m = d.mask.empty() ? 1 : d.mask[tap * P + p];
          double value = 0, slope[3] = {0, 0, 0}, g = 0;
          const int64_t first = c / per_group * outs;
          for (int64_t o = first; o < first + outs; ++o)
            g += d.weight[(o * per_group + c % per_group) * K + k] * d.gy[(n * s.out_channels + o) * P + p];
          for (int64_t corner = 0; corner < corners && inside; ++corner) {
            int64_t index = 0;
            double weight = 1, part[3];
            bool exists = true;
            for (int i = 0; i < s.rank; ++i) {
              const int64_t up = corner >> i & 1, j = low[i] + up;
              exists = exists && j >= 0 && j < s.size[i];
              index = index * s.size[i] + j;
              part[i] = up ? fraction[i] : 1 - fraction[i];
              weight *= part[i];
            }
            if (!exists) continue;
            const int64_t pixel = (n * s.channels + c) * s.pixels() + index;
            value += weight * d.x[pixel];
            r.x[pixel] += weight * m * g;
            for (int i = 0; i < s.rank; ++i) {
              double w = corner >> i & 1 ? 1 : -1;
              for (int j = 0; j < s.rank; ++j) w *= j == i ? 1 : part[j];
              slope[i] += w * d.x[pixel];
            }
          }
          for (int i = 0; i < s.rank; ++i) r.offset[(tap * s.rank + i) * P + p] += slope[i] * m * g;
          if (!d.mask.empty()) r.mask[tap * P + p] += value * g;
          for (int64_t o = first; o < first + outs; ++o) {
            const int64_t w = (o * per_group + c % per_group) * K + k, y = (n * s.out_channels + o) * P + p;
            r.y[y] += d.weight[w] * value * m;
            r.weight[w] += value * m * d.gy[y];
          }
        }
  return r;
}

template <class T>
void expect_close(const char* what, const std::vector<T>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1;
  for (double w : want) largest = std::max(largest, std::fabs(w));
  const double tolerance = largest * (sizeof(T) == 4 ? 2e-5 : 1e-13);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << what << " at " << i;
}

template <class T>
struct Results {
  std::vector<T> y, x, offset, weight, mask;
};

template <class T>
T* pointer(std::vector<T>& v) {
  return v.empty() ? nullptr : v.data();
}

// Which gradients are asked for: bits 1 x, 2 offset, 4 weight, 8 mask.
template <class T>
Results<T> run(const DeformConvSizes& s, Data<T>& d, int wanted = 15) {
  const auto fill = [](const std::vector<T>& like, bool want) {
    return std::vector<T>(want ? like.size() : 0, T(NAN));
  };
  Results<T> r{fill(d.gy, true), fill(d.x, wanted & 1), fill(d.offset, wanted & 2),
               fill(d.weight, wanted & 4), fill(d.mask, wanted & 8)};
  // A workspace full of NaN: nothing may be read before it is written.
  std::vector<double> workspace(std::max(deform_conv_workspace<T>(s), deform_conv_grad_workspace<T>(s)) / 8 +
                                1);
  std::memset(workspace.data(), 0xff, workspace.size() * 8);
  deform_conv<T>(s, d.x.data(), d.offset.data(), d.weight.data(), pointer(d.mask), pointer(d.bias),
                 r.y.data(), workspace.data());
  std::memset(workspace.data(), 0xff, workspace.size() * 8);
  deform_conv_grad<T>(s, d.x.data(), d.offset.data(), d.weight.data(), pointer(d.mask), d.gy.data(),
                      {pointer(r.x), pointer(r.offset), pointer(r.weight), pointer(r.mask)},
                      workspace.data());
  return r;
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
void check(const Case& c) {
  const DeformConvSizes s = sizes_of(c);
  Data<T> d(s, c);
  const Results<T> got = run(s, d);
  const Naive want = naive(s, d);
  expect_close("y", got.y, want.y);
  expect_close("gx", got.x, want.x);
  expect_close("goffset", got.offset, want.offset);
  expect_close("gweight", got.weight, want.weight);
  expect_close("gmask", got.mask, want.mask);
  for (int wanted : {1, 2, 4, 8, 11}) {  // what else is asked for never changes a bit
    const Results<T> some = run(s, d, wanted);
    if (wanted & 1) EXPECT_TRUE(same(some.x, got.x));
    if (wanted & 2) EXPECT_TRUE(same(some.offset, got.offset));
    if (wanted & 4) EXPECT_TRUE(same(some.weight, got.weight));
    if (wanted & 8) EXPECT_TRUE(same(some.mask, got.mask));
  }
}

// rank, batch, channels, out channels, size, kernel, stride, padding, dilation, groups, offset groups, mask,
// bias
const Case kCases[] = {
    {2, 1, 1, 1, {1, 1}, {1, 1}, 1, 0},
    {2, 2, 3, 5, {7, 6}, {3, 3}},
    {2, 2, 4, 4, {8, 8}, {3, 3}, 1, 1, 1, 1, 1, false, false},
    {2, 1, 8, 8, {9, 7}, {3, 2}, 2, 1, 1, 2, 2},
    {2, 3, 6, 4, {6, 9}, {2, 3}, 1, 2, 2, 2, 3},                // groups of channels that cross: 3 and 2
    {2, 2, 12, 6, {5, 5}, {3, 3}, 1, 1, 1, 3, 2, true, false},  // 4 and 6
    {2, 2, 7, 7, {6, 5}, {3, 3}, 1, 1, 1, 7, 1},                // depthwise
    {2, 1, 33, 9, {13, 11}, {3, 3}},                            // just over a slab
    {2, 5, 66, 4, {4, 5}, {1, 1}, 1, 0, 1, 2, 1},               // images that do not divide into the blocks
    {2, 2, 6, 12, {6, 9}, {2, 3}, 1, 2, 2, 6, 3},               // depthwise, two outputs a channel
    {2, 1, 37, 37, {9, 9}, {3, 3}, 1, 1, 1, 37, 1},             // depthwise, more than a slab
    {1, 2, 5, 5, {11}, {3}, 2, 1, 1, 5, 5},                     // depthwise, offsets for each channel
    {2, 1, 70, 10, {9, 9}, {3, 3}, 1, 1, 1, 5, 2},  // offset groups with different numbers of slabs
    {2, 1, 300, 4, {5, 5}, {3, 3}},                 // many taps' blocks, many parts
    {1, 2, 5, 6, {70}, {3}},
    {1, 1, 4, 8, {130}, {5}, 1, 2, 1, 2, 2},
    {3, 1, 4, 4, {4, 5, 6}, {2, 3, 2}},
    {3, 2, 6, 3, {5, 4, 5}, {3, 3, 3}, 2, 1, 1, 3, 2},
};

TEST(DeformConvKernel, AgreesWithDefinition) {
  for (size_t i = 0; i < std::size(kCases); ++i) {
    SCOPED_TRACE(i);
    check<float>(kCases[i]);
    check<double>(kCases[i]);
    if (HasFatalFailure()) return;
  }
}

TEST(DeformConvKernel, EverySmallWidth) {
  for (int64_t c = 1; c <= 9; ++c)
    for (int64_t o : {1, 3, 4, 5}) {
      SCOPED_TRACE(testing::Message() << c << " channels, " << o << " outputs");
      check<float>({2, 1, c, o, {8, 1 + c}, {3, 3}});
      if (HasFatalFailure()) return;
    }
  for (int64_t width = 1; width <= 20; ++width) check<float>({1, 1, 4, 4, {60 + width}, {3}});
}

template <class T>
void check_threads(const Case& c) {
  const DeformConvSizes s = sizes_of(c);
  Data<T> d(s, c);
  const Results<T> one = run(s, d);
  for (int threads = 2; threads <= 4; ++threads) {
    parallel::start(threads);
    const Results<T> many = run(s, d);
    parallel::stop();
    EXPECT_TRUE(same(one.y, many.y) && same(one.x, many.x) && same(one.offset, many.offset) &&
                same(one.weight, many.weight) && same(one.mask, many.mask))
        << threads << " threads";
  }
}

TEST(DeformConvKernel, SameBitsOnAnyThreads) {
  for (const Case& c :
       {Case{2, 3, 20, 9, {11, 13}, {3, 3}}, Case{2, 1, 130, 8, {9, 9}, {3, 3}, 1, 1, 1, 2, 1},
        Case{3, 1, 6, 4, {5, 6, 5}, {3, 2, 2}}}) {
    check_threads<float>(c);
    check_threads<double>(c);
  }
}

TEST(DeformConvKernel, InfinityBesideTheImageStaysOut) {
  // The sample lies outside, at the corner pixel's side: its value is 0, not 0 * infinity.
  const Case c{2, 1, 1, 1, {2, 2}, {1, 1}, 1, 0, 1, 1, 1, false, false};
  const DeformConvSizes s = sizes_of(c);
  Data<float> d(s, c);
  d.x = {INFINITY, 1, 1, 1};
  std::fill(d.offset.begin(), d.offset.end(), -5.0f);
  const Results<float> r = run(s, d);
  for (float y : r.y) EXPECT_EQ(y, 0);
  for (float g : r.x) EXPECT_EQ(g, 0);
}

TEST(DeformConvKernel, NoImages) {
  const Case c{2, 0, 4, 4, {5, 5}, {3, 3}};
  const DeformConvSizes s = sizes_of(c);
  Data<float> d(s, c);
  const Results<float> r = run(s, d);
  for (float g : r.weight) EXPECT_EQ(g, 0);
}

}  // namespace
}  // namespace omnigrad::kernels
