#include "kernels/reduce.h"

#include <algorithm>
#include <type_traits>

#include "kernels/simd.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kSplit = 32768;  // a longer row is summed in parts of this many elements
constexpr int64_t kBlock = 256;    // elements summed lane by lane before the tree
constexpr int64_t kColumns = 32;   // columns that one task sums side by side
constexpr int64_t kRows = 16;      // rows summed in turn before the tree

template <class T>
inline T add_lanes(Vec<T> v) {
  if constexpr (kLanes<T> == 4) return (v[0] + v[1]) + (v[2] + v[3]);
  return v[0] + v[1];
}

template <class T>
T sum_block(const T* x, int64_t n) noexcept {
  constexpr int L = kLanes<T>;
  Vec<T> a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L) {
    a += load(x + i);
    b += load(x + i + L);
    c += load(x + i + 2 * L);
    d += load(x + i + 3 * L);
  }
  for (; i + L <= n; i += L) a += load(x + i);
  if (i < n) b += load_partial(x + i, static_cast<int>(n - i));
  return add_lanes<T>((a + b) + (c + d));
}

// Pairwise over blocks: the tree's shape depends on n alone.
template <class T>
T sum_row(const T* x, int64_t n) noexcept {
  if (n <= kBlock) return sum_block(x, n);
  const int64_t half = ((n + kBlock - 1) / kBlock + 1) / 2 * kBlock;
  return sum_row(x, half) + sum_row(x + half, n - half);
}

template <class T>
T sum_list(const T* x, int64_t n) noexcept {
  if (n == 1) return *x;
  const int64_t half = (n + 1) / 2;
  return sum_list(x, half) + sum_list(x + half, n - half);
}

// acc[j] = sum over rows of x[row * stride + j], j < m <= kColumns.
template <class T>
void sum_columns(const T* x, int64_t n, int64_t stride, int m, T* acc) noexcept {
  if (n <= kRows) {
    for (int j = 0; j < m; ++j) acc[j] = T(0);
    for (int64_t i = 0; i < n; ++i) {
      for (int j = 0; j < m; ++j) acc[j] += x[i * stride + j];
    }
    return;
  }
  const int64_t half = ((n + kRows - 1) / kRows + 1) / 2 * kRows;
  T other[kColumns];
  sum_columns(x, half, stride, m, acc);
  sum_columns(x + half * stride, n - half, stride, m, other);
  for (int j = 0; j < m; ++j) acc[j] += other[j];
}

template <class T>
void sum_floating(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, T* parts) noexcept {
  if (inner == 1) {
    const int64_t split = std::max<int64_t>((n + kSplit - 1) / kSplit, 1);
    if (split == 1) {
      parallel::parallel_for(outer, std::max<int64_t>(kSplit / std::max<int64_t>(n, 1), 1),
                             [&](int64_t begin, int64_t end) noexcept {
                               for (int64_t o = begin; o < end; ++o) y[o] = sum_row(x + o * n, n);
                             });
      return;
    }
    parallel::parallel_for(outer * split, 1, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t from = t % split * kSplit;
        parts[t] = sum_row(x + t / split * n + from, std::min(kSplit, n - from));
      }
    });
    for (int64_t o = 0; o < outer; ++o) y[o] = sum_list(parts + o * split, split);
    return;
  }
  const int64_t tiles = (inner + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(kSplit / std::max<int64_t>(n * kColumns, 1), 1);
  parallel::parallel_for(outer * tiles, grain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t o = t / tiles, j = t % tiles * kColumns;
      sum_columns(x + o * n * inner + j, n, inner, static_cast<int>(std::min(kColumns, inner - j)),
                  y + o * inner + j);
    }
  });
}

template <class T>
void sum_integer(const T* x, int64_t* y, int64_t outer, int64_t n, int64_t inner) noexcept {
  for (int64_t o = 0; o < outer; ++o) {
    int64_t* row = y + o * inner;
    std::fill(row, row + inner, 0);
    for (int64_t i = 0; i < n; ++i) {
      const T* p = x + (o * n + i) * inner;
      for (int64_t j = 0; j < inner; ++j) row[j] += static_cast<int64_t>(p[j]);
    }
  }
}

