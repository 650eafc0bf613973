// Deformable convolution as an op: the fused kernels and the composite are one function with one set of
// gradients, higher orders meet differences, errors name the rule.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "omnigrad/autograd.h"
#include "ops/deform_conv.h"
#include "support/compare.h"
#include "support/gradcheck.h"

namespace omnigrad {
namespace {

using test::Function;
using test::Gen;

struct Case {
  Dims x, weight;
  DeformConvOptions options;
  bool mask = true;
};
const Case kCases[] = {
    {{2, 4, 6}, {4, 2, 3}, {{1}, {1}, {1}, 2, 2}},
    {{2, 6, 5, 4}, {3, 2, 2, 3}, {{2, 1}, {1}, {1, 2}, 3, 2}, false},
    {{1, 4, 5, 6}, {3, 4, 3, 3}, {{1}, {1}, {1}, 1, 2}},
    {{2, 2, 3, 4, 3}, {2, 1, 2, 2, 1}, {{1}, {1, 0, 1}, {1}, 2, 1}},
};

// x, offset, weight and, where the case has one, mask. Offsets stay clear of integers unless `exact`.
TensorList inputs_of(const Case& c, DType dtype, bool exact = false) {
  Gen gen(11, dtype, true);
  const auto rank = static_cast<int64_t>(c.x.size()) - 2;
  const Dims stride = per_axis(c.options.stride, rank, ""), padding = per_axis(c.options.padding, rank, ""),
             dilation = per_axis(c.options.dilation, rank, "");
  int64_t taps = 1;
  Dims out;
  for (size_t i = 0; i < stride.size(); ++i) {
    taps *= c.weight[i + 2];
    out.push_back((c.x[i + 2] + 2 * padding[i] - dilation[i] * (c.weight[i + 2] - 1) - 1) / stride[i] + 1);
  }
  const auto with_out = [&](int64_t channels) {
    Dims shape{c.x[0], channels};
    shape.append(out.begin(), out.end());
    return shape;
  };
  const int64_t samples = c.options.offset_groups * taps;
  Tensor offset = gen.tensor(with_out(samples * rank), 0.1, 0.9);
  for (int64_t i = 0; i < offset.numel(); ++i) {
    const auto whole = static_cast<double>(gen.integer(-2, 1));
    visit_floating(dtype, [&]<class T>() {
      T& v = offset.data<T>()[i];
      v = static_cast<T>(exact ? whole : v + whole);
    });
  }
  TensorList in{gen.tensor(c.x), offset, gen.tensor(c.weight)};
  if (c.mask) in.push_back(gen.tensor(with_out(samples), 0.2, 1.5));
  return in;
}

Function fused(const Case& c) {
  return [&c](const TensorList& in) {
    return TensorList{deform_conv(in[0], in[1], in[2], {}, c.mask ? in[3] : Tensor(), c.options)};
  };
}
Function composite(const Case& c) {
  return [&c](const TensorList& in) {
    return TensorList{deform_conv_composite(in[0], in[1], in[2], c.mask ? in[3] : Tensor(), c.options)};
  };
}

TEST(DeformConvOp, FusedIsTheComposite) {
  for (const Case& c : kCases)
    for (DType dtype : {DType::float32, DType::float64})
      for (bool exact : {false, true}) {  // at exact integers both take the slope to the right
        const double tolerance = dtype == DType::float32 ? 1e-5 : 1e-13;
        const TensorList in = inputs_of(c, dtype, exact);
        const Tensor a = fused(c)(in)[0], b = composite(c)(in)[0];
        EXPECT_LE(test::relative_difference(a, b), tolerance);
        Gen gen(3, dtype, true);
        const Tensor gy = gen.tensor(a.shape());
        const TensorList ga = test::gradient(fused(c), in, {gy}), gb = test::gradient(composite(c), in, {gy});
        for (size_t i = 0; i < ga.size(); ++i)
          EXPECT_LE(test::relative_difference(ga[i], gb[i]), tolerance) << i;
      }
}

TEST(DeformConvOp, HigherOrdersMeetDifferences) {
  for (const Case& c : kCases) {
    const TensorList in = inputs_of(c, DType::float64);
    Gen gen(5, DType::float64, true);
    const TensorList gy = test::cotangents(fused(c), in, gen);
    TensorList v;
    for (const Tensor& t : in) v.push_back(gen.tensor(t.shape(), -1, 1));
    EXPECT_EQ(test::check_first_order(fused(c), in, gy), "");
    EXPECT_EQ(test::check_second_order(fused(c), in, gy, v), "");
    if (&c != &kCases[0]) continue;  // differences of second order are slow
    // Third order: the first-order gradients as a function of their own.
    const Function first = [&](const TensorList& x) {
      TensorList leaves;
      for (const Tensor& t : x) {
        leaves.push_back(t);
        if (!t.requires_grad()) leaves.back() = t.detach().set_requires_grad(true);
      }
      GradMode recording(true);
      return grad(fused(c)(leaves), leaves, gy, {.retain_graph = true, .create_graph = true});
    };
    const TensorList gg = test::cotangents(first, in, gen);
    EXPECT_EQ(test::check_second_order(first, in, gg, v), "");
  }
}

TEST(DeformConvOp, BiasAndMissingMask) {
  const Case& c = kCases[2];
  TensorList in = inputs_of(c, DType::float64);
  const Tensor bias = Gen(1, DType::float64, true).tensor({3});
  const Tensor y = deform_conv(in[0], in[1], in[2], bias, {}, c.options);
  const Tensor z = deform_conv(in[0], in[1], in[2], {}, ones(in[3].shape(), DType::float64), c.options);
  EXPECT_LE(test::relative_difference(y, z + reshape(bias, {1, 3, 1, 1})), 1e-14);
}

TEST(DeformConvOp, CoordinatesOutsideOrNotANumberCountAsZero) {
  const Case c{{1, 1, 2, 2}, {1, 1, 1, 1}, {}, false};
  for (double shift : {-7.0, 9.0, double(INFINITY), double(NAN)}) {
    const TensorList in{full({1, 1, 2, 2}, INFINITY, DType::float64),
                        full({1, 2, 2, 2}, shift, DType::float64), ones({1, 1, 1, 1}, DType::float64)};
    const Tensor gy = ones({1, 1, 2, 2}, DType::float64);
    for (const Function& f : {fused(c), composite(c)}) {
      EXPECT_TRUE(test::same_bits(f(in)[0], zeros({1, 1, 2, 2}, DType::float64))) << shift;
      EXPECT_TRUE(test::same_bits(test::gradient(f, in, {gy})[0], zeros({1, 1, 2, 2}, DType::float64)))
          << shift;
    }
  }
}

std::string error_of(const Dims& x, const Dims& offset, const Dims& weight, const Tensor& mask = {},
                     const DeformConvOptions& o = {}, const Tensor& bias = {}) {
  const auto z = [](const Dims& d) { return zeros(d, DType::float32); };
  try {
    deform_conv(z(x), z(offset), z(weight), bias, mask, o);
  } catch (const Error& e) {
    return e.message;
  }
  return "";
}

TEST(DeformConvOp, ErrorsNameTheRule) {
  const auto expect = [](const std::string& got, const char* part) {
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  EXPECT_EQ(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}), "");
  expect(error_of({2, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}), "one to three axes");
  expect(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3}), "input has rank 4");
  expect(error_of({1, 3, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}), "input has 3 channels but weight [3, 2, 3, 3]");
  expect(error_of({1, 2, 4, 4}, {1, 9, 2, 2}, {3, 2, 3, 3}), "offset [1, 9, 2, 2] must be [1, 18, 2, 2]");
  expect(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}, zeros({1, 8, 2, 2}, DType::float32)),
         "mask [1, 8, 2, 2]");
  expect(error_of({1, 2, 4, 2}, {1, 18, 2, 2}, {3, 2, 3, 3}), "kernel reaches over 3");
  expect(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}, {}, {{0}}), "stride");
  expect(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}, {}, {{1}, {0}, {1}, 1, 3}), "offsetGroups 3");
  expect(error_of({1, 2, 4, 4}, {1, 18, 2, 2}, {3, 2, 3, 3}, {}, {}, zeros({2}, DType::float32)),
         "bias [2] must be [3]");
}

}  // namespace
}  // namespace omnigrad
