// How the gradient of deformable convolution is cut into units, and where each finds its part of the
// workspace: all of it follows from the sizes. Private to deform_conv_grad.cpp.
#pragma once

#include "kernels/deform_sample.h"

namespace omnigrad::kernels {

inline constexpr int64_t kSlabChannels = 32;  // channels walked together
inline constexpr int64_t kMaxPositions = 64;  // positions of a block
inline constexpr int64_t kBlockArea = 65536;  // samples of a block, where that is fewer positions
inline constexpr int64_t kTargetUnits = 8;  // enough for the threads there are; more would cost partial sums
inline constexpr int64_t kMaxChunks = 16;   // each has its own scratch memory

// Channels of one segment that are walked together.
struct Slab {
  int64_t begin, end, slot;
};

// Calls visit(slab, index) for the slabs of an offset group, in order; returns how many there are.
template <class T, class Visit>
int64_t each_slab(const DeformConvSizes& s, int64_t offset_group, Visit&& visit) {
  const Segments<T> segments(s);
  const int64_t width = s.channels / s.offset_groups, first = offset_group * width;
  int64_t index = 0;
  for (Segment g = segments.first(); segments.valid(g) && g.begin < first + width; g = segments.after(g)) {
    if (g.begin < first) continue;
    for (int64_t c = g.begin; c < g.end; c += kSlabChannels)
      visit(Slab{c, std::min(c + kSlabChannels, g.end), g.slot + c - g.begin}, index++);
  }
  return index;
}

template <class T>
struct Scratch {
  T* gx;       // [pixels + 1][padded channels]; the last pixel takes what falls outside
  T* weight;   // [column / kTileCols][output channel][kTileCols]; depthwise [output of a channel][column]
  T* gy_rows;  // [position / 4][output channel][4]; depthwise [output of a channel][position][channel]
  T* gy_cols;  // [output channel / 4][position][4]
  T* gsample;  // [position][column]: gradient of the unmasked samples, column = tap * padded channels +
               // channel
  T* sample;   // [column / kTileCols][position][kTileCols]: masked samples
  T* gweight;  // [output channel][column]
};

template <class T>
struct GradPlan {
  int64_t slots, taps, positions, pixels, per_group, parts, image_blocks, units, chunks, columns, block;
  T *xt, *partial_offset, *partial_mask, *partial_weight;
  char* scratch;
  size_t scratch_bytes, bytes;

  GradPlan(const DeformConvSizes& s, void* workspace) {
    slots = Segments<T>(s).slots();
    taps = s.taps();
    positions = s.positions();
    pixels = s.pixels();
    per_group = s.out_channels / s.groups;
    int64_t slabs = 0;
    for (int64_t og = 0; og < s.offset_groups; ++og)
      slabs = std::max(slabs, each_slab<T>(s, og, [](const Slab&, int64_t) {}));
    parts = std::min(slabs, kTargetUnits);
    image_blocks = std::min(s.batch, std::max<int64_t>(ceil_div(kTargetUnits, s.offset_groups * parts), 1));
    units = image_blocks * s.offset_groups * parts;
    chunks = std::min(units, kMaxChunks);
    columns = round_up(taps * padded(std::min(kSlabChannels, s.channels)), kTileCols<T>);
    block =
        std::clamp<int64_t>(kBlockArea / columns / kTileCols<T> * kTileCols<T>, kTileCols<T>, kMaxPositions);
    Carver carver(workspace);
    xt = carver.take<T>(s.batch * (pixels + 1) * slots);
    partial_offset = carver.take<T>(parts > 1 ? parts * offset_count(s) : 0);
    partial_mask = carver.take<T>(parts > 1 ? parts * mask_count(s) : 0);
    partial_weight = carver.take<T>(image_blocks > 1 ? image_blocks * weight_count(s) : 0);
    Carver one(nullptr);
    carve(one, s);
    scratch_bytes = one.used();
    scratch = carver.take<char>(chunks * static_cast<int64_t>(scratch_bytes));
    bytes = carver.used();
  }

  static int64_t padded(int64_t channels) { return round_up(channels, kLanes<T>); }
  int64_t mask_count(const DeformConvSizes& s) const { return s.batch * s.offset_groups * taps * positions; }
  int64_t offset_count(const DeformConvSizes& s) const { return mask_count(s) * s.rank; }
  int64_t weight_count(const DeformConvSizes& s) const {
    return s.out_channels * (s.channels / s.groups) * taps;
  }

  Scratch<T> carve(Carver& carver, const DeformConvSizes& s) const {
    const int64_t rows = round_up(per_group, kTileRows);
    Scratch<T> r;
    r.gx = carver.take<T>((pixels + 1) * padded(std::min(kSlabChannels, s.channels)));
    r.weight = carver.take<T>(columns * per_group);
    const int64_t abreast = s.depthwise() ? padded(std::min(kSlabChannels, s.channels)) : 1;
    r.gy_rows = carver.take<T>(block * per_group * abreast);
    r.gy_cols = carver.take<T>(s.depthwise() ? 0 : block * rows);
    r.gsample = carver.take<T>(block * columns);
    r.sample = carver.take<T>(block * columns);
    r.gweight = carver.take<T>(rows * columns);
    return r;
  }
  Scratch<T> scratch_of(int64_t chunk, const DeformConvSizes& s) const {
    Carver carver(scratch + chunk * static_cast<int64_t>(scratch_bytes));
    return carve(carver, s);
  }
};

}  // namespace omnigrad::kernels
