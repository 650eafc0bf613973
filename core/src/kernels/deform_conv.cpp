// Forward kernel of deformable convolution: samples a block of output positions straight into the packed
// right-hand panel of a product with the weights. Gradients are in deform_conv_grad.cpp.
#include "kernels/deform_conv.h"

#include "kernels/deform_sample.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {
int64_t product(const std::array<int64_t, 3>& v, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= v[i];
  return n;
}
}  // namespace

int64_t DeformConvSizes::pixels() const { return product(size, rank); }
int64_t DeformConvSizes::taps() const { return product(kernel, rank); }
int64_t DeformConvSizes::positions() const { return product(out, rank); }

template <class T>
void to_channels_last(const DeformConvSizes& sizes, const T* x, T* xt) noexcept {
  constexpr int L = kLanes<T>;
  constexpr int64_t kBlock = 256;
  const Segments<T> segments(sizes);
  const int64_t slots = segments.slots(), pixels = sizes.pixels(), blocks = ceil_div(pixels + 1, kBlock);
  parallel::parallel_for(sizes.batch * blocks, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t n = item / blocks, p0 = item % blocks * kBlock, p1 = std::min(p0 + kBlock, pixels);
      T* out = xt + n * (pixels + 1) * slots;
      if (p0 + kBlock > pixels) std::fill_n(out + pixels * slots, slots, T(0));
      for (Segment s = segments.first(); segments.valid(s); s = segments.after(s)) {
        for (int64_t c = s.begin; c < s.end; c += L) {
          const int count = static_cast<int>(std::min<int64_t>(L, s.end - c));
          const T* in = x + (n * sizes.channels + c) * pixels;
          T* to = out + s.slot + (c - s.begin);
          int64_t p = p0;
          if (count == L) {
            for (; p + L <= p1; p += L) {
              Vec<T> r[L];
              for (int l = 0; l < L; ++l) r[l] = load(in + l * pixels + p);
              transpose(r);
              for (int l = 0; l < L; ++l) store(to + (p + l) * slots, r[l]);
            }
          }
          for (; p < p1; ++p)
            for (int l = 0; l < L; ++l) to[p * slots + l] = l < count ? in[l * pixels + p] : T(0);
        }
      }
    }
  });
}
template void to_channels_last<float>(const DeformConvSizes&, const float*, float*) noexcept;
template void to_channels_last<double>(const DeformConvSizes&, const double*, double*) noexcept;

namespace {

constexpr int64_t kBlockPositions = 64;
constexpr int64_t kBlockDepth =
    1024;  // rows of a packed panel: 32 KB, or the channels of one tap where they are more
constexpr int64_t kMaxChunks = 8;  // each has its own panel

// Everything that follows from the sizes, and where the parts of the workspace are.
template <class T>
struct ForwardPlan {
  int64_t slots, taps, positions, blocks, chunks, tap_block, rows_per_group;
  T *xt, *packed_weight, *panels;
  int64_t panel_size;
  size_t bytes;

  ForwardPlan(const DeformConvSizes& s, void* workspace) {
    slots = Segments<T>(s).slots();
    taps = s.taps();
    positions = s.positions();
    blocks = s.batch * ceil_div(positions, kBlockPositions);
    chunks = std::min(blocks, kMaxChunks);
    tap_block = std::clamp<int64_t>(kBlockDepth / std::max<int64_t>(s.channels, 1), 1, taps);
    rows_per_group = round_up(s.out_channels / s.groups, kTileRows);
    panel_size = kBlockPositions * tap_block * s.channels;
    Carver carver(workspace);
    xt = carver.take<T>(s.batch * (s.pixels() + 1) * slots);
    packed_weight = carver.take<T>(s.depthwise() ? 0 : rows_per_group * taps * s.channels);
    panels = carver.take<T>(chunks * panel_size);
    bytes = carver.used();
  }
};

// weight [O, C/groups, taps] to [group][4 rows][tap][channel][4].
template <class T>
void pack_weight(const DeformConvSizes& s, const ForwardPlan<T>& plan, const T* weight) {
  const int64_t per_group = s.out_channels / s.groups, depth = s.channels / s.groups, taps = plan.taps;
  const int64_t tiles = plan.rows_per_group / kTileRows;
  parallel::parallel_for(s.groups * tiles, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t g = item / tiles, o = item % tiles * kTileRows;
      T* to = plan.packed_weight + item * taps * depth * kTileRows;
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < depth; ++c)
          for (int64_t i = 0; i < kTileRows; ++i)
            *to++ = o + i < per_group ? weight[((g * per_group + o + i) * depth + c) * taps + t] : T(0);
    }
  });
}

// The product of a block's samples and the weights, whatever the rank.
template <class T>
struct Products {
  static constexpr int L = kLanes<T>;
  static constexpr int kColumns = kTileCols<T>;

  const DeformConvSizes& s;
  const ForwardPlan<T>& plan;
  const T *weight, *bias;
  T* y;

