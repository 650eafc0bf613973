// The gradient check over the schema: every op that has a gradient, first to third order, against
// differences in float64; float32 against float64; and that a vjp which saves a differentiable value as a
// constant would be noticed.
#include "support/gradcheck.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "omnigrad/autograd.h"
#include "support/compare.h"
#include "support/per_op.h"

namespace omnigrad::test {
namespace {

constexpr uint64_t kSamples = 14;

class Gradcheck : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Op, Gradcheck, testing::ValuesIn(op_names(true)), OpName());

// A float64 sample away from kinks with all that a check needs.
struct Case {
  Call call;
  Differentiable d;
  Gen gen;
  TensorList gy, v;

  Case(const std::string& op, uint64_t seed, DType dtype = DType::float64)
      : call(sample(op, seed, dtype, true)), d(differentiable(call)), gen(seed + 1000, dtype, true) {
    gy = cotangents(d.f, d.x, gen);
    for (const Tensor& t : d.x) v.push_back(gen.tensor(t.shape(), -1, 1, dtype));
  }
  bool empty() const { return d.x.empty() || gy.empty(); }
};

TEST_P(Gradcheck, FirstOrder) {
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    const Case c(GetParam(), seed);
    ASSERT_FALSE(c.empty()) << c.call.text();
    ASSERT_EQ(check_first_order(c.d.f, c.d.x, c.gy), "") << c.call.text();
  }
}

TEST_P(Gradcheck, SecondOrder) {
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    const Case c(GetParam(), seed);
    ASSERT_EQ(check_second_order(c.d.f, c.d.x, c.gy, c.v), "") << c.call.text();
  }
}

// Ops whose third derivative in their inputs is 0 wherever there is one, and why. Of all others it is checked
// that it is not 0: a check of zeros would say nothing.
constexpr std::pair<const char*, const char*> kWithoutThirdOrder[] = {
    {"linear",
     "add adaptiveAvgPool affineGrid alias alphaDropout avgPool cast cat clone cumsum dft diagonal "
     "dropout dropoutMap embedding expand featureDropout fft fft2 fftn flip fold gather "
     "gaussianNoise ifft ifft2 ifftn index indexAdd indexPut indexSelect interpolate irfft irfft2 "
     "irfftn maskedFill maskedSelect maxPool2x2Grad maxUnpool mean meshgrid neg pad padConstant permute "
     "pixelShuffle pixelUnshuffle planeGather planeScatter reluGrad repeat resample "
     "resampleAdjoint reshape rfft rfft2 rfftn roll rotaryEmbedding scatter scatterAdd slice "
     "sliceScatter split stack sub sum takeAlongDim tile tril triu unfold where"},
    {"piecewise linear",
     "abs adaptiveMaxPool amax amin clamp cummax cummin fmod frac hardshrink hardsigmoid hardtanh "
     "hingeEmbeddingLoss kthvalue l1Loss leakyRelu maxPool maximum median minimum relu relu6 "
     "remainder rrelu maxPool2x2 maxPoolWindows softshrink sort threshold topk"},
    {"steps", "ceil floor floorDivide round sign trunc"},
    {"bilinear",
     "addmm bmm conv convInputGrad convTranspose convWeightGrad cross dot embeddingBag lerp linear "
     "matmul mul nllLoss outer"},
    {"of second degree", "mseLoss square var"},
    {"piecewise of second degree", "hardswish huberLoss marginRankingLoss prelu smoothL1Loss"},
};
std::map<std::string, std::string> without_third_order() {
  std::map<std::string, std::string> table;
  for (const auto& [why, names] : kWithoutThirdOrder) {
    std::istringstream words(names);
    for (std::string name; words >> name;) table[name] = why;
  }
  return table;
}

TEST_P(Gradcheck, ThirdOrder) {
  const std::map<std::string, std::string> table = without_third_order();
  const auto flat = table.find(GetParam());
  double greatest = 0;
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    Case c(GetParam(), seed);
    TensorList w;
    for (const Tensor& t : c.d.x) w.push_back(c.gen.tensor(t.shape(), -1, 1, DType::float64));
    ASSERT_EQ(check_third_order(c.d.f, c.d.x, c.gy, c.v, w, c.gen, greatest), "") << c.call.text();
  }
  if (flat == table.end()) {
    EXPECT_GT(greatest, 1e-9) << "its third order is 0: say why in the table above";
  } else {
    EXPECT_LT(greatest, 1e-9) << "the table above calls it " << flat->second;
    RecordProperty("zero", flat->second);
  }
}

