#include "conv_gather.h"

namespace omnigrad::kernels {
namespace {

constexpr int32_t kOutside = INT32_MIN / 2;  // two of them still do not overflow

int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t r = a % b;
    a = b, b = r;
  }
  return a;
}

// The axes' strides in source, destination and weight, from the last to the first, then the batch's.
void set_strides(Gather* g, int rank, const int64_t* source, const int64_t* dest, const int64_t* kernel,
                 int64_t batch, int64_t source_channels, int64_t dest_channels) {
  int64_t s = 1, d = 1, t = 1;
  for (int i = rank - 1; i >= 0; --i) {
    GatherAxis& a = g->axis[i + 1];
    a.source = source[i], a.source_stride = s, a.dest_stride = d, a.tap_stride = t;
    s *= source[i], d *= dest[i], t *= kernel[i];
  }
  g->axes = rank + 1;
  g->channels = source_channels;
  g->channel_stride = s;
  g->dest_channel_stride = d;
  g->source_size = batch * source_channels * s;
  g->axis[0] = {};
  g->axis[0].positions = g->axis[0].source = batch;
  g->axis[0].source_stride = source_channels * s;
  g->axis[0].dest_stride = dest_channels * d;
}

}  // namespace

int64_t Gather::positions() const {
  int64_t n = 1;
  for (int i = 0; i < axes; ++i) n *= axis[i].positions;
  return n;
}

int64_t Gather::taps() const {
  int64_t n = 1;
  for (int i = 0; i < axes; ++i) n *= axis[i].taps;
  return n;
}

int64_t Gather::tap_in_weight(int64_t tap) const {
  int64_t r = 0;
  for (int i = axes - 1; i >= 0; --i) {
    const GatherAxis& a = axis[i];
    r += (a.tap_first + tap % a.taps * a.tap_step) * a.tap_stride;
    tap /= a.taps;
  }
  return r;
}

Gather forward_gather(const ConvShape& s) {
  Gather g;
  set_strides(&g, s.rank, s.in, s.out, s.kernel, s.batch, s.in_channels, s.out_channels);
  for (int i = 0; i < s.rank; ++i) {
    GatherAxis& a = g.axis[i + 1];
    a.positions = s.out[i];
    a.taps = s.kernel[i];
    a.step = s.stride[i];
    a.offset = -s.pad[i];
    a.offset_step = s.dilation[i];
  }
  return g;
}

int64_t residue_classes(const ConvShape& s, int axis) {
  return smaller(s.kernel[axis], s.stride[axis] / gcd(s.stride[axis], s.dilation[axis]));
}

bool input_grad_gather(const ConvShape& s, const int64_t* first_tap, Gather* g) {
  set_strides(g, s.rank, s.out, s.in, s.kernel, s.batch, s.out_channels, s.in_channels);
  for (int i = 0; i < s.rank; ++i) {
    GatherAxis& a = g->axis[i + 1];
    const int64_t stride = s.stride[i], dilation = s.dilation[i];
    const int64_t every = stride / gcd(stride, dilation);
    // x position q receives gy[(q + pad - t * dilation) / stride] for the taps t where that is whole.
    const int64_t reach = first_tap[i] * dilation - s.pad[i];
    const int64_t residue = (reach % stride + stride) % stride;
    if (residue >= s.in[i]) return false;
    a.positions = ceil_div(s.in[i] - residue, stride);
    a.taps = ceil_div(s.kernel[i] - first_tap[i], every);
    a.step = 1;
    a.offset = (residue - reach) / stride;
    a.offset_step = -every * dilation / stride;
    a.dest_first = residue;
    a.dest_step = stride;
    a.tap_first = first_tap[i];
    a.tap_step = every;
  }
  return true;
}

template <class T>
size_t GatherBlock<T>::bytes(const Gather& g, int64_t capacity) {
  return Arena::bytes<PanelSource<T>>(capacity / kNR * g.taps()) + Arena::bytes<int32_t>(capacity) +
         Arena::bytes<int32_t>(capacity * g.lead_taps()) +
         Arena::bytes<int32_t>(capacity * g.axis[g.axes - 1].taps);
}

template <class T>
GatherBlock<T>::GatherBlock(const Gather& g, int64_t capacity, void* memory)
    : gather(&g), capacity(capacity) {
  Arena arena(memory);
  taps = g.taps();
  sources = arena.take<PanelSource<T>>(capacity / kNR * taps);
  dest = arena.take<int32_t>(capacity);
  lead = arena.take<int32_t>(capacity * g.lead_taps());
  last = arena.take<int32_t>(capacity * g.axis[g.axes - 1].taps);
}

