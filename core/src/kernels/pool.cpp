// See pool.h. An output row is the unit of work. Outputs whose windows lie inside the row go a vector at a
// time for strides 1 and 2, the rest one by one: comparing and selecting have one result either way.
#include "pool.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../parallel/parallel.h"
#include "simd.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kChunkElements = 16384;
constexpr int64_t kMaxTapRows = 64;  // listed on the stack; larger windows go one by one

struct Window {
  int64_t first, count, step;
};

Window window(const PoolAxis& a, int64_t o) {
  if (a.adaptive) {
    const int64_t first = o * a.in / a.out;
    return {first, ((o + 1) * a.in + a.out - 1) / a.out - first, 1};
  }
  const int64_t start = o * a.stride - a.pad;
  if (a.dilation == 1) {  // the common case, without a division
    const int64_t first = std::max<int64_t>(start, 0);
    return {first, std::min(start + a.kernel, a.in) - first, 1};
  }
  const int64_t skip = start < 0 ? (-start + a.dilation - 1) / a.dilation : 0;
  const int64_t fit = start < a.in ? (a.in - 1 - start) / a.dilation + 1 : 0;
  return {start + skip * a.dilation, std::min(a.kernel, fit) - skip, a.dilation};
}

// Outputs [lo, hi) whose windows lie inside the input.
struct Interior {
  int64_t lo, hi;
};

Interior interior(const PoolAxis& a) {
  if (a.adaptive) return {0, 0};
  const int64_t lo = (a.pad + a.stride - 1) / a.stride;
  const int64_t room = a.in + a.pad - (a.kernel - 1) * a.dilation - 1;
  const int64_t hi = room < 0 ? 0 : std::min(a.out, room / a.stride + 1);
  return {std::min(lo, hi), hi};
}

// The taps of all axes but the last: calls fn(offset of an input row within the plane), in lexicographic
// order.
template <class Fn>
inline void each_tap_row(int outer, const Window* w, const int64_t* pitch, Fn fn) {
  int64_t at[kMaxPoolAxes] = {};
  int64_t offset = 0;
  for (int a = 0; a < outer; ++a) offset += w[a].first * pitch[a];
  for (;;) {
    fn(offset);
    int a = outer - 1;
    for (; a >= 0; --a) {
      offset += w[a].step * pitch[a];
      if (++at[a] < w[a].count) break;
      offset -= at[a] * w[a].step * pitch[a];
      at[a] = 0;
    }
    if (a < 0) return;
  }
}

// Their offsets listed, when there are few enough; 0 when not.
int list_tap_rows(int outer, const Window* w, const int64_t* pitch, std::ptrdiff_t* offsets) {
  int64_t n = 1;
  for (int a = 0; a < outer; ++a) n *= w[a].count;
  if (n > kMaxTapRows) return 0;
  int at = 0;
  each_tap_row(outer, w, pitch, [&](int64_t offset) { offsets[at++] = static_cast<std::ptrdiff_t>(offset); });
  return at;
}

// Lanes p[0], p[s], p[2s], ... of stride S, or s where S is 0; reads nothing behind the last of them.
template <int S>
inline f32x4 load_every(const float* p, std::ptrdiff_t s) {
  if constexpr (S == 1) return load(p);
  if constexpr (S == 2) return __builtin_shufflevector(load(p), load(p + 3), 0, 2, 5, 7);
  return f32x4{p[0], p[s], p[2 * s], p[3 * s]};
}
template <int S>
inline f64x2 load_every(const double* p, std::ptrdiff_t s) {
  if constexpr (S == 1) return load(p);
  return f64x2{p[0], p[s]};
}

inline void store_index(int64_t* p, i64x2 v) { std::memcpy(p, &v, 16); }
inline void store_index(int64_t* p, i32x4 v) {
  store_index(p, __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1), i64x2));
  store_index(p + 2, __builtin_convertvector(__builtin_shufflevector(v, v, 2, 3), i64x2));
}

