// Rows are read three times: largest element, sum of exponentials, result. NaN needs no test: the comparisons
// of pmax may drop it, but x - max brings it back into the sum.
#include "kernels/softmax.h"

#include <cstddef>
#include <limits>

#include "kernels/vmath.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

constexpr int64_t kGrainElements = 16384;
constexpr int kUnroll = 4;  // vectors in flight in a row

// Calls body(vector index, offset, count) over a row; count < lanes only in the last one.
template <class T, class Body>
inline void each_vector(ptrdiff_t n, Body&& body) {
  constexpr ptrdiff_t L = kLanes<T>;
  ptrdiff_t i = 0;
  for (; i + kUnroll * L <= n; i += kUnroll * L)
    for (int u = 0; u < kUnroll; ++u) body(u, i + u * L, static_cast<int>(L));
  for (int u = 0; i < n; i += L, ++u) body(u, i, static_cast<int>(i + L <= n ? L : n - i));
}

// A vector of a row; lanes past its end hold -infinity, which adds nothing to a maximum or a sum of
// exponentials.
template <class T>
inline Vec<T> load_row(const T* p, int count) {
  if (count == kLanes<T>) return load(p);
  Vec<T> v = splat(-std::numeric_limits<T>::infinity());
  for (int l = 0; l < count; ++l) v[l] = p[l];
  return v;
}
template <class T>
inline void store_row(T* p, Vec<T> v, int count) {
  if (count == kLanes<T>) return store(p, v);
  for (int l = 0; l < count; ++l) p[l] = v[l];
}

template <class T, bool kLog>
void row(const T* x, T* y, ptrdiff_t n) {
  using V = Vec<T>;
  constexpr int L = kLanes<T>;
  V m[kUnroll], sum[kUnroll];
  for (int u = 0; u < kUnroll; ++u) m[u] = splat(-std::numeric_limits<T>::infinity()), sum[u] = V{};
  each_vector<T>(n, [&](int u, ptrdiff_t i, int count) { m[u] = pmax(m[u], load_row(x + i, count)); });
  const V largest = pmax(pmax(m[0], m[1]), pmax(m[2], m[3]));
  T top = largest[0];
  for (int l = 1; l < L; ++l) top = top < largest[l] ? largest[l] : top;
  const V shift = splat(top);
  each_vector<T>(n, [&](int u, ptrdiff_t i, int count) {
    const V e = vexp(load_row(x + i, count) - shift);
    if constexpr (!kLog) store_row(y + i, e, count);
    sum[u] += e;
  });
  const T total = sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
  if constexpr (kLog) {
    const V log_total = vlog(splat(total));
    each_vector<T>(n, [&](int, ptrdiff_t i, int count) {
      store_row(y + i, (load_row(x + i, count) - shift) - log_total, count);
    });
  } else {
    const V scale = splat(T(1) / total);
    each_vector<T>(
        n, [&](int, ptrdiff_t i, int count) { store_row(y + i, load_row(y + i, count) * scale, count); });
  }
}

// Columns [j, j + count) of one [n, inner] slice: a vector holds neighbouring columns, so each lane is a row
// of its own.
constexpr int kColumnVectors = 16;

template <class T, bool kLog>
void columns(const T* x, T* y, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t count) {
  using V = Vec<T>;
  constexpr int L = kLanes<T>;
  V shift[kColumnVectors], sum[kColumnVectors];
  const int vectors = static_cast<int>((count + L - 1) / L);
  const auto part = [&](int v) { return static_cast<int>((v + 1) * L <= count ? L : count - v * L); };
  for (int v = 0; v < vectors; ++v) shift[v] = splat(-std::numeric_limits<T>::infinity()), sum[v] = V{};
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v) shift[v] = pmax(shift[v], load_row(x + i * inner + v * L, part(v)));
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v) {
      const ptrdiff_t at = i * inner + v * L;
      const V e = vexp(load_row(x + at, part(v)) - shift[v]);
      if constexpr (!kLog) store_row(y + at, e, part(v));
      sum[v] += e;
    }
  for (int v = 0; v < vectors; ++v) sum[v] = kLog ? vlog(sum[v]) : splat(T(1)) / sum[v];
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v) {
      const ptrdiff_t at = i * inner + v * L;
      const V from = load_row((kLog ? x : y) + at, part(v));
      store_row(y + at, kLog ? (from - shift[v]) - sum[v] : from * sum[v], part(v));
    }
}

template <class T, bool kLog>
void run(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    parallel::parallel_for(outer, (kGrainElements + n - 1) / n, [=](int64_t begin, int64_t end) noexcept {
      for (int64_t r = begin; r < end; ++r) row<T, kLog>(x + r * n, y + r * n, static_cast<ptrdiff_t>(n));
    });
    return;
  }
  constexpr int64_t kWidth = kColumnVectors * kLanes<T>;
  const int64_t blocks = (inner + kWidth - 1) / kWidth,
                block_elements = n * (inner < kWidth ? inner : kWidth);
  const int64_t grain = (kGrainElements + block_elements - 1) / block_elements;
  parallel::parallel_for(outer * blocks, grain, [=](int64_t begin, int64_t end) noexcept {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t j = b % blocks * kWidth, at = b / blocks * n * inner + j;
      columns<T, kLog>(x + at, y + at, static_cast<ptrdiff_t>(n), static_cast<ptrdiff_t>(inner),
                       static_cast<ptrdiff_t>(inner - j < kWidth ? inner - j : kWidth));
    }
  });
}

}  // namespace

template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept {
  run<T, false>(x, y, outer, n, inner);
}
template <class T>
void log_softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept {
  run<T, true>(x, y, outer, n, inner);
}

template void softmax<float>(const float*, float*, int64_t, int64_t, int64_t) noexcept;
template void softmax<double>(const double*, double*, int64_t, int64_t, int64_t) noexcept;
template void log_softmax<float>(const float*, float*, int64_t, int64_t, int64_t) noexcept;
template void log_softmax<double>(const double*, double*, int64_t, int64_t, int64_t) noexcept;

}  // namespace omnigrad::kernels
