// Weight gradient: the product of gy and the gathered image, summed over all positions of all images. Column
// tiles (channel, tap) are owned by one chunk; where those are few, the positions are cut into slices whose
// partial sums are added in order. Slices and blocks depend on sizes alone.
#include "../parallel/parallel.h"
#include "conv_gather.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kPositions = 256;  // positions in a block
constexpr int64_t kTileColumns = 288;
constexpr int64_t kChunks = 16;
constexpr int64_t kDirectRows = 2;

template <class T>
class WeightGrad {
 public:
  explicit WeightGrad(const ConvShape& s)
      : s_(s),
        gather_(forward_gather(s)),
        rows_(s.out_channels / s.groups),
        channels_(s.in_channels / s.groups),
        taps_(gather_.taps()),
        positions_(gather_.positions()),
        direct_(rows_ <= kDirectRows),
        tiles_(channels_, taps_, kTileColumns),
        direct_span_(
            smaller(channels_ == 1 ? s.groups : channels_, larger(1, smaller(16, 4096 / larger(taps_, 1))))) {
    blocks_ = ceil_div(positions_, kPositions);
    owners_ = elements() == 0  ? 0
              : !direct_       ? s.groups * tiles_.count()
              : channels_ == 1 ? ceil_div(s.groups, direct_span_)
                               : s.groups * ceil_div(channels_, direct_span_);
    slices_ =
        owners_ == 0 || owners_ >= kChunks / 2 ? 1 : larger(1, smaller(blocks_, ceil_div(kChunks, owners_)));
    const int64_t tasks = owners_ * slices_;
    serial_ = elements() * positions_ <= kSerialWork;
    chunks_ = smaller(tasks, serial_ ? 1 : kChunks);
    workers_ = worker_count(chunks_, serial_);
  }

  size_t workspace() const {
    return Arena::bytes<T>(slices_ > 1 ? slices_ * elements() : 0) +
           static_cast<size_t>(workers_) * chunk_bytes();
  }

