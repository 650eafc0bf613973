// Rows of a table that repeat: where an axis doubles or halves, all outputs but those at the borders have the
// same weights at the same distance, and a row is computed a vector at a time without looking anything up.
// Taps are summed as the table kernel does (resample.cpp), to the same bits. Private to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/resample.h"
#include "kernels/simd.h"

namespace omnigrad::kernels {

template <class T>
struct Pattern {
  enum class Kind { none, doubles, halves };
  Kind kind = Kind::none;
  // doubles: outputs 2i and 2i + 1, halves: output i, for i in [begin, end).
  ptrdiff_t begin = 0, end = 0;
  int taps = 0;
  ptrdiff_t first[2];  // of the taps, less i or 2i
  const T* weight[2];
};

namespace pattern_detail {

// Do the taps of output o lie at `first` + base, side by side, with these weights?
template <class T>
bool row_is(const AxisRows<T>& t, int64_t o, int taps, int64_t first, const T* weight) {
  const int32_t k = t.start[o];
  if (t.start[o + 1] - k != taps) return false;
  for (int j = 0; j < taps; ++j) {
    if (t.index[k + j] != first + j || !(t.weight[k + j] == weight[j])) return false;
  }
  return true;
}

template <int N, class T>
void doubled_row(const Pattern<T>& p, const T* src, T* dst) {
  constexpr ptrdiff_t L = kLanes<T>;
  Vec<T> w[2][N];
  for (int h = 0; h < 2; ++h)
    for (int k = 0; k < N; ++k) w[h][k] = splat(p.weight[h][k]);
  const T *even = src + p.first[0], *odd = src + p.first[1];
  for (ptrdiff_t at = p.begin; at < p.end; at += L) {
    const ptrdiff_t i = at + L <= p.end ? at : p.end - L;  // the last may overlap the one before
    Vec<T> a = w[0][0] * load(even + i), b = w[1][0] * load(odd + i);
    for (int k = 1; k < N; ++k) {
      a = a + w[0][k] * load(even + i + k);
      b = b + w[1][k] * load(odd + i + k);
    }
    store(dst + 2 * i, zip_low(a, b));
    store(dst + 2 * i + L, zip_high(a, b));
  }
}

template <int N, class T>
void halved_row(const Pattern<T>& p, const T* src, T* dst) {
  constexpr ptrdiff_t L = kLanes<T>;
  Vec<T> w[N];
  for (int k = 0; k < N; ++k) w[k] = splat(p.weight[0][k]);
  const T* from = src + p.first[0];
  for (ptrdiff_t at = p.begin; at < p.end; at += L) {
    const ptrdiff_t i = at + L <= p.end ? at : p.end - L;
    Vec<T> s{};
    for (int k = 0; k < N; k += 2) {
      const Vec<T> a = load(from + 2 * i + k), b = load(from + 2 * i + k + L);
      const Vec<T> even = w[k] * even_lanes(a, b);
      s = (k == 0 ? even : s + even) + w[k + 1] * odd_lanes(a, b);
    }
    store(dst + i, s);
  }
}

}  // namespace pattern_detail

template <class T>
Pattern<T> find_pattern(const AxisRows<T>& t) {
  using Kind = typename Pattern<T>::Kind;
  Pattern<T> p;
  const bool doubles = t.out == 2 * t.in, halves = t.in == 2 * t.out;
  if (!doubles && !halves) return p;
  const int64_t count = doubles ? t.in : t.out, middle = count / 2;
  const int rows = doubles ? 2 : 1, step = doubles ? 1 : 2;
  p.taps = t.start[rows * middle + 1] - t.start[rows * middle];
  if (p.taps != 2 && p.taps != 4 && (p.taps != 8 || doubles || sizeof(T) == 8)) return p;
  for (int h = 0; h < rows; ++h) {
    const int32_t k = t.start[rows * middle + h];
    p.first[h] = static_cast<ptrdiff_t>(t.index[k] - step * middle);
    p.weight[h] = t.weight + k;
  }
  const auto same = [&](int64_t i) {
    bool yes = true;
    for (int h = 0; h < rows; ++h)
      yes = yes && pattern_detail::row_is(t, rows * i + h, p.taps, p.first[h] + step * i, p.weight[h]);
    return yes;
  };
  int64_t begin = middle, end = middle;
  while (begin > 0 && same(begin - 1)) --begin;
  while (end < count && same(end)) ++end;
  if (end - begin < kLanes<T>) return p;
  p.begin = static_cast<ptrdiff_t>(begin), p.end = static_cast<ptrdiff_t>(end);
  p.kind = doubles ? Kind::doubles : Kind::halves;
  return p;
}

// The outputs of a row that the pattern covers: from 2 begin to 2 end, or begin to end.
template <class T>
void pattern_row(const Pattern<T>& p, const T* src, T* dst) {
  using namespace pattern_detail;
  if (p.kind == Pattern<T>::Kind::doubles) {
    if (p.taps == 2) return doubled_row<2>(p, src, dst);
    return doubled_row<4>(p, src, dst);
  }
  if (p.taps == 2) return halved_row<2>(p, src, dst);
  if constexpr (sizeof(T) == 4)
    if (p.taps == 8) return halved_row<8>(p, src, dst);
  halved_row<4>(p, src, dst);
}

}  // namespace omnigrad::kernels
