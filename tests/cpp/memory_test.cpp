// The buffer pool: classes, reuse, flushing, running out.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "omnigrad/ops.h"
#include "omnigrad/tensor.h"
#include "support/gen.h"
#include "tensor/pool.h"

namespace omnigrad::test {
namespace {

TEST(Memory, ClassesHoldWhatWasAskedAndWasteLittle) {
  size_t last = 0;
  for (size_t bytes = 1; bytes < (size_t{1} << 24); bytes += 1 + bytes / 7) {
    const size_t block = pool::block_size(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_EQ(block % 64, 0u) << bytes;
    EXPECT_GE(block, last) << bytes;
    if (bytes >= 1024) EXPECT_LE(block, bytes + bytes / 8 + 64) << bytes;
    EXPECT_EQ(pool::block_size(block), block) << bytes;
    last = block;
  }
  EXPECT_GT(pool::block_size(0), 0u);
}

TEST(Memory, BlocksAreReusedAndFlushed) {
  pool::flush();
  EXPECT_EQ(pool::stats().cached, 0u);
  const size_t live = pool::stats().live;
  void* a = pool::allocate(10000);
  EXPECT_EQ(pool::stats().live, live + pool::block_size(10000));
  pool::release(a, 10000);
  EXPECT_EQ(pool::stats().live, live);
  EXPECT_EQ(pool::stats().cached, pool::block_size(10000));
  void* b = pool::allocate(pool::block_size(10000));  // the same class
  EXPECT_EQ(a, b);
  EXPECT_EQ(pool::stats().cached, 0u);
  pool::release(b, 10000);
  pool::flush();
  EXPECT_EQ(pool::stats().cached, 0u);
}

TEST(Memory, CountsReturnToTheirStartAfterWork) {
  const size_t live = pool::stats().live;
  const int64_t tensors = live_tensors();
  {
    Gen g(1, DType::float32, true);
    Tensor x = g.tensor({30, 40});
    for (int i = 0; i < 20; ++i) x = tanh(x * 1.01) + sum(x, {0}, true);
    EXPECT_GT(pool::stats().live, live);
  }
  EXPECT_EQ(pool::stats().live, live);
  EXPECT_EQ(live_tensors(), tensors);
}

TEST(Memory, BlocksDoNotOverlap) {
  std::vector<std::pair<char*, size_t>> blocks;
  Gen g(2, DType::float32, true);
  for (int i = 0; i < 400; ++i) {
    const auto bytes = static_cast<size_t>(g.integer(1, 5000));
    char* p = static_cast<char*>(pool::allocate(bytes));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    std::fill(p, p + bytes, static_cast<char>(i));
    blocks.emplace_back(p, bytes);
    if (i % 3 == 2) {
      pool::release(blocks[blocks.size() / 2].first, blocks[blocks.size() / 2].second);
      blocks.erase(blocks.begin() + static_cast<int64_t>(blocks.size() / 2));
    }
  }
  for (const auto& [p, bytes] : blocks) {
    for (size_t k = 1; k < bytes; ++k) ASSERT_EQ(p[k], p[0]);
    pool::release(p, bytes);
  }
}

TEST(Memory, RunningOutIsAnErrorThatSaysHowMuchAndThePoolWorksOn) {
  const Tensor held = Tensor::zeros({1000}, DType::float64);
  const size_t live = pool::stats().live;
  const int64_t tensors = live_tensors();
  // More than any heap has: in wasm half of the addresses are.
  for (size_t bytes : {SIZE_MAX / 2 - 4096, SIZE_MAX / 2 - 65536}) {
    try {
      pool::allocate(bytes);
      ADD_FAILURE() << bytes;
    } catch (const Error& e) {
      EXPECT_EQ(e.code, Code::memory);
      EXPECT_NE(e.message.find("out of memory"), std::string::npos) << e.message;
      EXPECT_NE(e.message.find("bytes"), std::string::npos) << e.message;
    }
    EXPECT_EQ(pool::stats().live, live);
  }
  // An op that runs out names itself, and loses nothing.
  try {
    zeros({int64_t{1} << 44}, DType::float32);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::memory);
    EXPECT_EQ(e.op, "full");
  }
  EXPECT_EQ(pool::stats().live, live);
  EXPECT_EQ(live_tensors(), tensors);
  EXPECT_EQ(sum(held + 1.0).item(), 1000);
}

}  // namespace
TEST(Memory, CountsWhatTensorsAskFor) {
  const size_t before = pool::stats().tensors;
  pool::reset_peak();
  {
    const Tensor t = Tensor::empty({1001}, DType::float32), view = t.detach();
    const Workspace workspace(5000);
    EXPECT_EQ(pool::stats().tensors, before + 4004);
    const Tensor more = Tensor::empty({3}, DType::uint8);
    EXPECT_EQ(pool::stats().tensors, before + 4007);
  }
  EXPECT_EQ(pool::stats().tensors, before);
  EXPECT_EQ(pool::stats().tensors_peak, before + 4007);
}

}  // namespace omnigrad::test
