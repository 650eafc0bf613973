// How a convolution reads its image: for a block of output positions and each tap, where the lanes of a panel
// come from. Forward and input gradient are both such gathers, with different axes. Private to the conv
// kernels; no products here.
#pragma once

#include "conv.h"
#include "microkernel.h"

namespace omnigrad::kernels {

// Along one axis, position j and tap u read source index j * step + offset + u * offset_step, if it is in [0,
// source), and position j stands at destination index dest_first + j * dest_step.
struct GatherAxis {
  int64_t positions = 1, taps = 1;
  int64_t step = 1, offset = 0, offset_step = 0;
  int64_t source = 1, source_stride = 0;  // in elements
  int64_t dest_first = 0, dest_step = 1, dest_stride = 0;
  int64_t tap_first = 0, tap_step = 1, tap_stride = 1;  // tap u is tap_first + u * tap_step in the weight
};

// Axis 0 is the batch, with one tap: panels run on from one image to the next.
struct Gather {
  int axes = 1;
  GatherAxis axis[kMaxConvRank + 1];
  int64_t channels = 0;        // of the source, all groups
  int64_t source_size = 0;     // elements of the source, all channels and images
  int64_t channel_stride = 0;  // elements of one channel of the source
  int64_t dest_channel_stride = 0;

  int64_t positions() const;
  int64_t taps() const;
  int64_t lead_taps() const { return taps() / axis[axes - 1].taps; }
  int64_t tap_in_weight(int64_t tap) const;
};

// y's positions reading x.
Gather forward_gather(const ConvShape& s);
// x's positions reading gy, one class of positions modulo the stride at a time: within a class only every few
// taps meet the stride, and the gather has unit step. A class is named by its first tap on each axis, below
// residue_classes(). False if x has no such position.
bool input_grad_gather(const ConvShape& s, const int64_t* first_tap, Gather* g);
int64_t residue_classes(const ConvShape& s, int axis);

// Where the lanes of one panel come from.
template <class T>
struct PanelSource {
  enum Kind : int32_t { kEmpty, kRun, kMaskedRun, kEveryOther, kScattered };
  Kind kind;
  int32_t base;                  // of lane 0, even if that lane is masked out
  int32_t offset[kTileCols<T>];  // negative: the lane reads padding
};

template <class T>
struct Panel {
  Vec<T> lo, hi;
};

template <class T>
inline void lane_mask(const PanelSource<T>& p, Mask<T>& lo, Mask<T>& hi) {
  if constexpr (sizeof(T) == 4) {
    i32x4 a, b;
    std::memcpy(&a, p.offset, 16);
    std::memcpy(&b, p.offset + 4, 16);
    lo = a >= 0, hi = b >= 0;
  } else {
    lo = i64x2{p.offset[0], p.offset[1]} >= 0, hi = i64x2{p.offset[2], p.offset[3]} >= 0;
  }
}

// The panel from `image`, the first image's channel. Lanes in padding are zero whatever lies there.
template <class T, int kKind>
[[gnu::always_inline]] inline Panel<T> load_panel(const PanelSource<T>& p, const T* image, Mask<T> lo,
                                                  Mask<T> hi) {
  using Source = PanelSource<T>;
  constexpr int kL = kLanes<T>;
  Panel<T> r{};
  if constexpr (kKind == Source::kRun || kKind == Source::kMaskedRun) {
    r = {load(image + p.base), load(image + p.base + kL)};
  } else if constexpr (kKind == Source::kEveryOther) {
    const T* q = image + p.base;
    r = {even_lanes(load(q), load(q + kL)), even_lanes(load(q + 2 * kL), load(q + 3 * kL))};
  } else if constexpr (kKind == Source::kScattered) {
    for (int i = 0; i < kL; ++i) {
      r.lo[i] = image[p.offset[i] < 0 ? 0 : p.offset[i]];
      r.hi[i] = image[p.offset[kL + i] < 0 ? 0 : p.offset[kL + i]];
    }
  }
  if constexpr (kKind != Source::kRun && kKind != Source::kEmpty) {
    r.lo = select(lo, r.lo, Vec<T>{});
    r.hi = select(hi, r.hi, Vec<T>{});
  }
  return r;
}

// Calls use(panel, i) for the `count` channels from `image` on: the kind is looked at once.
template <class T, class Use>
[[gnu::always_inline]] inline void for_channels(const PanelSource<T>& p, const T* image,
                                                ptrdiff_t channel_stride, ptrdiff_t count, Use&& use) {
  using Source = PanelSource<T>;
  Mask<T> lo, hi;
  lane_mask(p, lo, hi);
  switch (p.kind) {
#define OMNIGRAD_KIND(K)                                           \
  case Source::K:                                                  \
    for (ptrdiff_t i = 0; i < count; ++i, image += channel_stride) \
      use(load_panel<T, Source::K>(p, image, lo, hi), i);          \
    break;
    OMNIGRAD_KIND(kEmpty)
    OMNIGRAD_KIND(kRun)
    OMNIGRAD_KIND(kMaskedRun)
    OMNIGRAD_KIND(kEveryOther)
    OMNIGRAD_KIND(kScattered)
#undef OMNIGRAD_KIND
  }
}

// A block of up to `capacity` consecutive positions, described for every tap.
template <class T>
struct GatherBlock {
  static constexpr int kNR = kTileCols<T>;
  const Gather* gather;
  int64_t capacity;         // a multiple of the panel's width
  PanelSource<T>* sources;  // [panel][tap]
  int32_t* dest;            // [position]: destination of channel 0, or -1 past the end
  int32_t *lead, *last;     // [tap][position] of the leading axes and of the last
  int64_t taps = 0, count = 0, panels = 0;

