// Sums of taps, and whole rows combined by them. Every path sums taps in one order (tap_sum), and a vector
// lane does what a scalar would: multiply and add have one result, so strips, row combinations and scalar
// tails give an element the same bits. Private to resample.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/resample.h"
#include "kernels/simd.h"

namespace omnigrad::kernels::resample_detail {

using Size = std::ptrdiff_t;  // what loops count in: 32 bits in wasm, where 64 are slow

// Doubles do without the longer of the unrolled paths.
template <class T>
inline constexpr bool kManyPaths = sizeof(T) == 4;

constexpr Size kTapBlock = 32;  // long rows are summed in blocks, so that error grows slowly

// The sum over n taps of weight * value(index), in order.
template <class V, class T, class Value>
[[gnu::always_inline]] inline V tap_block(const T* weight, const int32_t* index, Size n, Value value) {
  V sum = weight[0] * value(index[0]);
  for (Size k = 1; k < n; ++k) sum = sum + weight[k] * value(index[k]);
  return sum;
}
template <class V, class T, class Value>
[[gnu::noinline]] V many_taps(const T* weight, const int32_t* index, Size n, Value value) {
  V total = tap_block<V>(weight, index, kTapBlock, value);
  while ((n -= kTapBlock) > 0) {
    weight += kTapBlock;
    index += kTapBlock;
    total = total + tap_block<V>(weight, index, std::min(n, kTapBlock), value);
  }
  return total;
}
// The sum over taps [k, end), in blocks. The one order of summation.
template <class V, class T, class Value>
[[gnu::always_inline]] inline V tap_sum(const AxisRows<T>& t, Size k, Size end, Value value) {
  if (end - k > kTapBlock) return many_taps<V>(t.weight + k, t.index + k, end - k, value);
  return k == end ? V{} : tap_block<V>(t.weight + k, t.index + k, end - k, value);
}

// A row combination of N taps: dst[x] = sum over k of w[k] * src[index[k] * stride + x].
template <int N, class T>
void combine_few(const int32_t* index, const T* w, const T* src, Size stride, T* dst, Size n) {
  constexpr Size L = kLanes<T>;
  const T* row[N];
  T scalar[N];
  Vec<T> weight[N];
  for (int k = 0; k < N; ++k) {
    row[k] = src + index[k] * stride;
    scalar[k] = w[k];
    weight[k] = splat(w[k]);
  }
  Size x = 0;
  const auto vector = [&](Size at) __attribute__((always_inline)) {
    Vec<T> s = weight[0] * load(row[0] + at);
    for (int k = 1; k < N; ++k) s = s + weight[k] * load(row[k] + at);
    store(dst + at, s);
  };
  if constexpr (N <= 4) {
    for (; x + 4 * L <= n; x += 4 * L)
      for (int u = 0; u < 4; ++u) vector(x + u * L);
  }
  for (; x + L <= n; x += L) vector(x);
  for (; x < n; ++x) {
    T s = scalar[0] * row[0][x];
    for (int k = 1; k < N; ++k) s = s + scalar[k] * row[k][x];
    dst[x] = s;
  }
}

template <class T>
struct FourVectors {  // that tap_sum adds as one, to hide the latency of long sums
  Vec<T> v[4];
};
template <class T>
inline FourVectors<T> operator+(const FourVectors<T>& a, const FourVectors<T>& b) {
  return {{a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2], a.v[3] + b.v[3]}};
}
template <class T>
inline FourVectors<T> operator*(T w, const FourVectors<T>& b) {
  return {{w * b.v[0], w * b.v[1], w * b.v[2], w * b.v[3]}};
}