// One output row of a plane: outer windows, and the last axis.
template <class T>
struct Row {
  const PoolAxis& last;
  int outer;
  const Window* windows;
  const int64_t* pitch;
  const T* plane;
  T* y;
  int64_t* index;

  // One by one. n rows of taps are listed, or none.
  void scalar(int64_t begin, int64_t end, const std::ptrdiff_t* tap_rows, int n) const {
    for (int64_t o = begin; o < end; ++o) {
      const Window w = window(last, o);
      const std::ptrdiff_t count = w.count, step = w.step, column = w.first;
      T best = -std::numeric_limits<T>::infinity();
      std::ptrdiff_t at = -1;
      const auto tap_row = [&](std::ptrdiff_t row) __attribute__((always_inline)) {
        std::ptrdiff_t i = row + column;
        if (at < 0) at = i;
        for (std::ptrdiff_t k = 0; k < count; ++k, i += step) {
          const T v = plane[i];
          const bool better = bool(v > best) | bool(v != v);  // selected, not branched on
          best = better ? v : best;
          at = better ? i : at;
        }
      };
      if (n > 0) {
        for (int r = 0; r < n; ++r) tap_row(tap_rows[r]);
      } else {
        each_tap_row(outer, windows, pitch, tap_row);
      }
      y[o] = best;
      index[o] = at;
    }
  }

  // U vectors of outputs from o on, stride S, K taps (0: any number).
  template <int S, int K, int U>
  [[gnu::always_inline]] void block(std::ptrdiff_t o, const std::ptrdiff_t* tap_rows, int n) const {
    constexpr std::ptrdiff_t L = kLanes<T>;
    using Lane = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    const std::ptrdiff_t stride = S > 0 ? S : last.stride, kernel = K > 0 ? K : last.kernel;
    const std::ptrdiff_t dilation = last.dilation, column = o * stride - last.pad;
    const Lane step = static_cast<Lane>(dilation);
    Mask<T> lane;
    for (int l = 0; l < L; ++l) lane[l] = static_cast<Lane>(l * stride);
    Vec<T> best[U];
    Mask<T> at[U];
    for (int u = 0; u < U; ++u) {
      best[u] = splat(-std::numeric_limits<T>::infinity());
      at[u] = lane + static_cast<Lane>(tap_rows[0] + column + u * L * stride);
    }
    for (int r = 0; r < n; ++r) {
      const std::ptrdiff_t first = tap_rows[r] + column;
      const T* p = plane + first;
      Mask<T> i = lane + static_cast<Lane>(first);
      for (std::ptrdiff_t k = 0; k < kernel; ++k) {
        for (int u = 0; u < U; ++u) {
          const Vec<T> v = load_every<S>(p + u * L * stride, stride);
          const Mask<T> better = (v > best[u]) | (v != v);
          best[u] = select(better, v, best[u]);
          at[u] = select(better, i + static_cast<Lane>(u * L * stride), at[u]);
        }
        i = i + step;
        p += dilation;
      }
    }
    for (int u = 0; u < U; ++u) {
      store(y + o + u * L, best[u]);
      store_index(index + o + u * L, at[u]);
    }
  }

  // [begin, end) of at least a vector, two at a time to hide latency. The last may overlap the one before.
  template <int S, int K>
  void vectors(int64_t begin, int64_t end, const std::ptrdiff_t* tap_rows, int n) const {
    constexpr std::ptrdiff_t L = kLanes<T>;
    const std::ptrdiff_t stop = end;
    std::ptrdiff_t o = begin;
    for (; o + 2 * L <= stop; o += 2 * L) block<S, K, 2>(o, tap_rows, n);
    for (; o < stop; o += L) block<S, K, 1>(std::min(o, stop - L), tap_rows, n);
  }
  template <int S>
  void vectors(int64_t begin, int64_t end, const std::ptrdiff_t* tap_rows, int n) const {
    switch (last.kernel) {
      case 2:
        return vectors<S, 2>(begin, end, tap_rows, n);
      case 3:
        return vectors<S, 3>(begin, end, tap_rows, n);
      default:
        return vectors<S, 0>(begin, end, tap_rows, n);
    }
  }
  void vectors(int64_t begin, int64_t end, const std::ptrdiff_t* tap_rows, int n) const {
    switch (last.stride) {
      case 1:
        return vectors<1>(begin, end, tap_rows, n);
      case 2:
        return vectors<2>(begin, end, tap_rows, n);
      default:
        return vectors<0>(begin, end, tap_rows, n);
    }
  }
};

}  // namespace

