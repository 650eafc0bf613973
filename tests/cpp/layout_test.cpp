// An op's result does not depend on how its inputs lie in memory; empty and rank-0 inputs give a result or a
// clean error.
#include <gtest/gtest.h>

#include "omnigrad/autograd.h"
#include "support/compare.h"
#include "support/gradcheck.h"
#include "support/per_op.h"

namespace omnigrad::test {
namespace {

class OpLayout : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Op, OpLayout, testing::ValuesIn(op_names(false)), OpName());
class GradientLayout : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Op, GradientLayout, testing::ValuesIn(op_names(true)), OpName());

// What a call gives: its outputs, and the inputs that it wrote.
TensorList results(const Call& call, const TensorList& inputs) {
  TensorList out = call.run(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (call.input(i).mutated) out.push_back(inputs[i]);
  }
  return out;
}

template <class F>
TensorList map(const TensorList& in, const F& f) {
  TensorList out;
  for (const Tensor& t : in) out.push_back(t.defined() ? f(t) : t);
  return out;
}

// True where the op refuses this layout: allowed for what it writes in place, and for a matrix that has
// become singular.
bool refused(const Call& call, const TensorList& inputs, TensorList& out) {
  try {
    out = results(call, inputs);
    return false;
  } catch (const Error& e) {
    EXPECT_TRUE(call.mutates() || e.code == Code::numeric) << call.text() << ": " << e.what();
    return true;
  }
}

TEST_P(OpLayout, ViewsGiveTheBitsOfContiguousCopies) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Call call = sample(GetParam(), seed, seed % 2 ? DType::float32 : DType::float64, seed % 3 == 0);
    const TensorList expected = results(call, map(call.inputs, copy_of));
    for (Layout layout : kLayouts) {
      TensorList out;
      if (refused(call, map(call.inputs, [&](const Tensor& t) { return with_layout(t, layout); }), out))
        continue;
      ASSERT_TRUE(same_bits(out, expected)) << call.text() << " layout " << static_cast<int>(layout);
    }
  }
}

// Not of what is written in place: no op makes such a view, and stride 0 is refused there.
TEST_P(OpLayout, OverlappingViewsGiveTheBitsOfContiguousCopies) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Call call = sample(GetParam(), seed, seed % 2 ? DType::float32 : DType::float64, true);
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (!call.inputs[i].defined() || call.inputs[i].rank() < 2 || call.input(i).mutated) continue;
      TensorList shared = map(call.inputs, copy_of);
      shared[i] = overlapping(call.inputs[i]);
      const TensorList plain = map(shared, copy_of);
      TensorList out;
      if (refused(call, shared, out)) continue;
      ASSERT_TRUE(same_bits(out, results(call, plain))) << call.text() << " input " << i;
    }
  }
}

TEST_P(OpLayout, StrideZeroGivesTheBitsOfContiguousCopies) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Call call = sample(GetParam(), seed, seed % 2 ? DType::float32 : DType::float64, true);
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      for (int64_t dim = 0; call.inputs[i].defined() && dim < call.inputs[i].rank(); ++dim) {
        TensorList repeated = map(call.inputs, copy_of);
        repeated[i] = stride_zero(call.inputs[i], dim);
        const TensorList plain = map(repeated, copy_of);
        TensorList out;
        if (refused(call, repeated, out)) continue;
        ASSERT_TRUE(same_bits(out, results(call, plain))) << call.text() << " input " << i << " axis " << dim;
      }
    }
  }
}

TEST_P(GradientLayout, ViewsGiveTheBitsOfContiguousCopies) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Call call = sample(GetParam(), seed, DType::float64, true);
    const Differentiable d = differentiable(call);
    Gen gen(seed, DType::float64, true);
    const TensorList gy = cotangents(d.f, d.x, gen), expected = gradient(d.f, d.x, gy);
    for (Layout layout : kLayouts) {
      const auto view = [&](const Tensor& t) { return with_layout(t, layout); };
      ASSERT_TRUE(same_bits(gradient(d.f, map(d.x, view), map(gy, view)), expected))
          << call.text() << " layout " << static_cast<int>(layout);
    }
    // A cotangent that was expanded, as sum's is.
    for (size_t k = 0; k < gy.size(); ++k) {
      if (gy[k].rank() == 0) continue;
      TensorList flat = gy;
      flat[k] = stride_zero(gy[k], 0);
      ASSERT_TRUE(same_bits(gradient(d.f, d.x, flat), gradient(d.f, d.x, map(flat, copy_of)))) << call.text();
    }
  }
}

// Runs what may be valid or not: a result, forward and backward, or an error that names the op.
void run_anything(const Call& call) {
  try {
    const Differentiable d = differentiable(call);
    const bool differentiate = has_gradient(call.op()) && !d.x.empty();
    if (!differentiate) {
      results(call, map(call.inputs, copy_of));
      return;
    }
    Gen gen(1, DType::float64, true);
    const TensorList gy = cotangents(d.f, d.x, gen);
    if (gy.empty()) return;
    const TensorList g = gradient(d.f, d.x, gy);
    for (size_t i = 0; i < g.size(); ++i) {
      if (g[i].defined()) EXPECT_EQ(g[i].shape(), d.x[i].shape()) << call.text();
    }
  } catch (const Error& e) {
    if (e.code != Code::numeric) EXPECT_EQ(e.op, call.op().name) << call.text() << ": " << e.what();
  }
}

TEST_P(OpLayout, EmptyAndRankZeroInputsGiveAResultOrAnError) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Call call = sample(GetParam(), seed, DType::float64, true);
    for (size_t i = 0; i <= call.inputs.size(); ++i) {  // one input, or all
      const auto change = [&](const auto& to) {
        Call c = call;
        for (size_t k = 0; k < c.inputs.size(); ++k) {
          if ((k == i || i == c.inputs.size()) && c.inputs[k].defined()) c.inputs[k] = to(c.inputs[k]);
        }
        run_anything(c);
      };
      change([](const Tensor& t) { return Tensor::zeros({}, t.dtype()); });
      change([](const Tensor& t) { return Tensor::zeros({0}, t.dtype()); });
      for (size_t axis = 0; axis < 4; ++axis) {
        change([&](const Tensor& t) {
          Dims shape = t.shape();
          if (axis < shape.size()) shape[axis] = 0;
          return Tensor::zeros(shape, t.dtype());
        });
      }
    }
  }
}

}  // namespace
}  // namespace omnigrad::test
