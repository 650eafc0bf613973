#include "conv_rows.h"

#include <initializer_list>

#include "workers.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kBandBytes = 32768;  // of the copy: it stays in the first-level cache
constexpr int64_t kLeastRows = 4;      // of outputs in a band, for taps re-read rows at its edges

RowsAxis forward_axis(const ConvShape& s, int i) {
  return {s.in[i], s.out[i], s.kernel[i], s.stride[i], s.dilation[i], s.pad[i]};
}

// Taps counted from the other end.
RowsAxis turned_axis(const ConvShape& s, int i) {
  const RowsAxis a = forward_axis(s, i);
  return {a.dest, a.source, a.taps, a.stride, a.dilation, a.reach() - a.pad};
}

template <class Axis>
void plan_axes(const ConvShape& s, RowsPlan* p, Axis&& axis) {
  p->batch = s.batch, p->groups = s.groups;
  p->w = axis(s, s.rank - 1);
  if (s.rank > 1) p->h = axis(s, s.rank - 2);
  for (int i = 0; i < s.rank - 2; ++i) {
    const RowsAxis a = p->lead[p->lead_axes++] = axis(s, i);
    p->source_planes *= a.source, p->dest_planes *= a.dest, p->lead_taps *= a.taps;
    p->folded |= a.taps != 1 || a.stride != 1 || a.pad != 0 || a.source != a.dest;
  }
}

}  // namespace

RowsPlan rows_forward_plan(const ConvShape& s) {
  RowsPlan p;
  p.sources = s.in_channels / s.groups, p.dests = s.out_channels / s.groups;
  plan_axes(s, &p, forward_axis);
  return p;
}

bool rows_input_grad_plan(const ConvShape& s, RowsPlan* p) {
  for (int i = 0; i < s.rank; ++i)
    if (s.stride[i] != 1) return false;
  p->sources = s.out_channels / s.groups, p->dests = s.in_channels / s.groups;
  p->turned = true;
  plan_axes(s, p, turned_axis);
  return true;
}

int64_t RowsPlan::source_plane(int64_t dest_plane, int64_t lead_tap) const {
  int64_t r = 0, size = 1;
  for (int i = lead_axes - 1; i >= 0; --i) {
    const RowsAxis& a = lead[i];
    const int64_t q = dest_plane % a.dest * a.stride + lead_tap % a.taps * a.dilation - a.pad;
    if (q < 0 || q >= a.source) return -1;
    r += q * size, size *= a.source;
    dest_plane /= a.dest, lead_tap /= a.taps;
  }
  return r;
}

namespace {

// The copy of one output row's window must be small against a cache, and the taps not sparser than the copy.
bool fits(const RowsPlan& p) {
  constexpr int64_t most = int64_t{1} << 17;
  if (p.work() <= 0 || p.w.stride > 2 * p.w.taps) return false;
  const int64_t line = p.w.dest * p.w.stride + p.w.reach(), lines = p.h.reach() + p.h.stride;
  // Each alone first: strides and dilations may be as large as numbers get.
  return p.feeds() <= most && line <= most && lines <= most && p.feeds() * line * lines <= most;
}

}  // namespace

bool rows_pay(const RowsPlan& p, int lanes) {
  if (!fits(p)) return false;
  // Every plane of outputs copies those that feed it, which a few output channels must pay for.
  if (p.folded) return p.sources < 4 && p.dests >= 3;
  // One channel out of many would copy more than it multiplies.
  if (p.dests == 1) return p.sources <= 16;
  // A product of panels fills its tiles across rows, and packs at a cost of so many output channels. The copy
  // grows with the channels, by several phases where there is a stride; the bounds are measured.
  const int64_t filled = round_up(p.w.dest, 2 * lanes) * round_up(p.dests, kTileRows);
  return 4 * p.w.dest * p.dests >= 3 * filled &&
         (p.dests <= 16 || p.depth() <= 48 || p.sources <= (p.w.stride == 1 ? 32 : 4));
}

bool rows_weight_grad_pays(const RowsPlan& p) {
  if (p.folded) return fits(p) && p.sources < 4 && p.dests >= 3;
  return fits(p) && (p.dests == 1 || p.depth() <= 48 || p.sources <= (p.w.stride == 1 ? 8 : 4));
}

