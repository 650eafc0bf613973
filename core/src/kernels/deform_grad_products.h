// What the gradient of deformable convolution does whatever the rank: packing, products, writing back.
// Private to deform_conv_grad.cpp.
#pragma once

#include <cstring>

#include "kernels/deform_grad_plan.h"

namespace omnigrad::kernels {

// Where a unit works now.
struct GradPlace {
  Slab slab;
  int64_t group, offset_group, image;
  int64_t width;    // of the slab, padded to whole vectors
  int64_t columns;  // taps * width, padded to whole tiles
};

template <class T>
struct GradProducts {
  static constexpr int L = kLanes<T>;
  static constexpr int kColumns = kTileCols<T>;
  using V = Vec<T>;
  using Place = GradPlace;

  const DeformConvSizes& s;
  const GradPlan<T>& plan;
  const T *weight, *gy;
  DeformConvGrads<T> grads;

  // gsample: gy by weights.
  [[gnu::noinline]] void sample_products(const Place& at, int64_t count, const Scratch<T>& scratch) const {
    if (s.depthwise()) {
      for (int64_t p = 0; p < count; ++p)
        for (int64_t t = 0; t < plan.taps; ++t)
          for (int64_t c = 0; c < at.width; c += L) {
            const int64_t k = t * at.width + c;
            V sum{};
            for (int64_t j = 0; j < plan.per_group; ++j)
              sum += load(scratch.gy_rows + (j * plan.block + p) * at.width + c) *
                     load(scratch.weight + j * at.columns + k);
            store(scratch.gsample + p * at.columns + k, sum);
          }
      return;
    }
    for (int64_t p = 0; p < count; p += kTileRows)
      for (int64_t k = 0; k < at.columns; k += kColumns)
        store_tile(multiply_panels(scratch.gy_rows + p * plan.per_group, scratch.weight + k * plan.per_group,
                                   static_cast<ptrdiff_t>(plan.per_group)),
                   scratch.gsample + p * at.columns + k, static_cast<ptrdiff_t>(at.columns), false);
  }

  // gweight: gy by masked samples, added.
  [[gnu::noinline]] void weight_products(const Place& at, int64_t count, const Scratch<T>& scratch) const {
    if (s.depthwise()) {
      const ptrdiff_t width = static_cast<ptrdiff_t>(at.width);
      for (int64_t j = 0; j < plan.per_group; ++j)
        for (int64_t k = 0; k < plan.taps * at.width; k += L) {
          const T *from = scratch.gy_rows + j * plan.block * at.width + k % at.width,
                  *sample = scratch.sample + k / kColumns * plan.block * kColumns + k % kColumns;
          V sum{};
          for (ptrdiff_t p = 0; p < count; ++p) sum += load(from + p * width) * load(sample + p * kColumns);
          T* to = scratch.gweight + j * at.columns + k;
          store(to, load(to) + sum);
        }
      return;
    }
    for (int64_t k = 0; k < at.columns; k += kColumns)
      for (int64_t o = 0; o < plan.per_group; o += kTileRows)
        store_tile(multiply_panels(scratch.gy_cols + o * plan.block, scratch.sample + k * plan.block,
                                   static_cast<ptrdiff_t>(count)),
                   scratch.gweight + o * at.columns + k, static_cast<ptrdiff_t>(at.columns), true);
  }

  // Depthwise: weights and gy with the slab's channels side by side, zero past its end.
  [[gnu::noinline]] void spread_weight(const Place& at, T* to) const {
    for (int64_t j = 0; j < plan.per_group; ++j)
      for (int64_t t = 0; t < plan.taps; ++t)
        for (int64_t c = 0; c < at.width; ++c) {
          const int64_t channel = at.slab.begin + c;
          to[j * at.columns + t * at.width + c] =
              channel < at.slab.end ? weight[(channel * plan.per_group + j) * plan.taps + t] : T(0);
        }
  }
  [[gnu::noinline]] void spread_gy(const Place& at, int64_t p0, int64_t count,
                                   const Scratch<T>& scratch) const {
    for (int64_t j = 0; j < plan.per_group; ++j)
      for (int64_t c = 0; c < at.width; c += L) {
        const T* rows[L];
        for (int64_t l = 0; l < L; ++l) {
          const int64_t channel = std::min(at.slab.begin + c + l, at.slab.end - 1);
          rows[l] = gy + (at.image * s.out_channels + channel * plan.per_group + j) * plan.positions + p0;
        }
        T* to = scratch.gy_rows + j * plan.block * at.width + c;
        const int64_t here = std::min<int64_t>(L, at.slab.end - at.slab.begin - c);
        int64_t p = 0;
        if (here == L) {
          for (; p + L <= count; p += L) {
            V r[L];
            for (int l = 0; l < L; ++l) r[l] = load(rows[l] + p);
            transpose(r);
            for (int l = 0; l < L; ++l) store(to + (p + l) * at.width, r[l]);
          }
        }
        for (; p < count; ++p)
          for (int64_t l = 0; l < L; ++l) to[p * at.width + l] = l < here ? rows[l][p] : T(0);
      }
  }