  void run(const T* gy, const T* x, T* gw, void* workspace) {
    gy_ = gy, x_ = x;
    if (elements() == 0) return;
    if (positions_ == 0) {
      for (int64_t i = 0; i < elements(); ++i) gw[i] = T(0);
      return;
    }
    Arena arena(workspace);
    T* const partial = slices_ > 1 ? arena.take<T>(slices_ * elements()) : gw;
    char* const scratch = arena.take<char>(0);
    const int64_t tasks = owners_ * slices_;
    for_tasks(chunks_, workers_, [&](int64_t q, int64_t worker) noexcept {
      for (int64_t t = q * tasks / chunks_; t < (q + 1) * tasks / chunks_; ++t)
        run_task(t % owners_, t / owners_, partial, scratch + static_cast<size_t>(worker) * chunk_bytes());
    });
    if (slices_ == 1) return;
    parallel::parallel_for(elements(), serial_ ? elements() : 4096, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i) {
        T sum = partial[i];
        for (int64_t k = 1; k < slices_; ++k) sum += partial[k * elements() + i];
        gw[i] = sum;
      }
    });
  }

 private:
  static constexpr int kNR = kTileCols<T>;

  int64_t elements() const { return s_.groups * rows_ * channels_ * taps_; }
  int64_t padded_columns() const { return round_up(tiles_.size(), kNR); }
  int64_t padded_rows() const { return round_up(rows_, kTileRows); }
  size_t chunk_bytes() const {
    const size_t block = GatherBlock<T>::bytes(gather_, kPositions);
    if (direct_) return block + Arena::bytes<T>(direct_rows()) + Arena::bytes<Vec<T>>(direct_sums());
    return block + Arena::bytes<T>(kPositions * padded_rows()) +
           Arena::bytes<T>(kPositions * padded_columns()) + Arena::bytes<T>(kNR * padded_columns());
  }
  int64_t direct_rows() const { return kPositions * rows_ * (channels_ == 1 ? direct_span_ : 1); }
  int64_t direct_sums() const { return direct_span_ * taps_ * rows_; }

  void run_task(int64_t owner, int64_t slice, T* partial, char* scratch) const {
    GatherBlock<T> block(gather_, kPositions, scratch);
    Arena arena(scratch + GatherBlock<T>::bytes(gather_, kPositions));
    const int64_t first = slice * blocks_ / slices_, last = (slice + 1) * blocks_ / slices_;
    if (direct_) return run_direct(owner, first, last, block, arena, partial + slice * elements());
    T* const rows = arena.take<T>(kPositions * padded_rows());
    T* const columns = arena.take<T>(kPositions * padded_columns());
    T* const strip = arena.take<T>(kNR * padded_columns());
    const int64_t group = owner / tiles_.count();
    const DepthBlocks::Block tile = tiles_.at(owner % tiles_.count());
    T* const out =
        partial + slice * elements() + group * rows_ * channels_ * taps_ + tile.channel * taps_ + tile.tap;
    for (int64_t b = first; b < last; ++b) {
      block.describe(b * kPositions, smaller((b + 1) * kPositions, positions_));
      pack_rows(block, group, rows);
      pack_columns(block, group, tile, strip, columns);
      multiply_block(block, tile, rows, columns, out, b > first);
    }
  }

  const T* image(int64_t group) const { return x_ + group * channels_ * gather_.channel_stride; }
  const T* cotangent(int64_t group) const { return gy_ + group * rows_ * gather_.dest_channel_stride; }

  // gy to [row panel][position][4]; missing rows and positions are zero.
  void pack_rows(const GatherBlock<T>& block, int64_t group, T* out) const {
    constexpr int kL = kLanes<T>;
    const int64_t length = block.panels * kNR, stride = gather_.dest_channel_stride;
    for (int64_t r = 0; r < rows_; r += kTileRows) {
      const T* src = cotangent(group) + r * stride;
      const int64_t have = smaller(kTileRows, rows_ - r);
      for (int64_t p = 0; p < length; p += kL, out += kL * kTileRows) {
        const int32_t* at = block.dest + p;
        for (int h = 0; h < kTileRows; h += kL) {
          Vec<T> v[kL];
          for (int i = 0; i < kL; ++i) {
            v[i] = Vec<T>{};
            if (h + i >= have) continue;
            const T* q = src + (h + i) * stride;
            if (at[kL - 1] - at[0] == kL - 1) {
              v[i] = load(q + at[0]);
            } else {
              for (int j = 0; j < kL; ++j) v[i][j] = at[j] < 0 ? T(0) : q[at[j]];
            }
          }
          transpose(v);
          for (int j = 0; j < kL; ++j) store(out + j * kTileRows + h, v[j]);
        }
      }
    }
  }

  // The image to [column panel][position][width]: packed as forward packs it, [column][position], a strip of
  // one panel of positions at a time, then turned.
  void pack_columns(const GatherBlock<T>& block, int64_t group, const DepthBlocks::Block& tile, T* strip,
                    T* out) const {
    constexpr int kL = kLanes<T>;
    const int64_t columns = tile.depth(), padded = round_up(columns, kNR), length = block.panels * kNR;
    for (int64_t i = columns * kNR; i < padded * kNR; ++i) strip[i] = T(0);
    for (int64_t p = 0; p < block.panels; ++p) {
      pack_image_panel(block, p, image(group), tile, strip);
      for (int64_t c = 0; c < padded; c += kNR) {
        const T* src = strip + c * kNR;
        T* dst = out + (c * length) + p * kNR * kNR;
        for (int i = 0; i < kNR; i += kL)
          for (int j = 0; j < kNR; j += kL) {
            Vec<T> v[kL];
            for (int q = 0; q < kL; ++q) v[q] = load(src + (i + q) * kNR + j);
            transpose(v);
            for (int q = 0; q < kL; ++q) store(dst + (j + q) * kNR + i, v[q]);
          }
      }
    }
  }

  void multiply_block(const GatherBlock<T>& block, const DepthBlocks::Block& tile, const T* rows,
                      const T* columns, T* out, bool add) const {
    const int64_t length = block.panels * kNR, width = channels_ * taps_;
    for (int64_t c = 0; c < tile.depth(); c += kNR)
      for (int64_t r = 0; r < rows_; r += kTileRows) {
        const Tile<T> t = multiply_panels(rows + r * length, columns + c * length, length);
        const int height = static_cast<int>(smaller(kTileRows, rows_ - r));
        const int cols = static_cast<int>(smaller(kNR, tile.depth() - c));
        T* p = out + r * width + c;
        if (height == kTileRows && cols == kNR)
          store_tile(t, p, width, add);
        else
          store_tile_part(t, p, width, 1, height, cols, add);
      }
  }

  // Few rows: dot products over positions, a panel at a time, for a span of channels; of a depthwise
  // convolution, for a span of groups.
  void run_direct(int64_t owner, int64_t first, int64_t last, GatherBlock<T>& block, Arena arena,
                  T* out) const {
    const bool depthwise = channels_ == 1;
    const int64_t spans = depthwise ? ceil_div(s_.groups, direct_span_) : ceil_div(channels_, direct_span_);
    const int64_t group = depthwise ? owner * direct_span_ : owner / spans;
    const int64_t channel = depthwise ? 0 : owner % spans * direct_span_;
    const int64_t span = smaller(direct_span_, depthwise ? s_.groups - group : channels_ - channel);
    T* const rows = arena.take<T>(direct_rows());
    Vec<T>* const sums = arena.take<Vec<T>>(direct_sums());
    for (int64_t b = first; b < last; ++b) {
      block.describe(b * kPositions, smaller((b + 1) * kPositions, positions_));
      const int64_t length = block.panels * kNR, lines = rows_ * (depthwise ? span : 1);
      for (int64_t r = 0; r < lines; ++r) {
        const T* src = cotangent(group) + r * gather_.dest_channel_stride;
        for (int64_t i = 0; i < length; ++i)
          rows[r * length + i] = block.dest[i] < 0 ? T(0) : src[block.dest[i]];
      }
      for (int64_t i = 0; i < direct_sums(); ++i) sums[i] = Vec<T>{};
      const T* const p = image(group) + channel * gather_.channel_stride;
      if (rows_ == 1)
        depthwise ? dot<1, true>(block, p, span, rows, sums) : dot<1, false>(block, p, span, rows, sums);
      else
        depthwise ? dot<2, true>(block, p, span, rows, sums) : dot<2, false>(block, p, span, rows, sums);
      for (int64_t c = 0; c < span; ++c)
        for (int64_t r = 0; r < rows_; ++r)
          for (int64_t t = 0; t < taps_; ++t) {
            const int64_t row = (depthwise ? group + c : group) * rows_ + r;
            T& w = out[(row * channels_ + (depthwise ? 0 : channel + c)) * taps_ + t];
            const T s = sum_lanes(sums[(t * direct_span_ + c) * rows_ + r]);
            w = b > first ? w + s : s;
          }
    }
  }

  template <int kRows, bool kDepthwise>
  void dot(const GatherBlock<T>& block, const T* image, int64_t span, const T* rows, Vec<T>* sums) const {
    const ptrdiff_t length = block.panels * kNR;
    for (int64_t k = 0; k < block.panels; ++k)
      for (int64_t t = 0; t < taps_; ++t) {
        Vec<T>* const sum = sums + t * direct_span_ * kRows;
        for_channels(block.sources[k * taps_ + t], image, gather_.channel_stride, span,
                     [&](Panel<T> v, ptrdiff_t c) {
                       for (int r = 0; r < kRows; ++r) {
                         const T* g = rows + ((kDepthwise ? c * kRows : 0) + r) * length + k * kNR;
                         sum[c * kRows + r] += load(g) * v.lo + load(g + kLanes<T>) * v.hi;
                       }
                     });
      }
  }

  const ConvShape& s_;
  Gather gather_;
  int64_t rows_, channels_, taps_, positions_;
  bool direct_;
  DepthBlocks tiles_;
  int64_t direct_span_;  // channels, or groups of a depthwise convolution, that one direct task owns
  int64_t blocks_, owners_, slices_, chunks_, workers_;
  bool serial_;
  const T* gy_ = nullptr;
  const T* x_ = nullptr;
};

}  // namespace

template <class T>
size_t gather_weight_grad_workspace(const ConvShape& s) {
  return WeightGrad<T>(s).workspace();
}

template <class T>
void gather_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept {
  WeightGrad<T>(s).run(gy, x, gw, workspace);
}

template size_t gather_weight_grad_workspace<float>(const ConvShape&);
template size_t gather_weight_grad_workspace<double>(const ConvShape&);
template void gather_weight_grad<float>(const ConvShape&, const float*, const float*, float*, void*) noexcept;
template void gather_weight_grad<double>(const ConvShape&, const double*, const double*, double*,
                                         void*) noexcept;

}  // namespace omnigrad::kernels