bool every_window_covers(const PoolAxis& axis) {
  for (int64_t o = 0; o < axis.out; ++o) {
    if (window(axis, o).count < 1) return false;
  }
  return true;
}

template <class T>
void max_pool(int64_t planes, int rank, const PoolAxis* axes, const T* x, T* y, int64_t* index) {
  const PoolAxis& last = axes[rank - 1];
  const int outer = rank - 1;
  int64_t pitch[kMaxPoolAxes];
  int64_t in_plane = last.in, rows = 1, taps = last.adaptive ? last.in / last.out + 1 : last.kernel;
  for (int a = outer - 1; a >= 0; --a) {
    pitch[a] = in_plane;
    in_plane *= axes[a].in;
    rows *= axes[a].out;
    taps *= axes[a].adaptive ? axes[a].in / axes[a].out + 1 : axes[a].kernel;
  }
  const Interior inside = interior(last);
  const bool vectorised =
      inside.hi - inside.lo >= kLanes<T> && in_plane <= std::numeric_limits<int32_t>::max();
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, last.out * taps));
  parallel::parallel_for(planes * rows, grain, [&](int64_t begin, int64_t end) {
    Window windows[kMaxPoolAxes];
    std::ptrdiff_t tap_rows[kMaxTapRows];
    for (int64_t r = begin; r < end; ++r) {
      int64_t rest = r % rows;
      for (int a = outer - 1; a >= 0; --a) {
        windows[a] = window(axes[a], rest % axes[a].out);
        rest /= axes[a].out;
      }
      const Row<T> row{
          last, outer, windows, pitch, x + r / rows * in_plane, y + r * last.out, index + r * last.out};
      const int n = list_tap_rows(outer, windows, pitch, tap_rows);
      int64_t done = 0;
      if (vectorised && n > 0) {
        row.scalar(0, inside.lo, tap_rows, n);
        row.vectors(inside.lo, inside.hi, tap_rows, n);
        done = inside.hi;
      }
      row.scalar(done, last.out, tap_rows, n);
    }
  });
}

template <class T>
void plane_gather(int64_t planes, int64_t in, int64_t out, const T* x, const int64_t* index, T* y) {
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, out));
  parallel::parallel_for(planes, grain, [=](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t j = p * out; j < (p + 1) * out; ++j) y[j] = x[p * in + index[j]];
    }
  });
}

template <class T>
void plane_scatter_add(int64_t planes, int64_t in, int64_t out, const T* y, const int64_t* index, T* x) {
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, in + out));
  parallel::parallel_for(planes, grain, [=](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* plane = x + p * in;
      std::memset(plane, 0, in * sizeof(T));
      for (int64_t j = p * out; j < (p + 1) * out; ++j) plane[index[j]] += y[j];
    }
  });
}

bool indices_within(const int64_t* index, int64_t n, int64_t limit) {
  uint64_t highest = 0;  // a negative index is a high one
  for (int64_t i = 0; i < n; ++i) highest = std::max(highest, static_cast<uint64_t>(index[i]));
  return n == 0 || highest < static_cast<uint64_t>(limit);
}

#define OMNIGRAD_INSTANTIATE(T)                                                           \
  template void max_pool<T>(int64_t, int, const PoolAxis*, const T*, T*, int64_t*);       \
  template void plane_gather<T>(int64_t, int64_t, int64_t, const T*, const int64_t*, T*); \
  template void plane_scatter_add<T>(int64_t, int64_t, int64_t, const T*, const int64_t*, T*);
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