  [[gnu::noinline]] void pack_weight(const Place& at, T* to) const {
    const int64_t depth = s.channels / s.groups, c0 = at.slab.begin - at.group * depth,
                  width = at.slab.end - at.slab.begin;
    std::fill_n(to, at.columns * plan.per_group, T(0));
    for (int64_t o = 0; o < plan.per_group; ++o) {
      const T* row = weight + ((at.group * plan.per_group + o) * depth + c0) * plan.taps;
      for (int64_t c = 0; c < width; ++c)
        for (int64_t t = 0; t < plan.taps; ++t) {
          const int64_t k = t * at.width + c;
          to[k / kColumns * kColumns * plan.per_group + o * kColumns + k % kColumns] = row[c * plan.taps + t];
        }
    }
  }

  [[gnu::noinline]] void pack_gy(const Place& at, int64_t p0, int64_t count,
                                 const Scratch<T>& scratch) const {
    const T* from = gy + (at.image * s.out_channels + at.group * plan.per_group) * plan.positions + p0;
    for (int64_t o = 0; o < plan.per_group; ++o) {
      const T* row = from + o * plan.positions;
      T* to = scratch.gy_rows + o * 4;
      int64_t p = 0;
      for (; p + 4 <= count; p += 4) std::memcpy(to + p * plan.per_group, row + p, 4 * sizeof(T));
      for (; p < round_up(count, 4); ++p) to[p / 4 * 4 * plan.per_group + p % 4] = p < count ? row[p] : T(0);
    }
    if (!grads.weight) return;
    for (int64_t o = 0; o < plan.per_group; o += 4) {
      const T* row = from + o * plan.positions;
      T* to = scratch.gy_cols + o * plan.block;
      int64_t p = 0;
      if constexpr (L == 4) {
        for (; p + 4 <= count && o + 4 <= plan.per_group; p += 4) {
          V r[4];
          for (int i = 0; i < 4; ++i) r[i] = load(row + i * plan.positions + p);
          transpose(r);
          for (int i = 0; i < 4; ++i) store(to + (p + i) * 4, r[i]);
        }
      }
      for (; p < count; ++p)
        for (int64_t i = 0; i < 4; ++i)
          to[p * 4 + i] = o + i < plan.per_group ? row[i * plan.positions + p] : T(0);
    }
  }

  [[gnu::noinline]] void write_gx(const Place& at, const T* gx) const {
    for (int64_t c = at.slab.begin; c < at.slab.end; c += L) {
      const int count = static_cast<int>(std::min<int64_t>(L, at.slab.end - c));
      const T* from = gx + (c - at.slab.begin);
      T* to = grads.x + (at.image * s.channels + c) * plan.pixels;
      int64_t p = 0;
      for (; p + L <= plan.pixels; p += L) {
        V r[L];
        for (int l = 0; l < L; ++l) r[l] = load(from + (p + l) * at.width);
        transpose(r);
        for (int l = 0; l < count; ++l) store(to + l * plan.pixels + p, r[l]);
      }
      for (; p < plan.pixels; ++p)
        for (int l = 0; l < count; ++l) to[l * plan.pixels + p] = from[p * at.width + l];
    }
  }

  [[gnu::noinline]] void write_gweight(const Place& at, int64_t image_block, const T* from) const {
    const int64_t depth = s.channels / s.groups, c0 = at.slab.begin - at.group * depth;
    T* to = plan.image_blocks == 1 ? grads.weight : plan.partial_weight + image_block * plan.weight_count(s);
    for (int64_t o = 0; o < plan.per_group; ++o)
      for (int64_t c = 0; c < at.slab.end - at.slab.begin; ++c) {
        const int64_t row = s.depthwise() ? (at.slab.begin + c) * plan.per_group + o
                                          : (at.group * plan.per_group + o) * depth + c0 + c;
        for (int64_t t = 0; t < plan.taps; ++t)
          to[row * plan.taps + t] = from[o * at.columns + t * at.width + c];
      }
  }
};

}  // namespace omnigrad::kernels