  static size_t bytes(const Gather& g, int64_t capacity);
  GatherBlock(const Gather& g, int64_t capacity, void* memory);
  void describe(int64_t begin, int64_t end) noexcept;  // positions
};

// The depth of a product over (channel, tap) is walked in blocks: whole channels, or part of one channel's
// taps.
struct DepthBlocks {
  int64_t channels, taps;  // in all
  int64_t block_channels, block_taps;

  DepthBlocks(int64_t channels, int64_t taps, int64_t depth)
      : channels(channels),
        taps(taps),
        block_channels(taps < depth ? smaller(channels, depth / larger(taps, 1)) : 1),
        block_taps(smaller(taps, depth)) {}
  int64_t size() const { return block_channels * block_taps; }
  int64_t count() const {
    return taps == 0 || channels == 0 ? 0 : ceil_div(channels, block_channels) * ceil_div(taps, block_taps);
  }
  struct Block {
    int64_t channel, channels, tap, taps;
    int64_t depth() const { return channels * taps; }
  };
  Block at(int64_t i) const {
    const int64_t per_channel = ceil_div(taps, block_taps);
    const int64_t c = i / per_channel * block_channels, t = i % per_channel * block_taps;
    return {c, smaller(block_channels, channels - c), t, smaller(block_taps, taps - t)};
  }
};

// Packs block `d` of panel `panel` as [depth][width]. `image` is the first image's first channel of the
// group.
template <class T>
inline void pack_image_panel(const GatherBlock<T>& g, int64_t panel, const T* image,
                             const DepthBlocks::Block& d, T* out) {
  constexpr int kNR = kTileCols<T>;
  const ptrdiff_t stride = g.gather->channel_stride, step = d.taps * kNR;
  for (int64_t t = 0; t < d.taps; ++t, out += kNR)
    for_channels(g.sources[panel * g.taps + d.tap + t], image + d.channel * stride, stride, d.channels,
                 [&](Panel<T> v, ptrdiff_t c) {
                   store(out + c * step, v.lo);
                   store(out + c * step + kLanes<T>, v.hi);
                 });
}

// The three kernels of conv.h by panels packed from the image: the way that does any shape.
template <class T>
size_t gather_forward_workspace(const ConvShape& s);
template <class T>
void gather_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                    void* workspace) noexcept;
template <class T>
size_t gather_input_grad_workspace(const ConvShape& s);
template <class T>
void gather_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept;
template <class T>
size_t gather_weight_grad_workspace(const ConvShape& s);
template <class T>
void gather_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept;

// A workspace cut into 64-byte aligned pieces.
class Arena {
 public:
  explicit Arena(void* p) : p_(static_cast<char*>(p)) {}
  template <class U>
  U* take(int64_t n) {
    U* r = reinterpret_cast<U*>(p_);
    p_ += bytes<U>(n);
    return r;
  }
  template <class U>
  static size_t bytes(int64_t n) {
    return (static_cast<size_t>(n) * sizeof(U) + 63) & ~size_t{63};
  }

 private:
  char* p_;
};

}  // namespace omnigrad::kernels
