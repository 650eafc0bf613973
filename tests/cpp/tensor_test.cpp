// Tensors: shapes, views, casts, what they refuse.
#include "omnigrad/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "omnigrad/ops.h"
#include "support/compare.h"
#include "support/gen.h"

namespace omnigrad::test {
namespace {

TEST(Tensor, IsContiguousUninitialisedMemory) {
  const Tensor t = Tensor::empty({2, 3}, DType::float32);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.strides(), (Dims{3, 1}));
  EXPECT_EQ(t.numel(), 6);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 64, 0u);
  EXPECT_EQ(Tensor::empty({}, DType::int64).numel(), 1);
  EXPECT_EQ(Tensor::empty({3, 0}, DType::boolean).numel(), 0);
}

TEST(Tensor, RefusesShapesThatCannotBe) {
  for (const Dims& shape : {Dims{-1}, Dims{2, -3}, Dims(size_t{kMaxRank + 1}, 1)}) {
    EXPECT_THROW(Tensor::empty(shape, DType::float32), Error) << text(shape);
  }
  for (const Dims& shape : {Dims{int64_t{1} << 50}, Dims{int64_t{1} << 40, int64_t{1} << 40}}) {
    try {
      Tensor::empty(shape, DType::float64);
      ADD_FAILURE() << text(shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code, Code::memory) << e.message;
    }
  }
}

TEST(Tensor, ViewsShareStorageAndVersion) {
  const Tensor x = arange(0, 24, 1, DType::int64), y = reshape(x, {4, 6});
  EXPECT_EQ(x.storage(), y.storage());
  const Tensor row = slice(y, 0, 1, 2), column = slice(y, 1, -1, 6), back = flip(y, {0, 1});
  EXPECT_EQ(element(row.contiguous(), 0), 6);
  EXPECT_EQ(element(column.contiguous(), 3), 23);
  EXPECT_EQ(element(back.contiguous(), 0), 23);
  const uint32_t version = y.version();
  row.bump_version();
  EXPECT_EQ(y.version(), version + 1);
  EXPECT_FALSE(x.uniquely_held());
  EXPECT_TRUE(Tensor::zeros({2}, DType::float32).uniquely_held());
}

TEST(Tensor, AssignCastsAndFollowsStrides) {
  const double values[] = {-2.7, -0.5, 0, 0.5, 300.9, 1e20, std::numeric_limits<double>::quiet_NaN()};
  const Tensor x = Tensor::from({7}, values);
  const Tensor bytes = cast(x, DType::uint8), ints = cast(x, DType::int32), bools = cast(x, DType::boolean);
  EXPECT_EQ(element(bytes, 0), 0);
  EXPECT_EQ(element(bytes, 4), 255);
  EXPECT_EQ(element(ints, 0), -2);
  EXPECT_EQ(element(ints, 5), 2147483647.0);
  EXPECT_EQ(element(ints, 6), 0);
  EXPECT_EQ(element(bools, 1), 1);
  EXPECT_EQ(element(bools, 2), 0);
  const Tensor big = Tensor::zeros({2, 4}, DType::float32);
  slice(big, 1, 0, 4, 2).assign(reshape(arange(1, 5, 1, DType::int32), {2, 2}));
  EXPECT_EQ(test::values(big), "[2, 4] {1, 0, 2, 0, 3, 0, 4, 0}");
}

}  // namespace
}  // namespace omnigrad::test
