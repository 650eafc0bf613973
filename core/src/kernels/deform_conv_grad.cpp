// Gradients of deformable convolution, fused: for a block of positions, the gradient of the samples is a
// product of gy and the weights, and one walk over the samples then gives what x, offset and mask get and the
// packed panel for the product that the weights get. Forward is in deform_conv.cpp.
//
// Who owns what: a unit is a block of images times a part of an offset group's channels. It alone adds to
// those channels of gx. Gradients of offset and mask sum over the parts, those of the weights over the blocks
// of images: each unit writes its own partial sum, and these are added in the order of parts and blocks. Both
// splits follow from the sizes alone.
#include <cstring>

#include "kernels/deform_conv.h"
#include "kernels/deform_grad_plan.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

template <class T, int R>
struct Backward {
  static constexpr int L = kLanes<T>;
  static constexpr int kColumns = kTileCols<T>;
  static constexpr int kCorners = 1 << R;
  using V = Vec<T>;

  const DeformConvSizes& s;
  const GradPlan<T>& plan;
  const T *offset, *weight, *mask, *gy;
  DeformConvGrads<T> grads;
  SampleSpace<T, R> space{s};

  // Where a unit works now.
  struct Place {
    Slab slab;
    int64_t group, offset_group, image;
    int64_t width;    // of the slab, padded to whole vectors
    int64_t columns;  // taps * width, padded to whole tiles
    T *goffset, *gmask;
    bool add;  // to goffset and gmask: not the part's first slab
  };

  void unit(int64_t index, const Scratch<T>& scratch) const {
    const int64_t part = index % plan.parts, og = index / plan.parts % s.offset_groups;
    const int64_t image_block = index / plan.parts / s.offset_groups;
    const int64_t slabs = each_slab<T>(s, og, [](const Slab&, int64_t) {});
    const int64_t first = slabs * part / plan.parts, last = slabs * (part + 1) / plan.parts;
    const bool direct = plan.parts == 1;
    each_slab<T>(s, og, [&](const Slab& slab, int64_t i) {
      if (i < first || i >= last) return;
      Place at{slab, slab.begin / (s.channels / s.groups), og, 0, 0, 0, nullptr, nullptr, i > first};
      at.width = GradPlan<T>::padded(slab.end - slab.begin);
      at.columns = round_up(plan.taps * at.width, kColumns);
      if (grads.offset)
        at.goffset = direct ? grads.offset : plan.partial_offset + part * plan.offset_count(s);
      if (grads.mask) at.gmask = direct ? grads.mask : plan.partial_mask + part * plan.mask_count(s);
      walk(at, image_block, scratch);
    });
  }

  void walk(Place& at, int64_t image_block, const Scratch<T>& scratch) const {
    const bool want_samples = grads.x || grads.offset || grads.mask;
    if (want_samples) pack_weight(at, scratch.weight);
    std::fill_n(scratch.gweight, round_up(plan.per_group, kTileRows) * at.columns, T(0));
    const int64_t n1 = s.batch * (image_block + 1) / plan.image_blocks;
    for (at.image = s.batch * image_block / plan.image_blocks; at.image < n1; ++at.image) {
      std::fill_n(scratch.gx, (plan.pixels + 1) * at.width, T(0));
      for (int64_t p0 = 0; p0 < plan.positions; p0 += plan.block) {
        const int64_t p1 = std::min(p0 + plan.block, plan.positions);
        pack_gy(at, p0, p1 - p0, scratch);
        if (want_samples) {
          for (int64_t p = 0; p < p1 - p0; p += kTileRows)
            for (int64_t k = 0; k < at.columns; k += kColumns)
              store_tile(
                  multiply_panels(scratch.gy_rows + p * plan.per_group, scratch.weight + k * plan.per_group,
                                  static_cast<ptrdiff_t>(plan.per_group)),
                  scratch.gsample + p * at.columns + k, static_cast<ptrdiff_t>(at.columns), false);
        }
        if (want_samples && grads.weight) {
          samples<true, true>(at, p0, p1, scratch);
        } else if (want_samples) {
          samples<true, false>(at, p0, p1, scratch);
        } else {
          samples<false, true>(at, p0, p1, scratch);
        }
        if (grads.weight) {
          for (int64_t k = 0; k < at.columns; k += kColumns)
            for (int64_t o = 0; o < plan.per_group; o += kTileRows)
              store_tile(multiply_panels(scratch.gy_cols + o * plan.block, scratch.sample + k * plan.block,
                                         static_cast<ptrdiff_t>(p1 - p0)),
                         scratch.gweight + o * at.columns + k, static_cast<ptrdiff_t>(at.columns), true);
        }
      }
      if (grads.x) write_gx(at, scratch.gx);
    }
    if (grads.weight) write_gweight(at, image_block, scratch.gweight);
  }

