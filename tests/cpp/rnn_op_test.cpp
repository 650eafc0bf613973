// rnn, lstm and gru beyond the golden cases: sequences of different lengths, layouts, missing parts, errors.
// Their gradients are held against differences in gradcheck_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "support/compare.h"
#include "support/gradcheck.h"

namespace omnigrad {
namespace {

using test::Call;
using test::Gen;

struct Layers {
  const char* name;
  int64_t gates;
  bool lstm() const { return gates == 4; }
};
const Layers kLayers[] = {{"rnn", 1}, {"lstm", 4}, {"gru", 3}};

// Two layers in both directions, five steps of three sequences.
struct Model {
  Layers layers;
  TensorList weights;
  Tensor x, h0, c0;
  explicit Model(const Layers& l) : layers(l) {
    Gen gen(21, DType::float64, true);
    const int64_t rows = l.gates * 3;
    for (int64_t i = 0; i < 4; ++i) {
      weights.push_back(gen.tensor({rows, i < 2 ? 2 : 6}, -1, 1));
      weights.push_back(gen.tensor({rows, 3}, -1, 1));
      weights.push_back(gen.tensor({rows}, -1, 1));
      weights.push_back(gen.tensor({rows}, -1, 1));
    }
    x = gen.tensor({5, 3, 2}), h0 = gen.tensor({4, 3, 3});
    if (l.lstm()) c0 = gen.tensor({4, 3, 3});
  }
  Call call(const Tensor& sequence, const Tensor& h, const Tensor& c, const Tensor& lengths) const {
    TensorList in{sequence, h};
    if (layers.lstm()) in.push_back(c);
    in.push_back(lengths);
    in.append(weights.begin(), weights.end());
    return Call(layers.name, in).set("numLayers", int64_t{2}).set("bidirectional", true);
  }
};
Tensor ints(std::initializer_list<int64_t> v) {
  return Tensor::from({static_cast<int64_t>(v.size())}, v.begin());
}

// Packed: each sequence gives what it gives alone, cut to its length; y is 0 beyond.
TEST(RnnOp, LengthsAreSequencesAlone) {
  for (const Layers& l : kLayers) {
    const Model m(l);
    const Tensor lengths = ints({5, 2, 3});
    const TensorList all = m.call(m.x, m.h0, m.c0, lengths).run();
    for (int64_t n = 0; n < 3; ++n) {
      const auto steps = static_cast<int64_t>(test::element(lengths, n));
      const auto one = [&](const Tensor& t) { return t ? slice(t, 1, n, n + 1) : t; };
      const TensorList alone = m.call(slice(one(m.x), 0, 0, steps), one(m.h0), one(m.c0), {}).run();
      EXPECT_LE(test::relative_difference(slice(one(all[0]), 0, 0, steps), alone[0]), 1e-14) << l.name;
      for (size_t k = 1; k < all.size(); ++k)
        EXPECT_LE(test::relative_difference(one(all[k]), alone[k]), 1e-14) << l.name << n;
      const Tensor rest = slice(one(all[0]), 0, steps, 5);
      for (int64_t i = 0; i < rest.numel(); ++i) EXPECT_EQ(test::element(rest.contiguous(), i), 0);
    }
    // What lies beyond a sequence's end is never looked at.
    Tensor other = test::copy_of(m.x);
    for (int64_t i = 0; i < 2; ++i) other.data<double>()[(4 * 3 + 1) * 2 + i] = 1e6;
    EXPECT_TRUE(test::same_bits(m.call(other, m.h0, m.c0, lengths).run(), all)) << l.name;
  }
}

// The fused recurrence against the path for lengths, which goes step by step in differentiable ops: values
// and first gradients, with hidden units and samples left over of tiles.
void check_fused(const Layers& l, DType dtype, int64_t hidden, int64_t batch, double close) {
  Gen gen(5, dtype, true);
  TensorList in{gen.tensor({7, batch, 5}), gen.tensor({2, batch, hidden})};
  if (l.lstm()) in.push_back(gen.tensor({2, batch, hidden}));
  const size_t lengths = in.size();
  in.push_back(Tensor());
  for (int direction = 0; direction < 2; ++direction) {
    in.push_back(gen.tensor({l.gates * hidden, 5}, -0.5, 0.5));
    in.push_back(gen.tensor({l.gates * hidden, hidden}, -0.5, 0.5));
    for (int k = 0; k < 2; ++k) in.push_back(gen.tensor({l.gates * hidden}, -0.5, 0.5));
  }
  TensorList leaves;
  for (Tensor& t : in)
    if (t) leaves.push_back(t.set_requires_grad(true));
  const auto run = [&](const Tensor& steps) {
    TensorList all = in;
    all[lengths] = steps;
    TensorList y = Call(l.name, all).set("bidirectional", true).run(), g, out = y;
    Gen seeds(6, dtype, true);
    for (const Tensor& t : y) g.push_back(seeds.tensor(t.shape()));
    for (const Tensor& t : grad(y, leaves, g)) out.push_back(t);
    return out;
  };
  const Tensor full = Tensor::empty({batch}, DType::int64);
  for (int64_t n = 0; n < batch; ++n) full.data<int64_t>()[n] = 7;
  const TensorList fused = run({}), stepwise = run(full);
  for (size_t i = 0; i < fused.size(); ++i)
    EXPECT_LE(test::relative_difference(fused[i], stepwise[i]), close) << l.name << " " << hidden << " " << i;
}
TEST(RnnOp, FusedIsStepByStep) {
  for (const Layers& l : kLayers)
    for (const int64_t hidden : {3, 8, 19}) {
      check_fused(l, DType::float64, hidden, 6, 1e-13);
      check_fused(l, DType::float32, hidden, 9, 2e-5);
    }
}

TEST(RnnOp, LayoutsAndMissingParts) {
  for (const Layers& l : kLayers) {
    const Model m(l);
    const TensorList all = m.call(m.x, m.h0, m.c0, {}).run();
    ASSERT_EQ(all.size(), l.lstm() ? 3u : 2u);
    EXPECT_EQ(all[0].shape(), (Dims{5, 3, 6}));
    EXPECT_EQ(all[1].shape(), (Dims{4, 3, 3}));
    Call first = m.call(transpose(m.x, 0, 1), m.h0, m.c0, {});
    EXPECT_TRUE(
        test::same_bits(transpose(first.set("batchFirst", true).run()[0], 0, 1).contiguous(), all[0]));
    const Tensor zero = Tensor::zeros({4, 3, 3}, DType::float64);
    EXPECT_TRUE(test::same_bits(m.call(m.x, zero, zero, {}).run(), m.call(m.x, {}, {}, {}).run()));
    // One sequence without a batch.
    const auto cut = [](const Tensor& t) { return t ? squeeze(slice(t, 1, 0, 1), 1) : t; };
    const TensorList one = m.call(cut(m.x), cut(m.h0), cut(m.c0), {}).run();
    EXPECT_EQ(one[0].shape(), (Dims{5, 6}));
    EXPECT_EQ(one[1].shape(), (Dims{4, 3}));
    EXPECT_LE(test::relative_difference(one[0], cut(all[0])), 1e-15);
  }
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message;
  }
  return "";
}
TEST(RnnOp, Errors) {
  const Model m(kLayers[2]);
  const auto has = [](Call c, const std::string& part) {
    const std::string message = message_of([&] { c.run(); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(m.call(m.x, m.h0, {}, {}).set("numLayers", int64_t{3}),
      "gru: got 16 weights, it takes 4 for each of 3 layers");
  has(m.call(m.x, {}, {}, ints({5, 0, 3})), "gru: lengths has 0, it must be in [1, 5]");
  has(m.call(m.x, m.x, {}, {}), "gru: h0 [5, 3, 2] must be [4, 3, 3]");
  Call wrong = m.call(m.x, {}, {}, {});
  wrong.inputs[8] = Tensor::zeros({9, 2}, DType::float64);
  has(wrong, "gru: weightHh of layer 0 [9, 2] must be [9, 3]");
  has(m.call(Tensor::zeros({0, 3, 2}, DType::float64), {}, {}, {}), "has no step of time");
}

}  // namespace
}  // namespace omnigrad