template <class T>
void combine_many(const AxisRows<T>& t, Size k0, Size k1, const T* src, Size stride, T* dst, Size n) {
  constexpr Size L = kLanes<T>;
  using Four = FourVectors<T>;
  Size x = 0;
  for (; x + 4 * L <= n; x += 4 * L) {
    const Four s = tap_sum<Four>(t, k0, k1, [=](Size i) {
      const T* p = src + i * stride + x;
      return Four{{load(p), load(p + L), load(p + 2 * L), load(p + 3 * L)}};
    });
    for (int j = 0; j < 4; ++j) store(dst + x + j * L, s.v[j]);
  }
  for (; x + L <= n; x += L) {
    store(dst + x, tap_sum<Vec<T>>(t, k0, k1, [=](Size i) { return load(src + i * stride + x); }));
  }
  for (; x < n; ++x) dst[x] = tap_sum<T>(t, k0, k1, [=](Size i) { return src[i * stride + x]; });
}

// Any other axis: output row o of one outer slice, elements [x0, x1) of its `inner`.
template <class T>
void combine(const AxisRows<T>& t, int64_t o, const T* src, int64_t inner, int64_t x0, int64_t x1, T* dst) {
  const Size k0 = t.start[o], k1 = t.start[o + 1], n = x1 - x0;
  const int32_t* index = t.index + k0;
  const T* w = t.weight + k0;
  src += x0;
  dst += o * inner + x0;
  switch (k1 - k0) {
    case 0:
      return void(std::fill_n(dst, n, T(0)));
    case 1:
      if (w[0] == T(1)) {
        std::memcpy(dst, src + index[0] * inner, n * sizeof(T));
      } else {
        combine_few<1>(index, w, src, inner, dst, n);
      }
      return;
    case 2:
      combine_few<2>(index, w, src, inner, dst, n);
      return;
    case 4:
      combine_few<4>(index, w, src, inner, dst, n);
      return;
    case 8:
      if constexpr (kManyPaths<T>) return combine_few<8>(index, w, src, inner, dst, n);
      [[fallthrough]];
    default:
      combine_many(t, k0, k1, src, inner, dst, n);
      return;
  }
}

// Output rows o and o + 1 where both have N taps, of the same rows: those are read once.
template <int N, class T>
void combine_pair(const AxisRows<T>& t, Size o, const T* src, Size n, T* dst) {
  constexpr Size L = kLanes<T>;
  const Size k0 = t.start[o], k1 = t.start[o + 1];
  const T* row[N];
  Vec<T> a[N], b[N];
  for (int k = 0; k < N; ++k) {
    row[k] = src + t.index[k0 + k] * n;
    a[k] = splat(t.weight[k0 + k]), b[k] = splat(t.weight[k1 + k]);
  }
  T *upper = dst + o * n, *lower = upper + n;
  const auto vector = [&](Size at) __attribute__((always_inline)) {
    const Vec<T> first = load(row[0] + at);
    Vec<T> s = a[0] * first, u = b[0] * first;
    for (int k = 1; k < N; ++k) {
      const Vec<T> v = load(row[k] + at);
      s = s + a[k] * v, u = u + b[k] * v;
    }
    store(upper + at, s);
    store(lower + at, u);
  };
  Size x = 0;
  for (; x + L <= n; x += L) vector(x);
  for (; x < n; ++x) {
    T s = a[0][0] * row[0][x], u = b[0][0] * row[0][x];
    for (int k = 1; k < N; ++k) s = s + a[k][0] * row[k][x], u = u + b[k][0] * row[k][x];
    upper[x] = s, lower[x] = u;
  }
}

// Enlarging, neighbouring rows often have their taps in the same rows.
template <class T>
bool are_pair(const AxisRows<T>& t, int64_t o, int taps) {
  if (o + 2 > t.out || t.start[o + 1] - t.start[o] != taps || t.start[o + 2] - t.start[o + 1] != taps)
    return false;
  const int32_t* index = t.index + t.start[o];
  for (int k = 0; k < taps; ++k)
    if (index[k] != index[taps + k]) return false;
  return true;
}

}  // namespace omnigrad::kernels::resample_detail
