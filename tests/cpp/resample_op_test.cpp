// interpolate and pooling as ops: gradients of both orders meet forward, windows are PyTorch's, errors name
// the rule.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

using Mode = InterpolateOptions::Mode;

Tensor ramp(const Dims& shape, DType dtype = DType::float64) {
  std::vector<double> v(static_cast<size_t>(product(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>((i * 37) % 101) / 16 - 3;
  return cast(Tensor::from<double>(shape, v.data()), dtype);
}
std::vector<double> values(const Tensor& t) {
  const Tensor c = cast(t, DType::float64).contiguous();
  return {c.data<double>(), c.data<double>() + c.numel()};
}
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "";
}

InterpolateOptions to_size(const Dims& size, Mode mode, bool corners = false, bool antialias = false) {
  InterpolateOptions o;
  o.size = size;
  o.mode = mode;
  o.align_corners = corners;
  o.antialias = antialias;
  return o;
}

// The gradient of y[o] with respect to x is 1 at the pixel that y[o] was read from.
TEST(InterpolateOp, NearestGradientGoesWhereForwardRead) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (int64_t in = 1; in <= 128; ++in) {
      const Tensor x = arange(0, static_cast<double>(in), 1, dtype);
      for (int64_t out = 1; out <= 128; ++out) {
        Tensor image = reshape(x, {1, 1, in}).detach();
        image.set_requires_grad(true);
        const Tensor y = interpolate(image, to_size({out}, Mode::nearest));
        // sum over o of (o + 1) y[o]: the gradient at i is the sum of o + 1 over the outputs that read i.
        const Tensor weight = reshape(arange(1, static_cast<double>(out) + 1, 1, dtype), {1, 1, out});
        const auto got = values(grad({y}, {image}, {weight})[0]), read = values(y);
        std::vector<double> want(static_cast<size_t>(in));
        for (int64_t o = 0; o < out; ++o) {
          ASSERT_EQ(read[o], o * in / out);
          want[static_cast<size_t>(read[o])] += static_cast<double>(o + 1);
        }
        ASSERT_EQ(got, want) << in << " to " << out;
      }
    }
  }
}

// <A x, g> = <x, A' g>, and the gradient of a gradient is forward again.
TEST(InterpolateOp, SecondOrderIsForward) {
  for (const Mode mode : {Mode::nearest, Mode::nearest_exact, Mode::linear, Mode::cubic, Mode::lanczos3}) {
    for (const bool antialias : {false, true}) {
      const bool nearest = mode == Mode::nearest || mode == Mode::nearest_exact;
      const InterpolateOptions o = to_size({5, 9, 3}, mode, !nearest, antialias && !nearest);
      Tensor x = ramp({2, 1, 4, 5, 6}), g = ramp({2, 1, 5, 9, 3});
      x.set_requires_grad(true);
      g.set_requires_grad(true);
      const Tensor gx = grad({interpolate(x, o)}, {x}, {g}, {true, true, false})[0];
      const Tensor v = ramp({2, 1, 4, 5, 6}) * 0.5;
      EXPECT_EQ(values(grad({gx}, {g}, {v})[0]), values(interpolate(v, o)));
    }
  }
}

TEST(PoolOp, CeilModeKeepsWindowsOutOfPadding) {
  Tensor x = ramp({1, 1, 9, 9});
  x.set_requires_grad(true);
  MaxPoolOptions m;
  m.kernel_size = {4};
  m.padding = {{2}, false};
  m.ceil_mode = true;
  AvgPoolOptions a;
  a.kernel_size = {4};
  a.padding = {{2}, false};
  a.ceil_mode = true;
  a.count_include_pad = false;
  for (const Tensor& y : {max_pool(x, m)[0], avg_pool(x, a)}) {
    EXPECT_EQ(y.shape(), (Dims{1, 1, 3, 3}));
    for (const double v : values(y)) EXPECT_TRUE(v > -4 && v < 4);
  }
  for (const double v : values(avg_pool(ones({1, 1, 9, 9}, DType::float64), a))) EXPECT_EQ(v, 1);
}