  void pack_weight(const Place& at, T* to) const {
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

  void pack_gy(const Place& at, int64_t p0, int64_t count, const Scratch<T>& scratch) const {
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

  // Walks the samples of positions [p0, p1): kGrads for x, offset and mask, kValues for the panel of masked
  // samples.
  template <bool kGrads, bool kValues>
  void samples(const Place& at, int64_t p0, int64_t p1, const Scratch<T>& scratch) const {
    int origin[kMaxPositions][R];
    for (int64_t p = p0; p < p1; ++p) position_origin<R>(s, p, origin[p - p0]);
    const T* image = plan.xt + at.image * (plan.pixels + 1) * plan.slots + at.slab.slot;
    for (int64_t t = 0; t < plan.taps; ++t) {
      int reach[R];
      tap_reach<R>(s, t, reach);
      const int64_t tap = (at.image * s.offset_groups + at.offset_group) * plan.taps + t;
      const T* shift = offset + tap * R * plan.positions;
      for (int64_t p = p0; p < p1; ++p) {
        T place[R];
        for (int i = 0; i < R; ++i)
          place[i] = static_cast<T>(origin[p - p0][i] + reach[i]) + shift[i * plan.positions + p];
        Sample<T, R> sample;
        space.template sample<kGrads>(place, sample);
        const T scale = mask ? mask[tap * plan.positions + p] : T(1);
        T dots[kCorners];
        sample_channels<kGrads, kValues>(at, sample, image, scale, scratch, p - p0, t * at.width, dots);
        if constexpr (kGrads) write_coordinates(at, sample, dots, scale, tap, p);
      }
    }
  }

  template <bool kGrads, bool kValues>
  void sample_channels(const Place& at, const Sample<T, R>& sample, const T* image, T scale,
                       const Scratch<T>& scratch, ptrdiff_t p, ptrdiff_t column, T (&dots)[kCorners]) const {
    const T* x[kCorners];
    T* gx[kCorners];
    V weight_of[kCorners], sum[kCorners];
    const ptrdiff_t slots = static_cast<ptrdiff_t>(plan.slots), width = static_cast<ptrdiff_t>(at.width);
    for (int k = 0; k < kCorners; ++k) {
      x[k] = image + sample.pixel[k] * slots;
      gx[k] = scratch.gx + sample.pixel[k] * width;
      weight_of[k] = splat(sample.weight[k]);
      sum[k] = V{};
    }
    const V scale_of = splat(scale);
    const size_t panel = static_cast<size_t>(plan.block) * kColumns;
    const T* g = scratch.gsample + p * at.columns + column;
    T* values = scratch.sample + p * kColumns;
    const auto step = [&](ptrdiff_t c, V d) {
      const V dm = d * scale_of;
      V value{};
      for (int k = 0; k < kCorners; ++k) {
        const V corner = load(x[k] + c);
        if constexpr (kValues) value = k == 0 ? weight_of[k] * corner : value + weight_of[k] * corner;
        if constexpr (kGrads) {
          sum[k] += d * corner;
          store(gx[k] + c, load(gx[k] + c) + weight_of[k] * dm);
        }
      }
      if constexpr (kValues) {
        const size_t to = static_cast<size_t>(column + c);
        store(values + to / kColumns * panel + to % kColumns, value * scale_of);
      }
    };
    const ptrdiff_t channels = static_cast<ptrdiff_t>(at.slab.end - at.slab.begin);
    ptrdiff_t c = 0;
    for (; c + L <= channels; c += L) step(c, kGrads ? load(g + c) : V{});
    if (c < channels) {
      V d{};
      if constexpr (kGrads)  // padding must not bring in the NaN that an infinite gy makes of it
        for (int l = 0; l < L; ++l) d[l] = c + l < channels ? g[c + l] : T(0);
      step(c, d);
    }
    if constexpr (kGrads)
      for (int k = 0; k < kCorners; ++k) dots[k] = sum_lanes(sum[k]);
  }

  void write_coordinates(const Place& at, const Sample<T, R>& sample, const T (&dots)[kCorners], T scale,
                         int64_t tap, int64_t p) const {
    if (at.gmask) {
      T g = 0;
      for (int k = 0; k < kCorners; ++k) g += sample.weight[k] * dots[k];
      T& to = at.gmask[tap * plan.positions + p];
      to = at.add ? to + g : g;
    }
    if (at.goffset) {
      for (int i = 0; i < R; ++i) {
        T g = 0;
        for (int k = 0; k < kCorners; ++k) g += sample.slope[i][k] * dots[k];
        T& to = at.goffset[(tap * R + i) * plan.positions + p];
        to = at.add ? to + scale * g : scale * g;
      }
    }
  }

  void write_gx(const Place& at, const T* gx) const {
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

  void write_gweight(const Place& at, int64_t image_block, const T* from) const {
    const int64_t depth = s.channels / s.groups, c0 = at.slab.begin - at.group * depth;
    T* to = plan.image_blocks == 1 ? grads.weight : plan.partial_weight + image_block * plan.weight_count(s);
    for (int64_t o = 0; o < plan.per_group; ++o)
      for (int64_t c = 0; c < at.slab.end - at.slab.begin; ++c)
        for (int64_t t = 0; t < plan.taps; ++t)
          to[((at.group * plan.per_group + o) * depth + c0 + c) * plan.taps + t] =
              from[o * at.columns + t * at.width + c];
  }
};

// to[i] = sum over the partial sums, in their order.
template <class T>
void combine(const T* partial, int64_t count, int64_t n, T* to) {
  parallel::parallel_for(n, 16384, [=](int64_t begin, int64_t end) noexcept {
    std::copy(partial + begin, partial + end, to + begin);
    for (int64_t k = 1; k < count; ++k)
      for (int64_t i = begin; i < end; ++i) to[i] += partial[k * n + i];
  });
}

template <class T, int R>
void backward(const DeformConvSizes& s, const GradPlan<T>& plan, const T* offset, const T* weight,
              const T* mask, const T* gy, const DeformConvGrads<T>& grads) {
  const Backward<T, R> work{s, plan, offset, weight, mask, gy, grads};
  parallel::parallel_for(plan.chunks, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Scratch<T> scratch = plan.scratch_of(chunk, s);
      for (int64_t i = plan.units * chunk / plan.chunks; i < plan.units * (chunk + 1) / plan.chunks; ++i)
        work.unit(i, scratch);
    }
  });
}

// Offset groups need not have the same number of slabs; a part without slabs must count as zero.
template <class T>
void clear_empty_parts(const DeformConvSizes& s, const GradPlan<T>& plan, const DeformConvGrads<T>& grads) {
  const int64_t run = plan.taps * plan.positions;
  for (int64_t og = 0; og < s.offset_groups; ++og) {
    const int64_t slabs = each_slab<T>(s, og, [](const Slab&, int64_t) {});
    for (int64_t part = 0; part < plan.parts; ++part) {
      if (slabs * part / plan.parts < slabs * (part + 1) / plan.parts) continue;
      for (int64_t n = 0; n < s.batch; ++n) {
        const int64_t at = (part * s.batch + n) * s.offset_groups + og;
        if (grads.mask) std::fill_n(plan.partial_mask + at * run, run, T(0));
        if (grads.offset) std::fill_n(plan.partial_offset + at * run * s.rank, run * s.rank, T(0));
      }
    }
  }
}

}  // namespace

