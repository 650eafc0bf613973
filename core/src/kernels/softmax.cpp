// Rows are read three times: largest element, sum of exponentials, result; the gradients twice. NaN needs no
// test: the comparisons of pmax may drop it, but x - max brings it back into the sum. An exponential of
// -88 and less (doubles: -709) counts as 0.
#include "kernels/softmax.h"

#include <algorithm>
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
[[gnu::noinline]] Vec<T> load_tail(const T* p, int count) {
  Vec<T> v = splat(-std::numeric_limits<T>::infinity());
  std::memcpy(&v, p, static_cast<size_t>(count) * sizeof(T));
  return v;
}
template <class T>
inline Vec<T> load_row(const T* p, int count) {
  return count == kLanes<T> ? load(p) : load_tail(p, count);
}
template <class T>
inline void store_row(T* p, Vec<T> v, int count) {
  if (count == kLanes<T>) return store(p, v);
  store_partial(p, v, count);
}

// The largest element of a row and the sum of exp(x - largest), which y gets if kStore.
template <class T, bool kStore>
void exponentials(const T* x, T* y, ptrdiff_t n, T& top, T& total) {
  using V = Vec<T>;
  V m[kUnroll], sum[kUnroll];
  for (int u = 0; u < kUnroll; ++u) m[u] = splat(-std::numeric_limits<T>::infinity()), sum[u] = V{};
  each_vector<T>(n, [&](int u, ptrdiff_t i, int count) { m[u] = pmax(m[u], load_row(x + i, count)); });
  const V largest = pmax(pmax(m[0], m[1]), pmax(m[2], m[3]));
  top = largest[0];
  for (int l = 1; l < kLanes<T>; ++l) top = top < largest[l] ? largest[l] : top;
  const V shift = splat(top);
  each_vector<T>(n, [&](int u, ptrdiff_t i, int count) {
    const V e = vexp_flush(load_row(x + i, count) - shift);
    if constexpr (kStore) store_row(y + i, e, count);
    sum[u] += e;
  });
  total = sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}
template <class T>
void scale_row(T* y, ptrdiff_t n, T by) {
  const Vec<T> scale = splat(by);
  each_vector<T>(
      n, [=](int, ptrdiff_t i, int count) { store_row(y + i, load_row(y + i, count) * scale, count); });
}
template <class T>
T log_of(T x) {
  return vlog(splat(x))[0];
}

template <class T, bool kLog>
void row(const T* x, T* y, ptrdiff_t n) {
  T top, total;
  exponentials<T, !kLog>(x, y, n, top, total);
  if constexpr (kLog) {
    const Vec<T> shift = splat(top), log_total = splat(log_of(total));
    each_vector<T>(n, [=](int, ptrdiff_t i, int count) {
      store_row(y + i, (load_row(x + i, count) - shift) - log_total, count);
    });
  } else {
    scale_row(y, n, T(1) / total);
  }
}

// Columns [j, j + count) of one [n, inner] slice: a vector holds neighbouring columns, so each lane is a row
// of its own.
constexpr int kColumnVectors = 16;

// The largest element of each column, and the sum of exp(x - largest).
template <class T>
void column_sums(const T* x, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t count, Vec<T>* shift, Vec<T>* sum) {
  constexpr int L = kLanes<T>;
  const int vectors = static_cast<int>((count + L - 1) / L);
  const auto part = [&](int v) { return static_cast<int>((v + 1) * L <= count ? L : count - v * L); };
  for (int v = 0; v < vectors; ++v) shift[v] = splat(-std::numeric_limits<T>::infinity()), sum[v] = Vec<T>{};
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v) shift[v] = pmax(shift[v], load_row(x + i * inner + v * L, part(v)));
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v)
      sum[v] += vexp_flush(load_row(x + i * inner + v * L, part(v)) - shift[v]);
}