// Does `a` replace `b` as the extreme? NaN first, then the strictly greater one.
template <class T>
bool beats(Extreme which, T a, T b) noexcept {
  if (b != b) return false;
  if (a != a) return true;
  return which == Extreme::max ? a > b : a < b;
}

constexpr int64_t kVectorRow = 32;  // elements from which on a row goes by vectors

// Where the extreme of n >= 16 floats is first: by vectors its value, then its place. What beats() says of
// NaN and of equal elements holds.
template <bool kMax>
ptrdiff_t extreme_of_row(const float* x, ptrdiff_t n) noexcept {
  constexpr ptrdiff_t L = kLanes<float>;
  f32x4 best[4];
  i32x4 none{};
  for (int u = 0; u < 4; ++u) best[u] = load(x + u * L);
  const auto meet = [&](f32x4& b, ptrdiff_t i) __attribute__((always_inline)) {
    const f32x4 v = load(x + i);
    b = kMax ? pmax(b, v) : pmin(b, v);
    none |= v != v;
  };
  ptrdiff_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (int u = 0; u < 4; ++u) meet(best[u], i + u * L);
  for (; i + L <= n; i += L) meet(best[0], i);
  if (i < n) meet(best[0], n - L);
  ptrdiff_t at = 0;
  if (any(none)) {
    while (x[at] == x[at]) ++at;
    return at;
  }
  for (int u = 1; u < 4; ++u) best[0] = kMax ? pmax(best[0], best[u]) : pmin(best[0], best[u]);
  float value = best[0][0];
  for (int l = 1; l < L; ++l) {
    const float v = best[0][l];
    if (kMax ? v > value : v < value) value = v;
  }
  while (at + L <= n && !any(load(x + at) == splat(value))) at += L;
  while (x[at] != value) ++at;
  return at;
}

template <class T, class Take>
void scan_extremes(Extreme which, const T* x, int64_t outer, int64_t n, int64_t inner,
                   const Take& take) noexcept {
  const int64_t grain = std::max<int64_t>(kSplit / std::max<int64_t>(n, 1), 1);
  parallel::parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) noexcept {
    if constexpr (std::is_same_v<T, float>) {
      if (inner == 1 && n >= kVectorRow) {
        const ptrdiff_t length = static_cast<ptrdiff_t>(n);
        for (int64_t t = begin; t < end; ++t) {
          const T* row = x + t * n;
          const ptrdiff_t at =
              which == Extreme::max ? extreme_of_row<true>(row, length) : extreme_of_row<false>(row, length);
          take(t, row[at], at);
        }
        return;
      }
    }
    for (int64_t t = begin; t < end; ++t) {
      const T* p = x + t / inner * n * inner + t % inner;
      T best = *p;
      int64_t at = 0;
      for (int64_t i = 1; i < n; ++i) {
        if (beats(which, p[i * inner], best)) {
          best = p[i * inner];
          at = i;
        }
      }
      take(t, best, at);
    }
  });
}

}  // namespace

size_t sum_workspace(DType dtype, int64_t outer, int64_t n, int64_t inner) {
  if (!is_floating(dtype) || inner != 1 || n <= kSplit) return 0;
  return static_cast<size_t>(outer * ((n + kSplit - 1) / kSplit)) * size_of(dtype);
}

void sum(DType dtype, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
         void* workspace) noexcept {
  visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      sum_floating(static_cast<const T*>(x), static_cast<T*>(y), outer, n, inner, static_cast<T*>(workspace));
    } else {
      sum_integer(static_cast<const T*>(x), static_cast<int64_t*>(y), outer, n, inner);
    }
  });
}

void extreme(Extreme which, DType dtype, const void* x, void* y, int64_t outer, int64_t n,
             int64_t inner) noexcept {
  visit_dtype(dtype, [&]<class T>() {
    scan_extremes(which, static_cast<const T*>(x), outer, n, inner,
                  [&](int64_t t, T best, int64_t) noexcept { static_cast<T*>(y)[t] = best; });
  });
}

void arg_extreme(Extreme which, DType dtype, const void* x, int64_t* y, int64_t outer, int64_t n,
                 int64_t inner) noexcept {
  visit_dtype(dtype, [&]<class T>() {
    scan_extremes(which, static_cast<const T*>(x), outer, n, inner,
                  [&](int64_t t, T, int64_t at) noexcept { y[t] = at; });
  });
}

}  // namespace omnigrad::kernels