namespace {

// Offsets of a row's leading axes for every leading tap, into out[tap * capacity]; kOutside where an axis
// leaves its source.
void lead_offsets(const Gather& g, const int64_t* at, int64_t lead_taps, int64_t capacity, int64_t count,
                  int32_t* out) {
  for (int64_t tap = 0; tap < lead_taps; ++tap) {
    int64_t offset = 0, rest = tap;
    for (int i = g.axes - 2; i >= 0; --i) {
      const GatherAxis& a = g.axis[i];
      const int64_t q = at[i] * a.step + a.offset + rest % a.taps * a.offset_step;
      rest /= a.taps;
      if (q < 0 || q >= a.source) {
        offset = kOutside;
        break;
      }
      offset += q * a.source_stride;
    }
    int32_t* p = out + tap * capacity;
    for (int64_t i = 0; i < count; ++i) p[i] = static_cast<int32_t>(offset);
  }
}

// Sorts a panel into the cheapest way of loading it.
template <class T>
void classify(PanelSource<T>& p, int64_t widest) {
  using Source = PanelSource<T>;
  constexpr int kNR = kTileCols<T>;
  int first = 0, valid = 0;
  bool run = true, every_other = true;
  for (int i = 0; i < kNR; ++i) {
    if (p.offset[i] < 0) continue;
    if (valid++ == 0) first = i;
    const int32_t d = p.offset[i] - p.offset[first];
    run &= d == i - first;
    every_other &= d == 2 * (i - first);
  }
  if (valid == 0) {
    p.kind = Source::kEmpty, p.base = 0;
    return;
  }
  // A vector load may pass over padding lanes but not leave the tensor, whichever channel is read.
  const int64_t base = int64_t{p.offset[first]} - (run ? first : 2 * first);
  const bool inside = base >= 0 && base + (run ? kNR : 2 * kNR) <= widest;
  p.base = static_cast<int32_t>(inside ? base : 0);
  p.kind = !inside || !(run || every_other) ? Source::kScattered
           : !run                           ? Source::kEveryOther
           : valid == kNR                   ? Source::kRun
                                            : Source::kMaskedRun;
}

}  // namespace

template <class T>
void GatherBlock<T>::describe(int64_t begin, int64_t end) noexcept {
  const Gather& g = *gather;
  const GatherAxis& row = g.axis[g.axes - 1];
  const int64_t lead_taps = g.lead_taps();
  count = end - begin;
  panels = ceil_div(count, kNR);

  int64_t at[kMaxConvRank + 1];
  int64_t rest = begin;
  for (int i = g.axes - 1; i >= 0; --i) {
    at[i] = rest % g.axis[i].positions;
    rest /= g.axis[i].positions;
  }
  for (int64_t i = 0; i < count;) {
    const int64_t length = smaller(row.positions - at[g.axes - 1], count - i);
    lead_offsets(g, at, lead_taps, capacity, length, lead + i);
    for (int64_t u = 0; u < row.taps; ++u) {
      int64_t q = at[g.axes - 1] * row.step + row.offset + u * row.offset_step;
      int32_t* p = last + u * capacity + i;
      for (int64_t j = 0; j < length; ++j, q += row.step)
        p[j] = q < 0 || q >= row.source ? kOutside : static_cast<int32_t>(q);
    }
    int64_t d = 0;
    for (int a = 0; a < g.axes; ++a)
      d += (g.axis[a].dest_first + at[a] * g.axis[a].dest_step) * g.axis[a].dest_stride;
    for (int64_t j = 0; j < length; ++j)
      dest[i + j] = static_cast<int32_t>(d + j * row.dest_step * row.dest_stride);
    i += length;
    at[g.axes - 1] = 0;
    for (int a = g.axes - 2; a >= 0 && ++at[a] == g.axis[a].positions && a > 0; --a) at[a] = 0;
  }
  for (int64_t i = count; i < panels * kNR; ++i) {
    dest[i] = -1;
    for (int64_t u = 0; u < row.taps; ++u) last[u * capacity + i] = kOutside;
    for (int64_t u = 0; u < lead_taps; ++u) lead[u * capacity + i] = kOutside;
  }

  const int64_t widest = g.source_size - (g.channels - 1) * g.channel_stride;
  for (int64_t p = 0; p < panels; ++p) {
    PanelSource<T>* s = sources + p * taps;
    for (int64_t t = 0; t < lead_taps; ++t) {
      const int32_t* a = lead + t * capacity + p * kNR;
      for (int64_t u = 0; u < row.taps; ++u, ++s) {
        const int32_t* b = last + u * capacity + p * kNR;
        bool run = true;
        for (int i = 0; i < kNR; ++i) s->offset[i] = a[i] + b[i];
        for (int i = 0; i < kNR; ++i) run &= s->offset[i] == s->offset[0] + i;
        if (run && s->offset[0] >= 0)
          s->kind = PanelSource<T>::kRun, s->base = s->offset[0];
        else
          classify(*s, widest);
      }
    }
  }
}

template struct GatherBlock<float>;
template struct GatherBlock<double>;

}  // namespace omnigrad::kernels