template <class T>
RowsBand<T>::RowsBand(const RowsPlan& p) : p_(p) {
  pitch_ = round_up(p.w.dest, kTileCols<T>) + p.w.reach() / p.w.stride + 1;
  line_step_ = p.w.stride * pitch_;
  const int64_t lines = kBandBytes / static_cast<int64_t>(sizeof(T)) / larger(p.feeds() * line_step_, 1);
  const int64_t fit = (lines - p.h.reach() - 1) / p.h.stride + 1;
  rows_ = smaller(p.h.dest, larger(fit, kLeastRows));
  rows_ = ceil_div(p.h.dest, ceil_div(p.h.dest, larger(rows_, 1)));
  if (p.dests == 1) rows_ = smaller(p.h.dest, round_up(rows_, kTileRows));
  lines_ = (rows_ - 1) * p.h.stride + p.h.reach() + 1;
  plane_step_ = lines_ * line_step_;
}

template <class T>
void RowsBand<T>::offsets(int32_t* out) const {
  for (int64_t c = 0; c < p_.feeds(); ++c)
    for (int64_t i = 0; i < p_.h.taps; ++i)
      for (int64_t j = 0; j < p_.w.taps; ++j) {
        const int64_t x = j * p_.w.dilation;
        *out++ = static_cast<int32_t>(c * plane_step_ + i * p_.h.dilation * line_step_ +
                                      x % p_.w.stride * pitch_ + x / p_.w.stride);
      }
}

