// A vector holds one word of four blocks.
#include "kernels/random.h"

#include <algorithm>
#include <cstddef>

#include "kernels/simd.h"
#include "parallel/parallel.h"
#include "random/philox.h"

namespace omnigrad::kernels {

using u32x4 = uint32_t __attribute__((vector_size(16)));

// Variables, read in the block of code that multiplies by them: else the compiler forgets that they have 32
// bits, and multiplies 64 by 64, three times as slow. So the rounds are unrolled, too.
u32x4 philox_multipliers[2] = {{0xD2511F53, 0xD2511F53}, {0xCD9E8D57, 0xCD9E8D57}};

namespace {

struct Product {
  u32x4 high, low;
};
inline u64x2 wide_product(u32x4 a, u32x4 b) {
  return __builtin_convertvector(__builtin_shufflevector(a, a, 0, 1), u64x2) *
         __builtin_convertvector(__builtin_shufflevector(b, b, 0, 1), u64x2);
}
inline Product multiply(u32x4 a, u32x4 by) {
  const u64x2 p = wide_product(a, by), q = wide_product(__builtin_shufflevector(a, a, 2, 3, 2, 3), by);
  const u32x4 first = reinterpret_cast<u32x4>(p), second = reinterpret_cast<u32x4>(q);
  return {__builtin_shufflevector(first, second, 1, 3, 5, 7),
          __builtin_shufflevector(first, second, 0, 2, 4, 6)};
}

[[gnu::noinline]] void four_blocks(uint64_t seed, uint64_t first, uint32_t* words) {
  const u32x4 m0 = philox_multipliers[0], m1 = philox_multipliers[1];
  u32x4 c[4] = {};
  for (uint64_t i = 0; i < 4; ++i) {
    c[0][i] = static_cast<uint32_t>(first + i);
    c[1][i] = static_cast<uint32_t>((first + i) >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
#pragma clang loop unroll(full)
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply(c[0], m0), p1 = multiply(c[2], m1);
    c[0] = p1.high ^ c[1] ^ k0;
    c[1] = p1.low;
    c[2] = p0.high ^ c[3] ^ k1;
    c[3] = p0.low;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  f32x4 turned[4];
  std::memcpy(turned, c, sizeof turned);
  transpose(turned);
  std::memcpy(words, turned, sizeof turned);
}

}  // namespace

void philox_blocks(uint64_t seed, uint64_t first, int64_t count, uint32_t* words) noexcept {
  for (; count >= 4; count -= 4, first += 4, words += 16) four_blocks(seed, first, words);
  if (count == 0) return;
  uint32_t rest[16];
  four_blocks(seed, first, rest);
  std::copy_n(rest, 4 * count, words);
}

namespace {

// x * scale where the mask is set, else 0.
inline void keep(i32x4 mask, const float* x, float scale, float* y, int n) {
  const f32x4 v = load_partial(x, n) * splat(scale);
  store_partial(y, reinterpret_cast<f32x4>(reinterpret_cast<i32x4>(v) & mask), n);
}
inline void keep(i32x4 mask, const double* x, double scale, double* y, int n) {
  const i32x4 masks[2] = {__builtin_shufflevector(mask, mask, 0, 0, 1, 1),
                          __builtin_shufflevector(mask, mask, 2, 2, 3, 3)};
  for (int i = 0; 2 * i < n; ++i) {
    const int lanes = n - 2 * i < 2 ? 1 : 2;
    const f64x2 v = load_partial(x + 2 * i, lanes) * splat(scale);
    store_partial(y + 2 * i, reinterpret_cast<f64x2>(reinterpret_cast<i32x4>(v) & masks[i]), lanes);
  }
}

}  // namespace

template <class T>
void dropout(uint64_t seed, uint64_t first, uint64_t dropped, T scale, int64_t n, const T* x, T* y) noexcept {
  const uint32_t least = static_cast<uint32_t>(dropped);  // of the words that keep, or none does
  const i32x4 some = dropped >> 32 != 0 ? i32x4{} : i32x4{-1, -1, -1, -1};
  parallel::parallel_for((n + 3) / 4, 2048, [=](int64_t begin, int64_t end) noexcept {
    constexpr int64_t kBlocks = 16;
    uint32_t words[4 * kBlocks];
    for (int64_t block = begin; block < end; block += kBlocks) {
      philox_blocks(seed, first + static_cast<uint64_t>(block), std::min(kBlocks, end - block), words);
      const T* const from = x + 4 * block;
      T* const to = y + 4 * block;
      const ptrdiff_t count = static_cast<ptrdiff_t>(std::min(4 * kBlocks, std::min(n, 4 * end) - 4 * block));
      for (ptrdiff_t i = 0; i < count; i += 4) {
        u32x4 w;
        std::memcpy(&w, words + i, sizeof w);
        keep((w >= least) & some, from + i, scale, to + i, count - i < 4 ? static_cast<int>(count - i) : 4);
      }
    }
  });
}
template void dropout<float>(uint64_t, uint64_t, uint64_t, float, int64_t, const float*, float*) noexcept;
template void dropout<double>(uint64_t, uint64_t, uint64_t, double, int64_t, const double*, double*) noexcept;

}  // namespace omnigrad::kernels