template <class T, bool kLog>
void columns(const T* x, T* y, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t count) {
  using V = Vec<T>;
  constexpr int L = kLanes<T>;
  V shift[kColumnVectors], sum[kColumnVectors];
  const int vectors = static_cast<int>((count + L - 1) / L);
  const auto part = [&](int v) { return static_cast<int>((v + 1) * L <= count ? L : count - v * L); };
  column_sums(x, n, inner, count, shift, sum);
  for (int v = 0; v < vectors; ++v) sum[v] = kLog ? vlog(sum[v]) : splat(T(1)) / sum[v];
  for (ptrdiff_t i = 0; i < n; ++i)
    for (int v = 0; v < vectors; ++v) {
      const ptrdiff_t at = i * inner + v * L;
      const V from = load_row(x + at, part(v)) - shift[v];
      store_row(y + at, kLog ? from - sum[v] : vexp_flush(from) * sum[v], part(v));
    }
}

// The gradient of a row from its result y and the cotangent g: y (g - sum(g y)), or g - exp(y) sum(g).
template <class T, bool kLog>
void grad_row(const T* y, const T* g, T* gx, ptrdiff_t n) {
  using V = Vec<T>;
  V sum[kUnroll];
  for (int u = 0; u < kUnroll; ++u) sum[u] = V{};
  const auto zero_past = [](const T* p, int count) {
    return count == kLanes<T> ? load(p) : load_partial(p, count);
  };
  each_vector<T>(n, [&](int u, ptrdiff_t i, int count) {
    const V v = zero_past(g + i, count);
    sum[u] += kLog ? v : v * zero_past(y + i, count);
  });
  const V total = splat(sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3])));
  each_vector<T>(n, [&](int, ptrdiff_t i, int count) {
    const V v = zero_past(g + i, count), w = zero_past(y + i, count);
    store_row(gx + i, kLog ? v - vexp_flush(w) * total : w * (v - total), count);
  });
}

template <class T, bool kLog>
void grad_columns(const T* y, const T* g, T* gx, ptrdiff_t n, ptrdiff_t inner, ptrdiff_t count) {
  T sum[kColumnVectors * kLanes<T>] = {};
  for (ptrdiff_t i = 0; i < n; ++i) {
    for (ptrdiff_t j = 0; j < count; ++j)
      sum[j] += kLog ? g[i * inner + j] : g[i * inner + j] * y[i * inner + j];
  }
  for (ptrdiff_t i = 0; i < n; ++i) {
    for (ptrdiff_t j = 0; j < count; j += kLanes<T>) {
      const ptrdiff_t at = i * inner + j;
      const int lanes = static_cast<int>(count - j < kLanes<T> ? count - j : kLanes<T>);
      const Vec<T> v = load_row(g + at, lanes), w = load_row(y + at, lanes), total = load(sum + j);
      store_row(gx + at, kLog ? v - vexp_flush(w) * total : w * (v - total), lanes);
    }
  }
}

// Shares [outer, n, inner] out: each_row(offset) where inner is 1, else each_block(offset, columns).
template <class Row, class Block>
void run(int64_t outer, int64_t n, int64_t inner, int64_t width, Row each_row, Block each_block) {
  if (n == 0 || inner == 0) return;
  if (inner == 1) {
    parallel::parallel_for(outer, (kGrainElements + n - 1) / n, [=](int64_t begin, int64_t end) noexcept {
      for (int64_t r = begin; r < end; ++r) each_row(r * n);
    });
    return;
  }
  const int64_t blocks = (inner + width - 1) / width, block_elements = n * (inner < width ? inner : width);
  const int64_t grain = (kGrainElements + block_elements - 1) / block_elements;
  parallel::parallel_for(outer * blocks, grain, [=](int64_t begin, int64_t end) noexcept {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t j = b % blocks * width, at = b / blocks * n * inner + j;
      each_block(at, static_cast<ptrdiff_t>(inner - j < width ? inner - j : width));
    }
  });
}

template <class T, bool kLog>
void forward(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) {
  const ptrdiff_t length = static_cast<ptrdiff_t>(n), step = static_cast<ptrdiff_t>(inner);
  run(
      outer, n, inner, kColumnVectors * kLanes<T>,
      [=](int64_t at) noexcept { row<T, kLog>(x + at, y + at, length); },
      [=](int64_t at, ptrdiff_t count) noexcept { columns<T, kLog>(x + at, y + at, length, step, count); });
}
template <class T, bool kLog>
void backward(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) {
  const ptrdiff_t length = static_cast<ptrdiff_t>(n), step = static_cast<ptrdiff_t>(inner);
  run(
      outer, n, inner, kColumnVectors * kLanes<T>,
      [=](int64_t at) noexcept { grad_row<T, kLog>(y + at, g + at, gx + at, length); },
      [=](int64_t at, ptrdiff_t count) noexcept {
        grad_columns<T, kLog>(y + at, g + at, gx + at, length, step, count);
      });
}
}  // namespace

