// Gradients of deformable convolution, fused: for a block of positions, the gradient of the samples is a
// product of gy and the weights, and one walk over the samples then gives what x, offset and mask get and the
// packed panel for the product that the weights get. Forward is in deform_conv.cpp.
//
// Who owns what: a unit is a block of images times a part of an offset group's channels. It alone adds to
// those channels of gx. Gradients of offset and mask sum over the parts, those of the weights over the blocks
// of images: each unit writes its own partial sum, and these are added in the order of parts and blocks. Both
// splits follow from the sizes alone.
#include "kernels/deform_conv.h"
#include "kernels/deform_grad_products.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

template <class T, int R>
struct Backward {
  static constexpr int L = kLanes<T>;
  static constexpr int kColumns = kTileCols<T>;
  static constexpr int kCorners = 1 << R;
  using V = Vec<T>;

  const GradProducts<T>& products;
  const T *offset, *mask;
  const DeformConvSizes& s = products.s;
  const GradPlan<T>& plan = products.plan;
  const DeformConvGrads<T>& grads = products.grads;
  SampleSpace<T, R> space{s};

  struct Place : GradPlace {
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
      Place at{{slab, slab.begin / (s.channels / s.groups), og, 0, 0, 0}, nullptr, nullptr, i > first};
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
    if (want_samples)
      s.depthwise() ? products.spread_weight(at, scratch.weight) : products.pack_weight(at, scratch.weight);
    std::fill_n(scratch.gweight, round_up(plan.per_group, kTileRows) * at.columns, T(0));
    const int64_t n1 = s.batch * (image_block + 1) / plan.image_blocks;
    for (at.image = s.batch * image_block / plan.image_blocks; at.image < n1; ++at.image) {
      std::fill_n(scratch.gx, (plan.pixels + 1) * at.width, T(0));
      for (int64_t p0 = 0; p0 < plan.positions; p0 += plan.block) {
        const int64_t p1 = std::min(p0 + plan.block, plan.positions);
        s.depthwise() ? products.spread_gy(at, p0, p1 - p0, scratch)
                      : products.pack_gy(at, p0, p1 - p0, scratch);
        if (want_samples) products.sample_products(at, p1 - p0, scratch);
        if (want_samples) {
          samples<true>(at, p0, p1, scratch);
        } else {
          samples<false>(at, p0, p1, scratch);
        }
        if (grads.weight) products.weight_products(at, p1 - p0, scratch);
      }
      if (grads.x) products.write_gx(at, scratch.gx);
    }
    if (grads.weight) products.write_gweight(at, image_block, scratch.gweight);
  }

  // Walks the samples of positions [p0, p1): to the panel of masked samples, and kGrads for x, offset and
  // mask.
  template <bool kGrads>
  [[gnu::noinline]] void samples(const Place& at, int64_t p0, int64_t p1, const Scratch<T>& scratch) const {
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
        sample_channels<kGrads>(at, sample, image, scale, scratch, p - p0, t * at.width, dots);
        if constexpr (kGrads) write_coordinates(at, sample, dots, scale, tap, p);
      }
    }
  }

  template <bool kGrads>
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
        value = k == 0 ? weight_of[k] * corner : value + weight_of[k] * corner;
        if constexpr (kGrads) {
          sum[k] += d * corner;
          store(gx[k] + c, load(gx[k] + c) + weight_of[k] * dm);
        }
      }
      const size_t to = static_cast<size_t>(column + c);
      store(values + to / kColumns * panel + to % kColumns, value * scale_of);
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
  const GradProducts<T> products{s, plan, weight, gy, grads};
  const Backward<T, R> work{products, offset, mask};
  parallel::parallel_for(plan.chunks, 1, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Scratch<T> scratch = plan.scratch_of(chunk, s);
      for (int64_t i = plan.units * chunk / plan.chunks; i < plan.units * (chunk + 1) / plan.chunks; ++i)
        work.unit(i, scratch);
    }
  });
}

// A part without slabs, where an offset group has fewer, must count as zero.
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
  if (plan.units == 0) {  // no images: only weights have elements
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
