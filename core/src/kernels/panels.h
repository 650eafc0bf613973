// Packing of small operands for the product tile (microkernel.h), and tiles written in other orders than
// rows: what attention and recurrent layers share.
#pragma once

#include <algorithm>

#include "kernels/microkernel.h"

namespace omnigrad::kernels {

// rows [depth, n] to panels [n / kTileCols][depth][kTileCols], columns past n and rows up to `padded` zero.
template <class T>
[[gnu::noinline]] void pack_rows(const T* rows, int64_t depth, int64_t padded, int64_t n, T* to) {
  constexpr int64_t kN = kTileCols<T>;
  for (int64_t j = 0; j < n; j += kN) {
    const ptrdiff_t count = static_cast<ptrdiff_t>(std::min(kN, n - j)), pitch = static_cast<ptrdiff_t>(n);
    const T* from = rows + j;
    for (int64_t d = 0; d < depth; ++d, from += pitch, to += kN) {
      if (count == kN) {
        store(to, load(from));
        store(to + kLanes<T>, load(from + kLanes<T>));
      } else {
        for (ptrdiff_t c = 0; c < kN; ++c) to[c] = c < count ? from[c] : T(0);
      }
    }
    to = std::fill_n(to, (padded - depth) * kN, T(0));
  }
}

// to[d * width + r] = rows[r * depth + d] * scale for `count` <= kTileCols rows, rows up to `width` zero.
template <class T>
[[gnu::noinline]] void interleave(const T* rows, int64_t count, int64_t depth, T scale, T* to,
                                  int64_t width) {
  constexpr ptrdiff_t L = kLanes<T>;
  const ptrdiff_t n = static_cast<ptrdiff_t>(depth), step = static_cast<ptrdiff_t>(width);
  for (ptrdiff_t r0 = 0; r0 < step; r0 += L) {
    const T* from = rows + r0 * n;
    ptrdiff_t d = 0;
    if (r0 + L <= count) {
      for (; d + L <= n; d += L) {
        Vec<T> r[L];
        for (ptrdiff_t l = 0; l < L; ++l) r[l] = load(from + l * n + d) * splat(scale);
        transpose(r);
        for (ptrdiff_t l = 0; l < L; ++l) store(to + (d + l) * step + r0, r[l]);
      }
    }
    for (; d < n; ++d)
      for (ptrdiff_t l = 0; l < L; ++l)
        to[d * step + r0 + l] = r0 + l < count ? from[l * n + d] * scale : T(0);
  }
}
// rows [n, depth] to panels as above: the right-hand side of a product with their transpose.
template <class T>
inline void pack_transposed(const T* rows, int64_t n, int64_t depth, T* to) {
  constexpr int64_t kN = kTileCols<T>;
  for (int64_t j = 0; j < n; j += kN)
    interleave(rows + j * depth, std::min(kN, n - j), depth, T(1), to + j * depth, kN);
}
// Rows [count, depth] times scale to a left-hand panel [depth][4], rows past count zero.
template <class T>
inline void pack_group(const T* rows, int64_t count, int64_t depth, T scale, T* to) {
  interleave(rows, std::min<int64_t>(count, kTileRows), depth, scale, to, kTileRows);
}

// A tile to [column][4], the order of a left-hand panel.
inline void store_by_column(const Tile<float>& t, float* to) {
  for (int h = 0; h < 2; ++h) {
    f32x4 r[4] = {t.v[0][h], t.v[1][h], t.v[2][h], t.v[3][h]};
    transpose(r);
    for (int j = 0; j < 4; ++j) store(to + (h * 4 + j) * 4, r[j]);
  }
}
inline void store_by_column(const Tile<double>& t, double* to) {
  for (int h = 0; h < 2; ++h)
    for (int i = 0; i < 4; i += 2) {
      f64x2 r[2] = {t.v[i][h], t.v[i + 1][h]};
      transpose(r);
      for (int j = 0; j < 2; ++j) store(to + (h * 2 + j) * 4 + i, r[j]);
    }
}

template <class T>
[[gnu::noinline]] void put_tile(const Tile<T>& t, T* to, int64_t stride, int64_t rows, int64_t columns,
                                bool add) {
  const ptrdiff_t step = static_cast<ptrdiff_t>(stride);
  if (rows >= kTileRows && columns >= kTileCols<T>) return store_tile(t, to, step, add);
  store_tile_part(t, to, step, 1, static_cast<int>(std::min<int64_t>(rows, kTileRows)),
                  static_cast<int>(std::min<int64_t>(columns, kTileCols<T>)), add);
}

}  // namespace omnigrad::kernels
