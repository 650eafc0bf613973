// Results and gradients have the same bits on any number of threads, at sizes where work is split.
#include <gtest/gtest.h>

#include <vector>

#include "parallel/parallel.h"
#include "support/compare.h"
#include "support/gradcheck.h"
#include "support/per_op.h"

namespace omnigrad::test {
namespace {

struct Large {
  const char* name;
  Call (*make)(Gen&);
};

Call conv_call(Gen& g, const char* name, Dims x, Dims w, int64_t groups, int64_t stride) {
  return Call(name, {g.tensor(x), g.tensor(w), Tensor()})
      .set("groups", groups)
      .set("stride", Dims{stride})
      .set("padding", Padding{{1}, false});
}

const std::vector<Large>& large_calls() {
  static const std::vector<Large> calls{
      {"add", [](Gen& g) { return Call("add", {g.tensor({300, 400}), g.tensor({400})}); }},
      {"tanh", [](Gen& g) { return Call("tanh", {g.tensor({100001})}); }},
      {"sumAll", [](Gen& g) { return Call("sum", {g.tensor({100003})}); }},
      {"sumFirst", [](Gen& g) { return Call("sum", {g.tensor({500, 301})}).set("dim", Dims{0}); }},
      {"sumLast", [](Gen& g) { return Call("sum", {g.tensor({301, 500})}).set("dim", Dims{-1}); }},
      {"amax", [](Gen& g) { return Call("amax", {g.tensor({300, 401})}).set("dim", Dims{1}); }},
      {"softmax", [](Gen& g) { return Call("softmax", {g.tensor({300, 101})}); }},
      {"logSoftmax",
       [](Gen& g) { return Call("logSoftmax", {g.tensor({40, 30, 50})}).set("dim", int64_t{1}); }},
      {"matmul", [](Gen& g) { return Call("matmul", {g.tensor({150, 130}), g.tensor({130, 171})}); }},
      {"matmulBatch", [](Gen& g) { return Call("matmul", {g.tensor({7, 40, 50}), g.tensor({7, 50, 30})}); }},
      {"linear",
       [](Gen& g) { return Call("linear", {g.tensor({200, 90}), g.tensor({70, 90}), g.tensor({70})}); }},
      {"conv", [](Gen& g) { return conv_call(g, "conv", {4, 8, 21, 23}, {12, 8, 3, 3}, 1, 1); }},
      {"convStrided", [](Gen& g) { return conv_call(g, "conv", {2, 8, 33, 31}, {12, 4, 5, 3}, 2, 2); }},
      {"convDepthwise", [](Gen& g) { return conv_call(g, "conv", {3, 16, 25, 25}, {16, 1, 3, 3}, 16, 1); }},
      {"convPointwise", [](Gen& g) { return conv_call(g, "conv", {3, 16, 25, 25}, {24, 16, 1, 1}, 1, 1); }},
      {"conv1d", [](Gen& g) { return conv_call(g, "conv", {3, 5, 2000}, {7, 5, 9}, 1, 1); }},
      {"conv3d", [](Gen& g) { return conv_call(g, "conv", {2, 4, 9, 10, 11}, {6, 4, 3, 3, 3}, 1, 1); }},
      {"convTranspose",
       [](Gen& g) { return conv_call(g, "convTranspose", {2, 8, 15, 17}, {8, 6, 3, 3}, 1, 2); }},
      {"deformConv",
       [](Gen& g) {
         return Call("deformConv", {g.tensor({3, 8, 16, 18}), g.tensor({3, 36, 16, 18}, -3, 3),
                                    g.tensor({10, 8, 3, 3}), g.tensor({10}), g.tensor({3, 18, 16, 18})})
             .set("padding", Dims{1})
             .set("offsetGroups", int64_t{2});
       }},
      {"interpolateCubic",
       [](Gen& g) {
         return Call("interpolate", {g.tensor({3, 5, 30, 31})})
             .set("size", Dims{47, 20})
             .choose("mode", "cubic");
       }},
      {"interpolateNearest",
       [](Gen& g) { return Call("interpolate", {g.tensor({3, 9, 30, 31})}).set("scaleFactor", 2.0); }},
      {"maxPool",
       [](Gen& g) {
         return Call("maxPool", {g.tensor({4, 9, 40, 41})}).set("kernelSize", Dims{3}).set("stride", Dims{2});
       }},
      {"avgPool",
       [](Gen& g) { return Call("avgPool", {g.tensor({4, 9, 40, 42})}).set("kernelSize", Dims{2}); }},
      {"indexSelect",
       [](Gen& g) { return Call("indexSelect", {g.tensor({200, 100}), g.index({500}, 200, DType::int64)}); }},
      {"gather",
       [](Gen& g) { return Call("gather", {g.tensor({200, 100}), g.index({500, 100}, 200, DType::int32)}); }},
      {"crossEntropy",
       [](Gen& g) {
         return Call("crossEntropy", {g.tensor({500, 40}), g.index({500}, 40, DType::int64), Tensor()});
       }},
  };
  return calls;
}

class OpThreads : public testing::TestWithParam<Large> {};
INSTANTIATE_TEST_SUITE_P(Op, OpThreads, testing::ValuesIn(large_calls()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(OpThreads, BitsDoNotDependOnTheirNumber) {
  for (DType dtype : {DType::float32, DType::float64}) {
    std::vector<TensorList> results;
    for (int threads : {1, 2, 3, 4}) {
      parallel::start(threads);
      Gen gen(5, dtype, true);
      const Call call = GetParam().make(gen);
      const Differentiable d = differentiable(call);
      const TensorList gy = cotangents(d.f, d.x, gen), g = gradient(d.f, d.x, gy);
      TensorList all = call.run();
      all.append(g.begin(), g.end());
      results.push_back(all);
      parallel::stop();
    }
    for (size_t i = 1; i < results.size(); ++i) {
      ASSERT_TRUE(same_bits(results[0], results[i])) << i + 1 << " threads, " << name_of(dtype);
    }
  }
}

}  // namespace
}  // namespace omnigrad::test