TEST(PoolOp, UnbatchedInput) {
  const Tensor x = ramp({3, 7, 6});
  AvgPoolOptions a;
  a.kernel_size = {2, 3};
  const Tensor y = avg_pool(x, a), batched = avg_pool(reshape(x, {1, 3, 7, 6}), a);
  EXPECT_EQ(y.shape(), (Dims{3, 3, 2}));
  EXPECT_EQ(values(y), values(batched));
  MaxPoolOptions m;
  m.kernel_size = {2, 3};
  Tensor leaf = x.detach();
  leaf.set_requires_grad(true);
  const TensorList pooled = max_pool(leaf, m);
  EXPECT_EQ(pooled[1].dtype(), DType::int64);
  const auto gx = values(grad({pooled[0]}, {leaf}, {ones({3, 3, 2}, DType::float64)})[0]);
  double total = 0;
  for (const double v : gx) total += v;
  EXPECT_EQ(total, 18);
}

TEST(PoolOp, AdaptiveOfEqualPartsIsPlain) {
  const Tensor x = ramp({2, 3, 8, 6});
  AvgPoolOptions a;
  a.kernel_size = {4, 2};
  MaxPoolOptions m;
  m.kernel_size = {4, 2};
  EXPECT_EQ(values(adaptive_avg_pool(x, {2, 3})), values(avg_pool(x, a)));
  EXPECT_EQ(values(adaptive_max_pool(x, {2, 3})[1]), values(max_pool(x, m)[1]));
}

TEST(PoolOp, EmptyBatch) {
  const Tensor x = zeros({0, 3, 8, 8}, DType::float32);
  EXPECT_EQ(max_pool(x, {})[0].shape(), (Dims{0, 3, 4, 4}));
  EXPECT_EQ(avg_pool(x, {}).shape(), (Dims{0, 3, 4, 4}));
  EXPECT_EQ(interpolate(x, to_size({5}, Mode::cubic)).shape(), (Dims{0, 3, 5, 5}));
}

TEST(PoolOp, ErrorsSayTheRule) {
  const Tensor x = ramp({1, 2, 5, 5});
  const auto has = [](const std::string& message, const char* part) {
    return !message.empty() && message.find(part) != std::string::npos;
  };
  InterpolateOptions both = to_size({4}, Mode::linear);
  both.scale_factor = 2;
  EXPECT_TRUE(has(error_of([&] { interpolate(x, both); }),
                  "interpolate: needs either size or scaleFactor, not both"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, {}); }), "needs either size or scaleFactor"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, to_size({0}, Mode::linear)); }), "at least 1"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, to_size({4, 4, 4}, Mode::linear)); }), "size"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, to_size({4}, Mode::nearest, true)); }), "nearest"));
  EXPECT_TRUE(has(error_of([&] { interpolate(x, to_size({4}, Mode::trilinear)); }), "3"));
  EXPECT_TRUE(has(error_of([&] { interpolate(ramp({2, 3}), to_size({4}, Mode::linear)); }), "rank 2"));
  MaxPoolOptions m;
  m.padding = {{2}, false};
  EXPECT_TRUE(has(error_of([&] { max_pool(x, m); }), "half of the window"));
  m = {};
  m.kernel_size = {6};
  EXPECT_TRUE(has(error_of([&] { max_pool(x, m); }), "does not fit"));
  m = {};
  m.dilation = {2};
  m.padding = {{1}, false};
  EXPECT_TRUE(has(error_of([&] { max_pool(ramp({1, 1, 1}), m); }), "misses every element"));
  AvgPoolOptions a;
  a.stride = Dims{0};
  EXPECT_TRUE(has(error_of([&] { avg_pool(x, a); }), "avgPool: stride [0, 0] must be at least 1"));
  EXPECT_TRUE(has(error_of([&] { adaptive_avg_pool(x, {0}); }), "outputSize"));
}

}  // namespace
}  // namespace omnigrad