namespace {

// The lines are short: a division, too, is felt.
int64_t steps(int64_t n, int64_t stride) { return stride == 1 ? n : ceil_div(n, stride); }

// The lines are short: a call of memset or memcpy costs more than they do.
template <class T>
void clear(T* out, ptrdiff_t n) {
  ptrdiff_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(out + i, Vec<T>{});
  for (; i < n; ++i) out[i] = T(0);
}
template <class T>
void copy(const T* from, T* to, ptrdiff_t n) {
  ptrdiff_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(to + i, load(from + i));
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace

template <class T>
void RowsBand<T>::fill(const T* image, int64_t dest_plane, int64_t band, T* out) const {
  for (int64_t tap = 0; tap < p_.lead_taps; ++tap, out += plane_step_) {
    const int64_t plane = p_.folded ? p_.source_plane(dest_plane, tap) : dest_plane;
    for (int64_t c = 0; c < p_.sources; ++c) {
      T* const to = out + c * p_.lead_taps * plane_step_;
      if (plane < 0)
        clear(to, static_cast<ptrdiff_t>(plane_step_));
      else
        fill_plane(image + c * p_.source_size() + plane * p_.h.source * p_.w.source, band, to);
    }
  }
}

template <class T>
void RowsBand<T>::fill_plane(const T* plane, int64_t band, T* out) const {
  const int64_t first = band * rows_ * p_.h.stride - p_.h.pad;
  for (int64_t i = 0; i < lines_; ++i, out += line_step_) {
    const int64_t y = first + i;
    if (y < 0 || y >= p_.h.source)
      clear(out, static_cast<ptrdiff_t>(line_step_));
    else
      fill_line(plane + y * p_.w.source, out);
  }
}

template <class T>
void RowsBand<T>::fill_line(const T* source, T* out) const {
  const int64_t stride = p_.w.stride, pad = p_.w.pad;
  for (int64_t phase = 0; phase < stride; ++phase, out += pitch_) {
    // Element i is source i * stride + phase - pad.
    const int64_t shift = phase - pad;
    const int64_t begin = smaller(pitch_, shift >= 0 ? 0 : steps(-shift, stride));
    const int64_t end =
        p_.w.source <= shift ? begin : larger(begin, smaller(pitch_, steps(p_.w.source - shift, stride)));
    clear(out, static_cast<ptrdiff_t>(begin));
    // An image without columns may have no memory to point into.
    if (begin < end) {
      const T* q = source + (begin * stride + shift);
      if (stride == 1)
        copy(q, out + begin, static_cast<ptrdiff_t>(end - begin));
      else
        for (int64_t i = begin; i < end; ++i, q += stride) out[i] = *q;
    }
    clear(out + end, static_cast<ptrdiff_t>(pitch_ - end));
  }
}

namespace {

template <class T>
class RowsProduct {
 public:
  explicit RowsProduct(const RowsPlan& p)
      : p_(p), band_(p), height_(p.dests == 1 ? 1 : kTileRows), panels_(ceil_div(p.dests, height_)) {
    tasks_ = p.batch * p.dest_planes * p.groups * band_.bands();
    serial_ = p.work() <= kSerialWork;
    workers_ = worker_count(tasks_, serial_);
  }

  size_t workspace() const {
    return Arena::bytes<int32_t>(p_.depth()) + Arena::bytes<T>(weight_elements()) +
           static_cast<size_t>(workers_) * Arena::bytes<T>(band_.elements());
  }

  void run(const T* source, const T* weight, int64_t dest_step, int64_t source_step, const T* bias, T* dest,
           void* workspace) {
    Arena arena(workspace);
    int32_t* const offsets = arena.take<int32_t>(p_.depth());
    band_.offsets(offsets);
    T* const panels = arena.take<T>(weight_elements());
    pack_weight(weight, dest_step, source_step, panels);
    char* const scratch = arena.take<char>(0);
    for_tasks(tasks_, workers_, [&](int64_t task, int64_t worker) noexcept {
      T* const copy = reinterpret_cast<T*>(scratch + worker * Arena::bytes<T>(band_.elements()));
      const int64_t band = task % band_.bands(), rest = task / band_.bands();
      const int64_t plane = rest % p_.dest_planes, part = rest / p_.dest_planes, group = part % p_.groups;
      band_.fill(source + part * p_.sources * p_.source_size(), plane, band, copy);
      T* const out = dest + part * p_.dests * p_.dest_size() + plane * p_.h.dest * p_.w.dest;
      const T* const b = bias == nullptr ? nullptr : bias + group * p_.dests;
      const T* const w = panels + group * panels_ * height_ * p_.depth();
      height_ == 1 ? run_band<true>(copy, band, w, offsets, b, out)
                   : run_band<false>(copy, band, w, offsets, b, out);
    });
  }

 private:
  int64_t weight_elements() const { return p_.groups * panels_ * height_ * p_.depth(); }

  // To [group][panel][source][leading tap][tap][height]; missing rows are zero.
  void pack_weight(const T* weight, int64_t dest_step, int64_t source_step, T* out) const {
    const int64_t taps = p_.kernel_taps();
    for (int64_t i = 0; i < p_.groups * panels_; ++i) {
      const int64_t row = i % panels_ * height_;
      const T* src = weight + i / panels_ * p_.dests * p_.depth() + row * dest_step;
      for (int64_t c = 0; c < p_.sources; ++c)
        for (int64_t t = 0; t < taps; ++t)
          for (int64_t r = 0; r < height_; ++r) {
            const T* p = src + r * dest_step + c * source_step + (p_.turned ? taps - 1 - t : t);
            *out++ = row + r < p_.dests ? *p : T(0);
          }
    }
  }

  // Tiles of four lines by two vectors: the lines are output channels, or of one channel output rows.
  template <bool kOneChannel>
  void run_band(const T* copy, int64_t band, const T* weight, const int32_t* offsets, const T* bias,
                T* out) const {
    constexpr int64_t kStep = kOneChannel ? kTileRows : 1;
    const int64_t first = band * band_.rows(), count = smaller(band_.rows(), p_.h.dest - first);
    for (int64_t i = 0; i < count; i += kStep)
      for (int64_t panel = 0; panel < panels_; ++panel) {
        const int lines =
            static_cast<int>(smaller(kTileRows, kOneChannel ? count - i : p_.dests - panel * kTileRows));
        Vec<T> b[kTileRows] = {};
        for (int r = 0; bias != nullptr && r < lines; ++r)
          b[r] = splat(bias[kOneChannel ? 0 : panel * kTileRows + r]);
        const T* const w = weight + panel * height_ * p_.depth();
        T* const p = out + panel * kTileRows * p_.dest_size() + (first + i) * p_.w.dest;
        const T* const q = copy + i * band_.row_step();
        int64_t j = 0;
        if constexpr (!kOneChannel && sizeof(T) == 4)
          if (lines == 3)
            for (; j + 3 * kLanes<T> <= p_.w.dest; j += 3 * kLanes<T>)
              three_lines(q + j, w, offsets, b, p + j);
        for (; j < p_.w.dest; j += kTileCols<T>)
          tile<kOneChannel>(q + j, w, offsets, b, lines,
                            static_cast<int>(smaller(kTileCols<T>, p_.w.dest - j)), p + j);
      }
  }

  // Three lines by three vectors: a tile of four would waste one in four, and images have three channels.
  void three_lines(const T* copy, const T* w, const int32_t* offsets, const Vec<T> (&bias)[kTileRows],
                   T* out) const {
    constexpr int kL = kLanes<T>;
    Vec<T> c00 = bias[0], c01 = bias[0], c02 = bias[0], c10 = bias[1], c11 = bias[1], c12 = bias[1];
    Vec<T> c20 = bias[2], c21 = bias[2], c22 = bias[2];
    const ptrdiff_t depth = p_.depth(), step = static_cast<ptrdiff_t>(p_.dest_size());
    for (ptrdiff_t k = 0; k < depth; ++k, w += kTileRows) {
      const T* const from = copy + offsets[k];
      const Vec<T> b0 = load(from), b1 = load(from + kL), b2 = load(from + 2 * kL);
      Vec<T> x = splat(w[0]);
      c00 += x * b0, c01 += x * b1, c02 += x * b2;
      x = splat(w[1]);
      c10 += x * b0, c11 += x * b1, c12 += x * b2;
      x = splat(w[2]);
      c20 += x * b0, c21 += x * b1, c22 += x * b2;
    }
    store(out, c00), store(out + kL, c01), store(out + 2 * kL, c02);
    store(out + step, c10), store(out + step + kL, c11), store(out + step + 2 * kL, c12);
    out += 2 * step;
    store(out, c20), store(out + kL, c21), store(out + 2 * kL, c22);
  }

  template <bool kOneChannel>
  void tile(const T* copy, const T* w, const int32_t* offsets, const Vec<T> (&bias)[kTileRows], int lines,
            int cols, T* out) const {
    constexpr int kL = kLanes<T>;
    Tile<T> t;
    for (int r = 0; r < kTileRows; ++r) t.v[r][0] = t.v[r][1] = bias[r];
    const ptrdiff_t depth = p_.depth();
    if constexpr (kOneChannel) {
      // Missing lines repeat the last; they are not written.
      const ptrdiff_t step = band_.row_step();
      const T* const c1 = copy + (lines > 1 ? step : 0);
      const T* const c2 = c1 + (lines > 2 ? step : 0);
      const T* const c3 = c2 + (lines > 3 ? step : 0);
      for (ptrdiff_t k = 0; k < depth; ++k) {
        const Vec<T> x = splat(w[k]);
        const ptrdiff_t at = offsets[k];
        t.v[0][0] += x * load(copy + at), t.v[0][1] += x * load(copy + at + kL);
        t.v[1][0] += x * load(c1 + at), t.v[1][1] += x * load(c1 + at + kL);
        t.v[2][0] += x * load(c2 + at), t.v[2][1] += x * load(c2 + at + kL);
        t.v[3][0] += x * load(c3 + at), t.v[3][1] += x * load(c3 + at + kL);
      }
    } else {
      for (ptrdiff_t k = 0; k < depth; ++k, w += kTileRows)
        accumulate(t, w, w + 1, w + 2, w + 3, kTileRows, copy + offsets[k], 0, 1);
    }
    const ptrdiff_t step = kOneChannel ? p_.w.dest : p_.dest_size();
    if (lines == kTileRows && cols == kTileCols<T>) return store_tile(t, out, step, false);
    for (int r = 0; r < lines; ++r, out += step) {
      store_partial(out, t.v[r][0], cols < kL ? cols : kL);
      if (cols > kL) store_partial(out + kL, t.v[r][1], cols - kL);
    }
  }

  const RowsPlan& p_;
  RowsBand<T> band_;
  int64_t height_, panels_, tasks_, workers_;
  bool serial_;
};

}  // namespace

template <class T>
size_t rows_product_workspace(const RowsPlan& p) {
  return RowsProduct<T>(p).workspace();
}
template <class T>
void rows_product(const RowsPlan& p, const T* source, const T* weight, int64_t dest_step, int64_t source_step,
                  const T* bias, T* dest, void* workspace) noexcept {
  RowsProduct<T>(p).run(source, weight, dest_step, source_step, bias, dest, workspace);
}

#define OMNIGRAD_INSTANTIATE(T)                                                                      \
  template class RowsBand<T>;                                                                        \
  template size_t rows_product_workspace<T>(const RowsPlan&);                                        \
  template void rows_product<T>(const RowsPlan&, const T*, const T*, int64_t, int64_t, const T*, T*, \
                                void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