  // Depthwise: each output is a sum over the taps of one channel.
  void weigh_channels(const T* panel, int64_t t0, int64_t span, T* out, int columns) const {
    const int64_t per_group = s.out_channels / s.groups;
    const ptrdiff_t step = static_cast<ptrdiff_t>(s.channels * kColumns);
    for (int64_t o = 0; o < s.out_channels; ++o, out += plan.positions) {
      const T *from = panel + o / per_group * kColumns, *w = weight + o * plan.taps + t0;
      Vec<T> a{}, b{};
      for (ptrdiff_t t = 0; t < span; ++t, from += step) {
        const Vec<T> k = splat(w[t]);
        a += k * load(from);
        b += k * load(from + L);
      }
      T line[kColumns];
      store(line, a);
      store(line + L, b);
      const bool add = bias || t0 > 0;
      for (int j = 0; j < columns; ++j) out[j] = add ? out[j] + line[j] : line[j];
    }
  }

  // Of taps [t0, t1), written or added to y, the first on top of the bias.
  void block(int64_t n, int64_t p0, int64_t p1, int64_t t0, int64_t t1, const T* panel) const {
    const int64_t depth = s.channels / s.groups, per_group = s.out_channels / s.groups, span = t1 - t0;
    T* out = y + n * s.out_channels * plan.positions;
    if (bias && t0 == 0)
      for (int64_t o = 0; o < s.out_channels; ++o)
        std::fill(out + o * plan.positions + p0, out + o * plan.positions + p1, bias[o]);
    for (int64_t p = p0; p < p1; p += kColumns) {
      const int columns = static_cast<int>(std::min<int64_t>(kColumns, p1 - p));
      if (s.depthwise()) {
        weigh_channels(panel + (p - p0) * s.channels * span, t0, span, out + p, columns);
        continue;
      }
      for (int64_t o = 0; o < s.out_channels;) {
        const int64_t g = o / per_group, in_group = o - g * per_group;
        const int rows = static_cast<int>(std::min<int64_t>(kTileRows, per_group - in_group));
        const T* a =
            plan.packed_weight + ((g * plan.rows_per_group + in_group) * plan.taps + t0 * kTileRows) * depth;
        const T* b = panel + ((p - p0) * s.channels + g * depth * kColumns) * span;
        const Tile<T> tile = multiply_panels(a, b, static_cast<ptrdiff_t>(span * depth));
        T* to = out + o * plan.positions + p;
        const ptrdiff_t stride = static_cast<ptrdiff_t>(plan.positions);
        const bool add = bias || t0 > 0;
        if (rows == kTileRows && columns == kColumns) {
          store_tile(tile, to, stride, add);
        } else {
          store_tile_part(tile, to, stride, 1, rows, columns, add);
        }
        o += rows;
      }
    }
  }
};

template <class T, int R>
struct Forward {
  static constexpr int L = kLanes<T>;
  static constexpr int kColumns = kTileCols<T>;
  static constexpr int kCorners = 1 << R;

  const Products<T>& products;
  const T *offset, *mask;
  const DeformConvSizes& s = products.s;
  const ForwardPlan<T>& plan = products.plan;
  Segments<T> segments{s};
  SampleSpace<T, R> space{s};

  // Samples of image n at positions [p0, p1), taps [t0, t1), as panels of kColumns positions:
  // [panel][group][tap - t0][channel][position], of one group where depthwise. Positions past the end are
  // zero.
  void pack(int64_t n, int64_t p0, int64_t p1, int64_t t0, int64_t t1, T* panel) const {
    const int64_t depth = s.depthwise() ? s.channels : s.channels / s.groups, span = t1 - t0;
    const ptrdiff_t slots = static_cast<ptrdiff_t>(plan.slots);
    const T* image = plan.xt + n * (s.pixels() + 1) * plan.slots;
    int origin[kBlockPositions][R];
    for (int64_t p = p0; p < p1; ++p) position_origin<R>(s, p, origin[p - p0]);
    Segment group_start = segments.first();
    for (int64_t og = 0; og < s.offset_groups; ++og) {
      const int64_t group_end = (og + 1) * (s.channels / s.offset_groups);
      Segment segment = group_start;
      for (int64_t t = t0; t < t1; ++t) {
        int reach[R];
        tap_reach<R>(s, t, reach);
        const int64_t tap = (n * s.offset_groups + og) * plan.taps + t;
        const T* shift = offset + tap * R * plan.positions;
        for (int64_t p = p0; p < round_up(p1 - p0, kColumns) + p0; p += L) {
          const T* base[L][kCorners];
          Vec<T> weight[L][kCorners];
          for (int l = 0; l < L; ++l) {
            Sample<T, R> sample;
            if (p + l < p1) {
              T at[R];
              for (int i = 0; i < R; ++i)
                at[i] = static_cast<T>(origin[p + l - p0][i] + reach[i]) + shift[i * plan.positions + p + l];
              space.template sample<false>(at, sample);
            } else {
              for (int k = 0; k < kCorners; ++k) sample.pixel[k] = space.outside, sample.weight[k] = 0;
            }
            const T scale = mask && p + l < p1 ? mask[tap * plan.positions + p + l] : T(1);
            for (int k = 0; k < kCorners; ++k) {
              base[l][k] = image + sample.pixel[k] * slots;
              weight[l][k] = splat(sample.weight[k] * scale);
            }
          }
          T* column = panel + (p - p0) / kColumns * kColumns * span * s.channels + (p - p0) % kColumns;
          for (segment = group_start; segment.begin < group_end; segment = segments.after(segment)) {
            const int64_t g = segment.begin / depth,
                          row = (g * span + t - t0) * depth + segment.begin - g * depth;
            sample_segment(base, weight, segment, column + row * kColumns);
          }
        }
      }
      group_start = segment;
    }
  }

