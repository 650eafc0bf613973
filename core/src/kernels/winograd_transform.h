// The linear maps of Winograd's F(4x4, 3x3) and of its transpose F(3x3, 4x4), and their way over an image: by
// vectors of channels, so that a tile needs no shuffles beyond one transposition of what is read. Products
// and blocking are elsewhere.
//
// With y = A' [(G w) * (B' x)], one trilinear form, the weight gradient is G' [(A gy) * (B' x)]: the same
// matrices. The points are 0, +-1/sqrt 2, +-sqrt 2, infinity, whose magnitudes multiply to 1: the rounding
// error of 64 channels is 1.5e-6 of the largest output, where the usual 0, +-1, +-2 give 1.1e-5.
#pragma once

#include "conv_gather.h"

namespace omnigrad::kernels {

inline constexpr int kWinogradTile = 4;                                  // outputs along an axis
inline constexpr int kWinogradPoints = 6;                                // evaluations along an axis
inline constexpr int kWinogradSize = kWinogradPoints * kWinogradPoints;  // products a tile

namespace winograd {

template <class T>
inline constexpr T kR = static_cast<T>(1.41421356237309504880L);  // the outer point; 1 / kR is the inner one

// B': six inputs to six evaluations.
struct FromInput {
  static constexpr int kCount = 6;
  template <class T>
  [[gnu::always_inline]] static void apply(const Vec<T>* d, Vec<T>* o) {
    using V = Vec<T>;
    constexpr T r2 = kR<T>;
    const V p = d[4] - T(2) * d[2], q = r2 * d[1] - (r2 / 2) * d[3];
    const V r = d[4] - T(0.5) * d[2], s = (r2 / 2) * d[1] - r2 * d[3];
    o[0] = (d[0] + d[4]) - T(2.5) * d[2];
    o[1] = p - q;
    o[2] = p + q;
    o[3] = r - s;
    o[4] = r + s;
    o[5] = (d[1] + d[5]) - T(2.5) * d[3];
  }
};

// A: four cotangents to six evaluations.
struct FromCotangent {
  static constexpr int kCount = 4;
  template <class T>
  [[gnu::always_inline]] static void apply(const Vec<T>* g, Vec<T>* o) {
    using V = Vec<T>;
    constexpr T r2 = kR<T>;
    const V p = g[0] + T(0.5) * g[2], q = (r2 / 2) * g[1] + (r2 / 4) * g[3];
    const V r = g[0] + T(2) * g[2], s = r2 * g[1] + (r2 * 2) * g[3];
    o[0] = g[0];
    o[1] = p + q;
    o[2] = p - q;
    o[3] = r + s;
    o[4] = r - s;
    o[5] = g[3];
  }
};

// G: three weights to six evaluations.
template <class T>
[[gnu::always_inline]] inline void from_weight(const Vec<T>* w, Vec<T>* o) {
  using V = Vec<T>;
  constexpr T r2 = kR<T>;
  const V p = (-T(2) / 3) * w[0] - (T(1) / 3) * w[2], q = (r2 / 3) * w[1];
  const V r = (T(1) / 6) * w[0] + (T(1) / 3) * w[2], s = (r2 / 6) * w[1];
  o[0] = w[0];
  o[1] = p - q;
  o[2] = p + q;
  o[3] = r + s;
  o[4] = r - s;
  o[5] = w[2];
}

// A': six products to four outputs.
template <class T>
[[gnu::always_inline]] inline void to_output(const Vec<T>* m, Vec<T>* o) {
  using V = Vec<T>;
  constexpr T r2 = kR<T>;
  const V p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
  o[0] = m[0] + p + r;
  o[1] = (r2 / 2) * q + r2 * s;
  o[2] = T(0.5) * p + T(2) * r;
  o[3] = (r2 / 4) * q + (r2 * 2) * s + m[5];
}

// G': six products to three weights.
template <class T>
[[gnu::always_inline]] inline void to_weight(const Vec<T>* m, Vec<T>* o) {
  using V = Vec<T>;
  constexpr T r2 = kR<T>;
  const V p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
  o[0] = m[0] - (T(2) / 3) * p + (T(1) / 6) * r;
  o[1] = (r2 / 6) * s - (r2 / 3) * q;
  o[2] = (T(1) / 3) * (r - p) + m[5];
}

}  // namespace winograd

// Channel vectors that go through a transform together: their evaluations of a tile fill a cache line.
inline constexpr int kStripVectors = 4;

// A plane of an image and the tiles laid over it: tile column 0 starts `pad` before the plane.
struct WinogradImage {
  int64_t height, width, pad_h, pad_w;
  int64_t channel_stride;
  int64_t tile_cols;

