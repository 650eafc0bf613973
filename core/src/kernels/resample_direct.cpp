// See resample_direct.h. Reductions add rows first, then columns, as the table kernel orders its axes.
#include "resample_direct.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "../parallel/parallel.h"
#include "simd.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kChunkElements = 16384;

inline f32x4 low_twice(f32x4 a) { return __builtin_shufflevector(a, a, 0, 0, 1, 1); }
inline f32x4 high_twice(f32x4 a) { return __builtin_shufflevector(a, a, 2, 2, 3, 3); }
inline f64x2 low_twice(f64x2 a) { return __builtin_shufflevector(a, a, 0, 0); }
inline f64x2 high_twice(f64x2 a) { return __builtin_shufflevector(a, a, 1, 1); }

// Runs body(plane, row) over all rows of the smaller image.
template <class Body>
void each_row(int64_t planes, int64_t h, int64_t w, Body body) {
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, 4 * w));
  parallel::parallel_for(planes * h, grain, [&](int64_t begin, int64_t end) {
    int64_t p = begin / h, r = begin % h;
    for (int64_t i = begin; i < end; ++i) {
      body(p, r);
      if (++r == h) r = 0, ++p;
    }
  });
}

// dst[2i] = dst[2i + 1] = f(src[i]); f maps a vector or a scalar.
template <class T, class F>
void spread_row(const T* src, int64_t width, T* dst, F f) {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t w = static_cast<ptrdiff_t>(width);
  ptrdiff_t i = 0;
  const auto vector = [&](ptrdiff_t at) __attribute__((always_inline)) {
    const Vec<T> v = f(load(src + at));
    store(dst + 2 * at, low_twice(v));
    store(dst + 2 * at + L, high_twice(v));
  };
  for (; i + 2 * L <= w; i += 2 * L) {
    vector(i);
    vector(i + L);
  }
  for (; i + L <= w; i += L) vector(i);
  for (; i < w; ++i) dst[2 * i] = dst[2 * i + 1] = f(src[i]);
}

// dst[i] = f(f(a[2i]) + f(b[2i])) + f(f(a[2i + 1]) + f(b[2i + 1])).
template <class T, class F>
void gather_row(const T* a, const T* b, int64_t width, T* dst, F f) {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t w = static_cast<ptrdiff_t>(width);
  ptrdiff_t i = 0;
  const auto vector = [&](ptrdiff_t at) __attribute__((always_inline)) {
    const Vec<T> lo = f(load(a + 2 * at)) + f(load(b + 2 * at));
    const Vec<T> hi = f(load(a + 2 * at + L)) + f(load(b + 2 * at + L));
    store(dst + at, f(even_lanes(lo, hi)) + f(odd_lanes(lo, hi)));
  };
  for (; i + 2 * L <= w; i += 2 * L) {
    vector(i);
    vector(i + L);
  }
  for (; i + L <= w; i += L) vector(i);
  for (; i < w; ++i) dst[i] = f(f(a[2 * i]) + f(b[2 * i])) + f(f(a[2 * i + 1]) + f(b[2 * i + 1]));
}

}  // namespace

template <class T>
void nearest2x(int64_t planes, int64_t h, int64_t w, const T* x, T* y) {
  each_row(planes, h, w, [=](int64_t p, int64_t r) {
    T* dst = y + (p * h + r) * 4 * w;
    const T* src = x + (p * h + r) * w;
    const auto same = [](auto v) { return v; };
    spread_row(src, w, dst, same);
    spread_row(src, w, dst + 2 * w, same);
  });
}

template <class T>
void nearest2x_adjoint(int64_t planes, int64_t h, int64_t w, const T* g, T* gx) {
  each_row(planes, h, w, [=](int64_t p, int64_t r) {
    const T* src = g + (p * h + r) * 4 * w;
    gather_row(src, src + 2 * w, w, gx + (p * h + r) * w, [](auto v) { return v; });
  });
}

template <class T>
void average2x2(int64_t planes, int64_t h, int64_t w, const T* x, T* y) {
  const int64_t oh = h / 2, ow = w / 2;
  each_row(planes, oh, ow, [=](int64_t p, int64_t r) {
    const T* src = x + (p * h + 2 * r) * w;
    gather_row(src, src + w, ow, y + (p * oh + r) * ow, [](auto v) { return T(0.5) * v; });
  });
}

template <class T>
void average2x2_adjoint(int64_t planes, int64_t h, int64_t w, const T* g, T* gx) {
  const int64_t oh = h / 2, ow = w / 2;
  each_row(planes, oh, ow, [=](int64_t p, int64_t r) {
    T* dst = gx + (p * h + 2 * r) * w;
    const T* src = g + (p * oh + r) * ow;
    const auto quarter = [](auto v) { return T(0.5) * (T(0.5) * v); };
    for (int i = 0; i < 2; ++i, dst += w) {
      spread_row(src, ow, dst, quarter);
      if (w % 2) dst[w - 1] = 0;
    }
    if (h % 2 && r == oh - 1) std::memset(dst, 0, w * sizeof(T));
  });
}

#define OMNIGRAD_INSTANTIATE(T)                                                \
  template void nearest2x<T>(int64_t, int64_t, int64_t, const T*, T*);         \
  template void nearest2x_adjoint<T>(int64_t, int64_t, int64_t, const T*, T*); \
  template void average2x2<T>(int64_t, int64_t, int64_t, const T*, T*);        \
  template void average2x2_adjoint<T>(int64_t, int64_t, int64_t, const T*, T*);
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