TEST(Gradients, TheTableOfThirdOrderNamesOps) {
  for (const auto& [name, why] : without_third_order()) {
    ASSERT_TRUE(find_op(name)) << name;
    EXPECT_TRUE(has_gradient(*find_op(name))) << name << " has no gradient at all";
  }
}

TEST_P(Gradcheck, Float32AgreesWithFloat64) {
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    const Case wide(GetParam(), seed), narrow(GetParam(), seed, DType::float32);
    const TensorList a = narrow.d.f(narrow.d.x), b = wide.d.f(wide.d.x);
    for (size_t i = 0; i < b.size(); ++i) {
      ASSERT_EQ(a[i].dtype(), DType::float32);
      ASSERT_LE(relative_difference(a[i], b[i]), 1e-5) << narrow.call.text();
    }
    const TensorList ga = gradient(narrow.d.f, narrow.d.x, narrow.gy),
                     gb = gradient(wide.d.f, wide.d.x, wide.gy);
    for (size_t i = 0; i < gb.size(); ++i) {
      ASSERT_LE(relative_difference(ga[i], gb[i]), 1e-4)
          << narrow.call.text() << values(ga[i]) << values(gb[i]);
    }
  }
}

TEST_P(Gradcheck, BitsDoNotDependOnCreateGraphOrOnWhatElseIsWanted) {
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    const Case c(GetParam(), seed);
    const TensorList plain = gradient(c.d.f, c.d.x, c.gy), recorded = gradient(c.d.f, c.d.x, c.gy, true);
    ASSERT_TRUE(same_bits(plain, recorded)) << c.call.text();
    for (size_t i = 0; i < c.d.x.size(); ++i) {
      const Function alone = [&](const TensorList& x) {
        TensorList all = c.d.x;
        all[i] = x[0];
        return c.d.f(all);
      };
      ASSERT_TRUE(same_bits(gradient(alone, {c.d.x[i]}, c.gy)[0], plain[i]))
          << c.call.text() << " input " << i;
    }
  }
}

// A missing cotangent of one output is a zero.
TEST_P(Gradcheck, AnOutputWithoutCotangentCountsAsZero) {
  for (uint64_t seed = 0; seed < kSamples; ++seed) {
    const Case c(GetParam(), seed);
    for (size_t k = 0; c.gy.size() > 1 && k < c.gy.size(); ++k) {
      TensorList gy = c.gy;
      for (size_t i = 0; i < gy.size(); ++i) {
        if (i != k) gy[i] = Tensor::zeros(gy[i].shape(), gy[i].dtype());
      }
      const Function one = [&](const TensorList& x) { return TensorList{c.d.f(x)[k]}; };
      const TensorList a = gradient(one, c.d.x, {gy[k]}), b = gradient(c.d.f, c.d.x, gy);
      for (size_t i = 0; i < a.size(); ++i) {
        if (!a[i].defined() && !b[i].defined()) continue;
        const Tensor zero = Tensor::zeros(c.d.x[i].shape(), DType::float64);
        ASSERT_LE(relative_difference(a[i] ? a[i] : zero, b[i] ? b[i] : zero), 1e-12) << c.call.text();
      }
    }
  }
}

// Ops whose gradient is more than a sum of products of what they take and give: where a value could be saved
// that depends on an input. Each has samples that would show it.
constexpr const char* kFused[] = {"activationGrad",
                                  "attentionCore",
                                  "attentionGrad",
                                  "batchNorm",
                                  "cdist",
                                  "cholesky",
                                  "cosineSimilarity",
                                  "crossEntropy",
                                  "crossEntropyEach",
                                  "crossEntropyEachGrad",
                                  "ctcLoss",
                                  "ctcLossEach",
                                  "ctcLossGrad",
                                  "cumprod",
                                  "deformConv",
                                  "deformConvGrad",
                                  "det",
                                  "eigh",
                                  "einsum",
                                  "euclideanDistance",
                                  "gelu",
                                  "gridRead",
                                  "gridSample",
                                  "gridSlope",
                                  "groupNorm",
                                  "gru",
                                  "instanceNorm",
                                  "inverse",
                                  "layerNorm",
                                  "linearThen",
                                  "localResponseNorm",
                                  "logSoftmax",
                                  "logSoftmaxGrad",
                                  "logsumexp",
                                  "lpPool",
                                  "lstm",
                                  "mish",
                                  "norm",
                                  "normGroups",
                                  "normGroupsGrad",
                                  "normalize",
                                  "prod",
                                  "qr",
                                  "qrTall",
                                  "recurrence",
                                  "recurrenceGrad",
                                  "rmsNorm",
                                  "rnn",
                                  "rnntLoss",
                                  "scaledDotProductAttention",
                                  "silu",
                                  "slogdet",
                                  "softmax",
                                  "softmaxGrad",
                                  "solve",
                                  "solveMatrix",
                                  "std",
                                  "svd",
                                  "transducer",
                                  "transducerGrad",
                                  "triangularSolve",
                                  "weightNorm"};