  int64_t line_pitch() const { return kWinogradTile * tile_cols + 8; }
  // Scratch that transform_strip() wants: lines of channel vectors, one a point, and a row of zeros.
  int64_t line_vectors() const { return kStripVectors * kWinogradPoints * line_pitch(); }
  int64_t zero_elements() const { return round_up(width, 4) + 4; }
};

// The columns of a row of tiles, down: a line of channel vectors a point, from `line` on.
template <class Map, class T>
void transform_columns(const WinogradImage& im, const T* plane, int channels, int64_t tile_row, Vec<T>* line,
                       const T* zeros) {
  constexpr int kL = kLanes<T>, kIn = Map::kCount;
  // Of the address's width, and copies: stores might change what is read through a reference.
  const ptrdiff_t width = static_cast<ptrdiff_t>(im.width), pad = static_cast<ptrdiff_t>(im.pad_w);
  const ptrdiff_t pitch = static_cast<ptrdiff_t>(im.line_pitch());
  const T* rows[kIn][kL];
  for (int i = 0; i < kIn; ++i) {
    const int64_t y = tile_row * kWinogradTile - im.pad_h + i;
    for (int c = 0; c < kL; ++c)
      rows[i][c] =
          c < channels && y >= 0 && y < im.height ? plane + c * im.channel_stride + y * im.width : zeros;
  }
  const auto columns = [&](ptrdiff_t x, auto&& load4) __attribute__((always_inline)) {
    Vec<T> v[kL][kIn];
#pragma clang loop unroll(full)
    for (int i = 0; i < kIn; ++i) {
      Vec<T> r[kL];
      for (int c = 0; c < kL; ++c) r[c] = load4(rows[i][c] + x);
      transpose(r);
      for (int c = 0; c < kL; ++c) v[c][i] = r[c];
    }
#pragma clang loop unroll(full)
    for (int c = 0; c < kL; ++c) {
      Vec<T> o[kWinogradPoints], *to = line + (x + pad + c);
      Map::template apply<T>(v[c], o);
      for (int k = 0; k < kWinogradPoints; ++k, to += pitch) *to = o[k];
    }
  };
  const ptrdiff_t reach = static_cast<ptrdiff_t>(kWinogradTile * im.tile_cols) + kIn - kWinogradTile - pad;
  const ptrdiff_t end = width < reach ? width : reach;
  ptrdiff_t x = pad < 0 ? -pad : 0;
  for (; x < end && x + kL <= width; x += kL) columns(x, [](const T* p) { return load(p); });
  if (x < end) {
    const int n = static_cast<int>(width - x);
    columns(x, [n](const T* p) { return load_partial(p, n); });
  }
}

// Evaluates a strip of tiles (row `tile_row`) for up to kStripVectors vectors of channels, of which
// `channels` exist, of the plane at `plane`: out[point * point_stride + tile * tile_stride + channel]. Beyond
// the plane all is zero. `line` was zeroed once for this image; `zeros` is.
template <class Map, class T>
void transform_strip(const WinogradImage& im, const T* plane, int vectors, int channels, int64_t tile_row,
                     Vec<T>* line, const T* zeros, T* out, ptrdiff_t point_stride, ptrdiff_t tile_stride) {
  constexpr int kL = kLanes<T>;
  const ptrdiff_t pitch = static_cast<ptrdiff_t>(im.line_pitch()), vector_step = kWinogradPoints * pitch;
  const ptrdiff_t tiles = static_cast<ptrdiff_t>(im.tile_cols);
  for (int v = 0; v < vectors; ++v)
    transform_columns<Map>(im, plane + v * kL * im.channel_stride, channels - v * kL, tile_row,
                           line + v * vector_step, zeros);
  for (int k = 0; k < kWinogradPoints; ++k)
    for (ptrdiff_t t = 0; t < tiles; ++t) {
      const Vec<T>* p = line + k * pitch + t * kWinogradTile;
      T* q = out + k * kWinogradPoints * point_stride + t * tile_stride;
      for (int v = 0; v < vectors; ++v, p += vector_step, q += kL) {
        Vec<T> o[kWinogradPoints];
        Map::template apply<T>(p, o);
        T* to = q;
        for (int j = 0; j < kWinogradPoints; ++j, to += point_stride) store(to, o[j]);
      }
    }
}

}  // namespace omnigrad::kernels