  static void sample_segment(const T* const (&base)[L][kCorners], const Vec<T> (&weight)[L][kCorners],
                             const Segment& segment, T* to) {
    const ptrdiff_t count = static_cast<ptrdiff_t>(segment.end - segment.begin);
    const ptrdiff_t slot = static_cast<ptrdiff_t>(segment.slot);
    for (ptrdiff_t c = 0; c < count; c += L, to += L * kColumns) {
      Vec<T> r[L];
      for (int l = 0; l < L; ++l) {
        if constexpr (R == 2) {
          r[l] = (weight[l][0] * load(base[l][0] + slot + c) + weight[l][1] * load(base[l][1] + slot + c)) +
                 (weight[l][2] * load(base[l][2] + slot + c) + weight[l][3] * load(base[l][3] + slot + c));
        } else {
          r[l] = weight[l][0] * load(base[l][0] + slot + c);
          for (int k = 1; k < kCorners; ++k) r[l] += weight[l][k] * load(base[l][k] + slot + c);
        }
      }
      transpose(r);
      if (c + L <= count) {
        for (int l = 0; l < L; ++l) store(to + l * kColumns, r[l]);
      } else {
        for (int l = 0; l < count - c; ++l) store(to + l * kColumns, r[l]);
      }
    }
  }

  void block(int64_t index, T* panel) const {
    const int64_t per_image = ceil_div(plan.positions, kBlockPositions);
    const int64_t n = index / per_image, p0 = index % per_image * kBlockPositions;
    const int64_t p1 = std::min(p0 + kBlockPositions, plan.positions);
    for (int64_t t0 = 0; t0 < plan.taps; t0 += plan.tap_block) {
      const int64_t t1 = std::min(t0 + plan.tap_block, plan.taps);
      pack(n, p0, p1, t0, t1, panel);
      products.block(n, p0, p1, t0, t1, panel);
    }
  }
};

template <class T, int R>
void forward(const DeformConvSizes& s, const ForwardPlan<T>& plan, const T* offset, const T* weight,
             const T* mask, const T* bias, T* y) {
  const Products<T> products{s, plan, weight, bias, y};
  const Forward<T, R> work{products, offset, mask};
  parallel::parallel_for(plan.chunks, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t chunk = begin; chunk < end; ++chunk)
      for (int64_t i = plan.blocks * chunk / plan.chunks; i < plan.blocks * (chunk + 1) / plan.chunks; ++i)
        work.block(i, plan.panels + chunk * plan.panel_size);
  });
}

}  // namespace

template <class T>
size_t deform_conv_workspace(const DeformConvSizes& sizes) {
  return ForwardPlan<T>(sizes, nullptr).bytes;
}

template <class T>
void deform_conv(const DeformConvSizes& sizes, const T* x, const T* offset, const T* weight, const T* mask,
                 const T* bias, T* y, void* workspace) noexcept {
  const ForwardPlan<T> plan(sizes, workspace);
  if (plan.blocks == 0) return;
  to_channels_last(sizes, x, plan.xt);
  if (!sizes.depthwise()) pack_weight(sizes, plan, weight);
  if (sizes.rank == 1) return forward<T, 1>(sizes, plan, offset, weight, mask, bias, y);
  if (sizes.rank == 2) return forward<T, 2>(sizes, plan, offset, weight, mask, bias, y);
  forward<T, 3>(sizes, plan, offset, weight, mask, bias, y);
}

template size_t deform_conv_workspace<float>(const DeformConvSizes&);
template size_t deform_conv_workspace<double>(const DeformConvSizes&);
template void deform_conv<float>(const DeformConvSizes&, const float*, const float*, const float*,
                                 const float*, const float*, float*, void*) noexcept;
template void deform_conv<double>(const DeformConvSizes&, const double*, const double*, const double*,
                                  const double*, const double*, double*, void*) noexcept;

}  // namespace omnigrad::kernels
