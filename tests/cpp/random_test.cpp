// Philox against published vectors; distributions and streams of the random ops.
#include "kernels/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "omnigrad/ops.h"
#include "parallel/parallel.h"
#include "random/philox.h"
#include "support/call.h"
#include "support/compare.h"

namespace omnigrad::test {
namespace {

// Random123's kat_vectors, philox4x32 with 10 rounds.
TEST(Random, PhiloxGivesThePublishedNumbers) {
  using Words = std::array<uint32_t, 4>;
  constexpr uint32_t ones = 0xffffffff;
  EXPECT_EQ(random::philox(Words{}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random::philox(Words{ones, ones, ones, ones}, ones, ones),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(random::philox(Words{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(random::philox(0, 0), random::philox(Words{}, 0, 0));
}

// Many at a time are what they are one by one: any count, and where the block's number carries.
TEST(Random, BlocksByVectors) {
  const uint64_t seed = 0x0123456789abcdef;
  for (const uint64_t first : {uint64_t{0}, uint64_t{0xfffffffe}, ~uint64_t{0} - 2}) {
    for (int64_t count = 0; count <= 9; ++count) {
      std::vector<uint32_t> words(static_cast<size_t>(4 * count + 1), 77);
      kernels::philox_blocks(seed, first, count, words.data());
      for (int64_t i = 0; i < count; ++i) {
        const auto want = random::philox(seed, first + static_cast<uint64_t>(i));
        for (size_t k = 0; k < 4; ++k) ASSERT_EQ(words[static_cast<size_t>(4 * i) + k], want[k]);
      }
      ASSERT_EQ(words.back(), 77u);
    }
  }
}

template <class T>
void check_dropout() {
  const uint64_t seed = 5, first = 0xfffffff0;
  for (const int64_t n : {1, 2, 3, 4, 5, 63, 64, 65, 9001})
    for (const uint64_t dropped :
         {uint64_t{0}, uint64_t{0x40000000}, uint64_t{0xffffffff}, uint64_t{1} << 32}) {
      std::vector<T> x(static_cast<size_t>(n)), y(static_cast<size_t>(n) + 1, T(7));
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i) - T(2.5);
      x[0] = -std::numeric_limits<T>::infinity();
      kernels::dropout<T>(seed, first, dropped, T(1.25), n, x.data(), y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const bool kept = random::philox(seed, first + i / 4)[i % 4] >= dropped;
        ASSERT_EQ(y[i], kept ? x[i] * T(1.25) : T(0)) << i << " of " << n;
      }
      ASSERT_EQ(y.back(), T(7));
    }
}
TEST(Random, DropoutDropsByWords) {
  check_dropout<float>();
  check_dropout<double>();
}

Call random_call(const char* name, const Dims& shape, int64_t seed, int64_t offset = 0) {
  Call c(name);
  return c.set("shape", shape).set("seed", seed).set("offset", offset);
}
int64_t code(DType t) { return static_cast<int64_t>(t); }

struct Moments {
  double mean = 0, variance = 0, least = 1e300, greatest = -1e300;
  explicit Moments(const Tensor& t) {
    const auto n = static_cast<double>(t.numel());
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double v = element(t, i);
      mean += v / n;
      least = std::min(least, v);
      greatest = std::max(greatest, v);
    }
    for (int64_t i = 0; i < t.numel(); ++i) variance += std::pow(element(t, i) - mean, 2) / n;
  }
};

TEST(Random, UniformCoversItsInterval) {
  for (DType t : {DType::float32, DType::float64}) {
    const Moments m(
        random_call("uniform", {100000}, 7).set("low", -1.0).set("high", 3.0).set("dtype", code(t)).run()[0]);
    EXPECT_NEAR(m.mean, 1, 0.02);
    EXPECT_NEAR(m.variance, 16.0 / 12, 0.03);
    EXPECT_GE(m.least, -1);
    EXPECT_LT(m.greatest, 3);
    EXPECT_LT(m.least, -0.999);
    EXPECT_GT(m.greatest, 2.999);
  }
}

TEST(Random, NormalHasItsMoments) {
  for (DType t : {DType::float32, DType::float64}) {
    const Tensor x =
        random_call("normal", {100000}, 8).set("mean", 2.0).set("std", 3.0).set("dtype", code(t)).run()[0];
    const Moments m(x);
    EXPECT_NEAR(m.mean, 2, 0.04);
    EXPECT_NEAR(m.variance, 9, 0.15);
    int64_t within = 0;
    for (int64_t i = 0; i < x.numel(); ++i) within += std::abs(element(x, i) - 2) < 3;
    EXPECT_NEAR(static_cast<double>(within) / 1e5, 0.6827, 0.006);
    EXPECT_TRUE(all_finite(x));
  }
}

TEST(Random, RandintIsEvenOverItsRange) {
  const Tensor x =
      random_call("randint", {70000}, 9).set("low", int64_t{-3}).set("high", int64_t{4}).run()[0];
  std::vector<int> counts(7);
  for (int64_t i = 0; i < x.numel(); ++i) ++counts.at(static_cast<size_t>(x.data<int64_t>()[i] + 3));
  for (int n : counts) EXPECT_NEAR(n, 10000, 400);
}

TEST(Random, RandpermIsAPermutation) {
  for (int64_t n : {0, 1, 2, 3, 100, 1001}) {
    const Tensor p = Call("randperm").set("n", n).set("seed", int64_t{5}).run()[0];
    std::vector<int64_t> seen(p.data<int64_t>(), p.data<int64_t>() + n);
    std::sort(seen.begin(), seen.end());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  }
  // Every order of three equally often.
  std::vector<int> counts(27);
  for (int64_t seed = 0; seed < 6000; ++seed) {
    const Tensor p = Call("randperm").set("n", int64_t{3}).set("seed", seed).run()[0];
    const int64_t* v = p.data<int64_t>();
    ++counts[static_cast<size_t>(v[0] * 9 + v[1] * 3 + v[2])];
  }
  for (size_t k : {5u, 7u, 11u, 15u, 19u, 21u}) EXPECT_NEAR(counts[k], 1000, 130) << k;
}

TEST(Random, AStreamGoesOnWhereTheOffsetSays) {
  for (const char* name : {"uniform", "normal"}) {
    const Tensor all = random_call(name, {20}, 3, 10).run()[0],
                 rest = random_call(name, {12}, 3, 14).run()[0];
    EXPECT_TRUE(same_bits(slice(all, 0, 8, 20), rest)) << name;
    EXPECT_FALSE(same_bits(all, random_call(name, {20}, 4, 10).run()[0])) << name;
    // An odd count takes the same numbers.
    EXPECT_TRUE(same_bits(slice(all, 0, 0, 7), random_call(name, {7}, 3, 10).run()[0])) << name;
  }
}

TEST(Random, TheSameNumbersOnAnyNumberOfThreads) {
  for (const char* name : {"uniform", "normal", "randint"}) {
    Call c = random_call(name, {99999}, 11);
    if (c.option("high") && std::string(name) == "randint")
      c.set("low", int64_t{0}).set("high", int64_t{1000});
    TensorList results;
    for (int threads : {1, 2, 3, 4}) {
      parallel::start(threads);
      results.push_back(c.run()[0]);
      parallel::stop();
    }
    for (size_t i = 1; i < results.size(); ++i) EXPECT_TRUE(same_bits(results[0], results[i])) << name << i;
  }
}

}  // namespace
}  // namespace omnigrad::test