template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept {
  forward<T, false>(x, y, outer, n, inner);
}
template <class T>
void log_softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept {
  forward<T, true>(x, y, outer, n, inner);
}
template <class T>
void softmax_grad(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) noexcept {
  backward<T, false>(y, g, gx, outer, n, inner);
}
template <class T>
void log_softmax_grad(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) noexcept {
  backward<T, true>(y, g, gx, outer, n, inner);
}

template <class T>
void cross_entropy(const T* x, const int64_t* target, T* loss, int64_t outer, int64_t n,
                   int64_t inner) noexcept {
  const ptrdiff_t length = static_cast<ptrdiff_t>(n), step = static_cast<ptrdiff_t>(inner);
  run(
      outer, n, inner, kColumnVectors * kLanes<T>,
      [=](int64_t at) noexcept {
        const int64_t t = target[at / n];
        T top, total;
        if (t >= 0) exponentials<T, false>(x + at, nullptr, length, top, total);
        loss[at / n] = t < 0 ? T(0) : log_of(total) - (x[at + t] - top);
      },
      [=](int64_t at, ptrdiff_t count) noexcept {
        // A column's sum of exponentials is what its log-softmax lost of any element.
        const int64_t first = at / (n * inner) * inner + at % (n * inner);
        Vec<T> top[kColumnVectors], total[kColumnVectors];
        column_sums(x + at, length, step, count, top, total);
        for (ptrdiff_t j = 0; j < count; ++j) {
          const int64_t t = target[first + j];
          const int v = static_cast<int>(j / kLanes<T>), l = static_cast<int>(j % kLanes<T>);
          loss[first + j] = t < 0 ? T(0) : log_of(total[v][l]) - (x[at + t * inner + j] - top[v][l]);
        }
      });
}

template <class T>
void cross_entropy_grad(const T* x, const int64_t* target, const T* g, T* gx, int64_t outer, int64_t n,
                        int64_t inner) noexcept {
  const ptrdiff_t length = static_cast<ptrdiff_t>(n), step = static_cast<ptrdiff_t>(inner);
  run(
      outer, n, inner, kColumnVectors * kLanes<T>,
      [=](int64_t at) noexcept {
        const int64_t t = target[at / n];
        if (t < 0) {
          std::fill_n(gx + at, n, T(0));
          return;
        }
        T top, total;
        exponentials<T, true>(x + at, gx + at, length, top, total);
        scale_row(gx + at, length, g[at / n] / total);
        gx[at + t] -= g[at / n];
      },
      [=](int64_t at, ptrdiff_t count) noexcept {
        const int64_t first = at / (n * inner) * inner + at % (n * inner);
        columns<T, false>(x + at, gx + at, length, step, count);
        for (ptrdiff_t i = 0; i < length; ++i)
          for (ptrdiff_t j = 0; j < count; ++j) {
            T& to = gx[at + i * step + j];
            const int64_t t = target[first + j];
            to = t < 0 ? T(0) : g[first + j] * (t == i ? to - T(1) : to);
          }
      });
}

#define OMNIGRAD_INSTANTIATE(T)                                                                     \
  template void softmax<T>(const T*, T*, int64_t, int64_t, int64_t) noexcept;                       \
  template void log_softmax<T>(const T*, T*, int64_t, int64_t, int64_t) noexcept;                   \
  template void softmax_grad<T>(const T*, const T*, T*, int64_t, int64_t, int64_t) noexcept;        \
  template void log_softmax_grad<T>(const T*, const T*, T*, int64_t, int64_t, int64_t) noexcept;    \
  template void cross_entropy<T>(const T*, const int64_t*, T*, int64_t, int64_t, int64_t) noexcept; \
  template void cross_entropy_grad<T>(const T*, const int64_t*, const T*, T*, int64_t, int64_t,     \
                                      int64_t) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
