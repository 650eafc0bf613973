// Max pooling by windows of 2x2 that do not overlap: no indices, the gradient finds the maxima again. The
// order of comparisons is that of pool.cpp, so that equal maxima, zeros of either sign and NaN come out the
// same.
#include <algorithm>
#include <cstddef>

#include "kernels/pool.h"
#include "kernels/simd.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kChunkElements = 16384;

// body(rows a and b of the input, their offset, the output row's offset) for every row of windows.
template <class Body>
void each_row(int64_t planes, int64_t h, int64_t w, const Body& body) {
  const int64_t oh = h / 2, ow = w / 2;
  const int64_t grain = std::max<int64_t>(1, kChunkElements / std::max<int64_t>(1, 4 * ow));
  parallel::parallel_for(planes * oh, grain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) body((i / oh * h + i % oh * 2) * w, i * ow, i % oh);
  });
}

// The elements of the windows of one vector of outputs, in the order of comparison.
template <class T>
struct Quads {
  Vec<T> v[4];
  Quads(const T* a, const T* b) {
    constexpr ptrdiff_t L = kLanes<T>;
    const Vec<T> a0 = load(a), a1 = load(a + L), b0 = load(b), b1 = load(b + L);
    v[0] = even_lanes(a0, a1), v[1] = odd_lanes(a0, a1), v[2] = even_lanes(b0, b1), v[3] = odd_lanes(b0, b1);
  }
};

template <class T>
int arg_max(const T (&v)[4]) {
  int at = 0;
  for (int k = 1; k < 4; ++k)
    if (v[k] > v[at] || v[k] != v[k]) at = k;
  return at;
}

}  // namespace

template <class T>
void max_pool2x2(int64_t planes, int64_t h, int64_t w, const T* x, T* y) noexcept {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t width = static_cast<ptrdiff_t>(w), ow = width / 2;
  each_row(planes, h, w, [=](int64_t from, int64_t to, int64_t) noexcept {
    const T *a = x + from, *b = a + width;
    T* out = y + to;
    Mask<T> odd{};  // a NaN, or infinities that cancelled
    ptrdiff_t i = 0;
    for (; i + L <= ow; i += L) {
      const Quads<T> q(a + 2 * i, b + 2 * i);
      const Vec<T> sum = (q.v[0] + q.v[1]) + (q.v[2] + q.v[3]);
      odd |= sum != sum;
      store(out + i, pmax(pmax(pmax(q.v[0], q.v[1]), q.v[2]), q.v[3]));
    }
    if (any(odd)) i = 0;
    for (; i < ow; ++i) {
      const T v[4] = {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]};
      out[i] = v[arg_max(v)];
    }
  });
}

template <class T>
void max_pool2x2_grad(int64_t planes, int64_t h, int64_t w, const T* x, const T* g, T* gx) noexcept {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t width = static_cast<ptrdiff_t>(w), ow = width / 2;
  const int64_t oh = h / 2;
  if (oh == 0) std::fill_n(gx, planes * h * w, T(0));
  each_row(planes, h, w, [=](int64_t from, int64_t to, int64_t row) noexcept {
    const T *a = x + from, *b = a + width, *in = g + to;
    T *ga = gx + from, *gb = ga + width;
    ptrdiff_t i = 0;
    for (; i + L <= ow; i += L) {
      const Quads<T> q(a + 2 * i, b + 2 * i);
      Mask<T> taken[4];
      Vec<T> best = q.v[0];
      for (int k = 1; k < 4; ++k) {
        taken[k] = (q.v[k] > best) | (q.v[k] != q.v[k]);
        best = select(taken[k], q.v[k], best);
      }
      Mask<T> left = reinterpret_cast<Mask<T>>(load(in + i));
      Vec<T> part[4];
      for (int k = 3; k > 0; --k) {
        part[k] = reinterpret_cast<Vec<T>>(left & taken[k]);
        left &= ~taken[k];
      }
      part[0] = reinterpret_cast<Vec<T>>(left);
      store(ga + 2 * i, zip_low(part[0], part[1]));
      store(ga + 2 * i + L, zip_high(part[0], part[1]));
      store(gb + 2 * i, zip_low(part[2], part[3]));
      store(gb + 2 * i + L, zip_high(part[2], part[3]));
    }
    for (; i < ow; ++i) {
      const T v[4] = {a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1]};
      const int at = arg_max(v);
      for (int k = 0; k < 4; ++k) (k < 2 ? ga : gb)[2 * i + k % 2] = k == at ? in[i] : T(0);
    }
    if (width % 2) ga[width - 1] = gb[width - 1] = 0;
    if (h % 2 && row == oh - 1) std::fill_n(gb + width, width, T(0));
  });
}

template void max_pool2x2<float>(int64_t, int64_t, int64_t, const float*, float*) noexcept;
template void max_pool2x2<double>(int64_t, int64_t, int64_t, const double*, double*) noexcept;
template void max_pool2x2_grad<float>(int64_t, int64_t, int64_t, const float*, const float*, float*) noexcept;
template void max_pool2x2_grad<double>(int64_t, int64_t, int64_t, const double*, const double*,
                                       double*) noexcept;

}  // namespace omnigrad::kernels
