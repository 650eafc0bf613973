// The 4 x 2-vector product tile that gemm and convolution share, and the panels it reads: A panel [k][4], B
// panel [k][columns]. A larger tile spills registers and loses a third of the speed. Nothing here knows where
// panels come from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd.h"

namespace omnigrad::kernels {

inline constexpr int kTileRows = 4;
template <class T>
inline constexpr int kTileCols = 2 * kLanes<T>;

// Below this many multiply-adds a product takes less time than waking a thread.
inline constexpr int64_t kSerialWork = int64_t{1} << 20;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }

template <class T>
struct Tile {
  Vec<T> v[kTileRows][2];
};

// Adds to the tile, for k in order, a_i[k * a_step] * b[k * b_step + j]. Packed panels pass constant steps,
// which become immediate offsets; an operand that is read once or twice is cheaper read where it lies.
template <class T>
[[gnu::always_inline]] inline void accumulate(Tile<T>& t, const T* a0, const T* a1, const T* a2, const T* a3,
                                              ptrdiff_t a_step, const T* b, ptrdiff_t b_step,
                                              ptrdiff_t depth) {
  constexpr int kL = kLanes<T>;
  Vec<T> c00 = t.v[0][0], c01 = t.v[0][1], c10 = t.v[1][0], c11 = t.v[1][1];
  Vec<T> c20 = t.v[2][0], c21 = t.v[2][1], c30 = t.v[3][0], c31 = t.v[3][1];
  for (ptrdiff_t k = 0; k < depth; ++k) {
    const Vec<T> b0 = load(b), b1 = load(b + kL);
    Vec<T> x = splat(*a0);
    c00 += x * b0;
    c01 += x * b1;
    x = splat(*a1);
    c10 += x * b0;
    c11 += x * b1;
    x = splat(*a2);
    c20 += x * b0;
    c21 += x * b1;
    x = splat(*a3);
    c30 += x * b0;
    c31 += x * b1;
    a0 += a_step, a1 += a_step, a2 += a_step, a3 += a_step, b += b_step;
  }
  t = {{{c00, c01}, {c10, c11}, {c20, c21}, {c30, c31}}};
}

template <class T>
[[gnu::always_inline]] inline Tile<T> multiply(const T* a0, const T* a1, const T* a2, const T* a3,
                                               ptrdiff_t a_step, const T* b, ptrdiff_t b_step,
                                               ptrdiff_t depth) {
  Tile<T> t{};
  accumulate(t, a0, a1, a2, a3, a_step, b, b_step, depth);
  return t;
}

// A product whose depth lies in pieces: at these offsets of both operands.
struct DepthPiece {
  int64_t a, b, depth;
};

// Row i of the tile reads a[i * a_row + k * a_step].
template <class T>
[[gnu::always_inline]] inline Tile<T> multiply_pieces(const T* a, ptrdiff_t a_row, ptrdiff_t a_step,
                                                      const T* b, ptrdiff_t b_step, const DepthPiece* pieces,
                                                      int64_t count) {
  Tile<T> t{};
  for (int64_t i = 0; i < count; ++i) {
    const T* p = a + pieces[i].a;
    accumulate(t, p, p + a_row, p + 2 * a_row, p + 3 * a_row, a_step, b + pieces[i].b, b_step,
               pieces[i].depth);
  }
  return t;
}

template <class T>
[[gnu::always_inline]] inline Tile<T> multiply_panels(const T* a, const T* b, ptrdiff_t depth) {
  return multiply(a, a + 1, a + 2, a + 3, kTileRows, b, kTileCols<T>, depth);
}

// Writes a whole tile at c, or adds it.
template <class T>
[[gnu::always_inline]] inline void store_tile(const Tile<T>& t, T* c, ptrdiff_t row_stride, bool add) {
  for (int i = 0; i < kTileRows; ++i, c += row_stride)
    for (int h = 0; h < 2; ++h) {
      T* p = c + h * kLanes<T>;
      store(p, add ? load(p) + t.v[i][h] : t.v[i][h]);
    }
}

// The same for the first rows x cols of a tile, with any column stride.
template <class T>
inline void store_tile_part(const Tile<T>& t, T* c, ptrdiff_t row_stride, ptrdiff_t col_stride, int rows,
                            int cols, bool add) {
  for (int i = 0; i < rows; ++i) {
    T line[kTileCols<T>];
    store(line, t.v[i][0]);
    store(line + kLanes<T>, t.v[i][1]);
    for (int j = 0; j < cols; ++j) {
      T& p = c[i * row_stride + j * col_stride];
      p = add ? p + line[j] : line[j];
    }
  }
}

}  // namespace omnigrad::kernels