TEST(Gradients, TheListOfFusedOpsNamesOps) {
  for (const char* name : kFused) EXPECT_TRUE(find_op(name)) << name;
  // A gradient that is an op of its own is fused.
  for (const OpInfo* op : all_ops()) {
    if (op->name.size() < 5 || op->name.compare(op->name.size() - 4, 4, "Grad") != 0) continue;
    const bool linear = without_third_order().count(op->name) > 0;
    EXPECT_TRUE(linear || std::count(std::begin(kFused), std::end(kFused), op->name)) << op->name;
  }
}

// Were a vjp to use a value that depends on input i as a constant, second order would be wrong wherever it is
// not 0, and the check above would say so.
TEST_P(Gradcheck, ASavedConstantWouldBeCaught) {
  bool caught = false, curved = false;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Case c(GetParam(), seed);
    for (size_t i = 0; i < c.d.x.size(); ++i) {
      const Function broken = with_constant(c.d.f, i);
      ASSERT_EQ(check_first_order(broken, c.d.x, c.gy), "") << c.call.text();
      // Whether f is curved in x[i] at all: its own gradient there, by another x[i], is another one.
      TensorList moved = c.d.x;
      Gen other(seed + 7, DType::float64, true);
      moved[i] = copy_of(moved[i]);
      for (int64_t k = 0; k < moved[i].numel(); ++k) moved[i].data<double>()[k] += other.real(1e-3, 2e-3);
      const TensorList before = gradient(c.d.f, c.d.x, c.gy), after = gradient(c.d.f, moved, c.gy);
      bool bends = false;
      for (size_t k = 0; k < before.size(); ++k) bends |= relative_difference(after[k], before[k]) > 1e-5;
      const bool noticed = !check_second_order(broken, c.d.x, c.gy, c.v).empty();
      ASSERT_TRUE(noticed || !bends) << c.call.text() << " input " << i;
      caught |= noticed;
      curved |= bends;
    }
  }
  EXPECT_EQ(caught, curved);
  for (const char* fused : kFused) {
    if (GetParam() == fused) EXPECT_TRUE(caught);
  }
}

TEST(Samples, EveryOpHasAnEntry) {
  std::string missing;
  for (const OpInfo* op : all_ops()) {
    if (!samples().count(op->name)) missing += " " + op->name;
  }
  EXPECT_EQ(missing, "") << "write a generator for each in tests/cpp/support/samples_*.cpp";
  std::string unknown;
  for (const auto& [name, sampler] : samples()) {
    if (!find_op(name)) unknown += " " + name;
  }
  EXPECT_EQ(unknown, "");
}

TEST(Samples, EveryOpHasAGradientOrSaysWhyNot) {
  for (const OpInfo* op : all_ops()) {
    const bool has = op->vjp || op->compose;
    EXPECT_TRUE(has || !op->no_gradient.empty())
        << op->name << " has neither vjp nor compose nor no_gradient";
    EXPECT_FALSE(op->vjp && !op->no_gradient.empty()) << op->name << " has a gradient and says it has none";
    EXPECT_EQ((op->forward != nullptr) + (op->view != nullptr) + (op->compose != nullptr), 1) << op->name;
    EXPECT_NE(op->doc, 0) << op->name;
  }
}

TEST(Samples, AreTheSameInBothDTypes) {
  for (const auto& [name, sampler] : samples()) {
    if (!find_op(name)) continue;
    const Call a = sample(name, 5, DType::float64, true), b = sample(name, 5, DType::float32, true);
    ASSERT_EQ(a.inputs.size(), b.inputs.size()) << name;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      ASSERT_EQ(relative_difference(a.inputs[i], b.inputs[i]), 0) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace omnigrad::test