template <class T>
size_t deform_conv_grad_workspace(const DeformConvSizes& sizes) {
  return GradPlan<T>(sizes, nullptr).bytes;
}

template <class T>
void deform_conv_grad(const DeformConvSizes& s, const T* x, const T* offset, const T* weight, const T* mask,
                      const T* gy, const DeformConvGrads<T>& grads, void* workspace) noexcept {
  const GradPlan<T> plan(s, workspace);
  if (plan.units == 0) {  // no images: only the weights have elements
    if (grads.weight) std::fill_n(grads.weight, plan.weight_count(s), T(0));
    return;
  }
  to_channels_last(s, x, plan.xt);
  if (plan.parts > 1) clear_empty_parts(s, plan, grads);
  if (s.rank == 1) backward<T, 1>(s, plan, offset, weight, mask, gy, grads);
  if (s.rank == 2) backward<T, 2>(s, plan, offset, weight, mask, gy, grads);
  if (s.rank == 3) backward<T, 3>(s, plan, offset, weight, mask, gy, grads);
  if (grads.offset && plan.parts > 1)
    combine(plan.partial_offset, plan.parts, plan.offset_count(s), grads.offset);
  if (grads.mask && plan.parts > 1) combine(plan.partial_mask, plan.parts, plan.mask_count(s), grads.mask);
  if (grads.weight && plan.image_blocks > 1)
    combine(plan.partial_weight, plan.image_blocks, plan.weight_count(s), grads.weight);
}

template size_t deform_conv_grad_workspace<float>(const DeformConvSizes&);
template size_t deform_conv_grad_workspace<double>(const DeformConvSizes&);
template void deform_conv_grad<float>(const DeformConvSizes&, const float*, const float*, const float*,
                                      const float*, const float*, const DeformConvGrads<float>&,
                                      void*) noexcept;
template void deform_conv_grad<double>(const DeformConvSizes&, const double*, const double*, const double*,
                                       const double*, const double*, const DeformConvGrads<double>&,
                                       void*) noexcept;

}  // namespace omnigrad::kernels
