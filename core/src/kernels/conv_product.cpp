// Forward and input gradient: weight times gathered image, in blocks of positions and of depth. The weight is
// packed once per call, the image once per block of positions, straight into the micro-kernel's layout.
#include "../parallel/parallel.h"
#include "conv_gather.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kDepth = 576;            // (channel, tap) pairs in a block
constexpr int64_t kBlockElements = 32768;  // packed image elements in a block: 128 KB of floats
constexpr int64_t kRowBlock = 64;
constexpr int64_t kChunks = 16;
constexpr int64_t kDirectGroups = 32;
constexpr int64_t kDirectRows = 2;  // so few rows would leave the tile half empty

// Element (group, row, channel, tap) of the weight, as either gradient sees it.
template <class T>
struct WeightView {
  const T* data;
  int64_t group, row, channel;
};

// out[group, row, position] = sum over (channel, tap) of weight * gathered image.
template <class T>
class GatherProduct {
 public:
  GatherProduct(const Gather& g, int64_t groups, int64_t rows, int64_t channels)
      : gather_(g),
        groups_(groups),
        rows_(rows),
        blocks_(channels, g.taps(), kDepth),
        positions_(g.positions()) {
    direct_ = rows <= kDirectRows;
    const int64_t depth = larger(blocks_.size(), 1);
    capacity_ = larger(64, smaller(512, round_up(kBlockElements / depth, kNR)));
    capacity_ = smaller(capacity_, round_up(positions_, kNR));
    row_blocks_ = ceil_div(rows, kRowBlock);
    col_blocks_ = positions_ == 0 ? 0 : ceil_div(positions_, capacity_);
    const int64_t units = groups * row_blocks_;
    splits_ = col_blocks_ == 0 || col_blocks_ >= kChunks ? 1 : smaller(units, ceil_div(kChunks, col_blocks_));
    tasks_ = col_blocks_ * splits_;
    serial_ = groups * rows * channels * g.taps() * positions_ <= kSerialWork;
    chunks_ = serial_ ? smaller(tasks_, 1) : smaller(tasks_, kChunks);
    workers_ = worker_count(chunks_, serial_);
  }

  size_t workspace() const {
    return Arena::bytes<int64_t>(gather_.taps()) + Arena::bytes<T>(weight_elements()) +
           static_cast<size_t>(workers_) * chunk_bytes();
  }

  void run(const T* image, const WeightView<T>& weight, const T* bias, T* out, void* workspace) {
    image_ = image, weight_ = weight, bias_ = bias, out_ = out;
    if (tasks_ == 0) return;
    Arena arena(workspace);
    tap_at_ = arena.take<int64_t>(gather_.taps());
    for (int64_t t = 0; t < gather_.taps(); ++t) tap_at_[t] = gather_.tap_in_weight(t);
    panels_ = arena.take<T>(weight_elements());
    if (!direct_) pack_weight();
    char* const scratch = arena.take<char>(0);
    for_tasks(chunks_, workers_, [&](int64_t q, int64_t worker) noexcept {
      run_chunk(q, scratch + static_cast<size_t>(worker) * chunk_bytes());
    });
  }

 private:
  static constexpr int kNR = kTileCols<T>;

  int64_t depth() const { return blocks_.channels * blocks_.taps; }
  int64_t row_panels() const { return ceil_div(rows_, kTileRows); }
  int64_t weight_elements() const { return direct_ ? 0 : groups_ * row_panels() * kTileRows * depth(); }
  size_t chunk_bytes() const {
    return GatherBlock<T>::bytes(gather_, capacity_) +
           Arena::bytes<T>(direct_ ? 0 : capacity_ * blocks_.size());
  }

  // To [group][row panel][channel][tap][4]; missing rows are zero.
  void pack_weight() const {
    const int64_t total = groups_ * row_panels();
    parallel::parallel_for(total, serial_ ? total : 4, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % row_panels() * kTileRows, have = smaller(kTileRows, rows_ - row);
        const T* src = weight_.data + i / row_panels() * weight_.group + row * weight_.row;
        T* dst = panels_ + i * kTileRows * depth();
        for (int64_t c = 0; c < blocks_.channels; ++c)
          for (int64_t t = 0; t < blocks_.taps; ++t, dst += kTileRows) {
            const T* p = src + c * weight_.channel + tap_at_[t];
            for (int r = 0; r < kTileRows; ++r) dst[r] = r < have ? p[r * weight_.row] : T(0);
          }
      }
    });
  }

  void run_chunk(int64_t q, char* scratch) const {
    GatherBlock<T> block(gather_, capacity_, scratch);
    T* const packed = reinterpret_cast<T*>(scratch + GatherBlock<T>::bytes(gather_, capacity_));
    const int64_t units = groups_ * row_blocks_;
    int64_t described = -1;
    for (int64_t task = q * tasks_ / chunks_; task < (q + 1) * tasks_ / chunks_; ++task) {
      const int64_t col = task / splits_, part = task % splits_;
      if (col != described) block.describe(col * capacity_, smaller((col + 1) * capacity_, positions_));
      described = col;
      const int64_t u1 = (part + 1) * units / splits_;
      if (direct_) {
        run_direct(block, part * units / splits_, u1);
        continue;
      }
      for (int64_t u = part * units / splits_; u < u1;) {
        const int64_t group = u / row_blocks_, next = smaller(u1, (group + 1) * row_blocks_);
        const int64_t row0 = (u - group * row_blocks_) * kRowBlock;
        const int64_t row1 = smaller(rows_, (next - group * row_blocks_) * kRowBlock);
        run_packed(block, packed, group, row0, row1);
        u = next;
      }
    }
  }

  const T* group_image(int64_t group) const {
    return image_ + group * blocks_.channels * gather_.channel_stride;
  }
  T* group_out(int64_t group) const { return out_ + group * rows_ * gather_.dest_channel_stride; }
  T bias_of(int64_t group, int64_t row) const {
    return bias_ != nullptr && row < rows_ ? bias_[group * rows_ + row] : T(0);
  }

  void run_packed(const GatherBlock<T>& block, T* packed, int64_t group, int64_t row0, int64_t row1) const {
    const T* weights = panels_ + group * row_panels() * kTileRows * depth();
    const int64_t count = larger(blocks_.count(), 1);
    for (int64_t i = 0; i < count; ++i) {
      const DepthBlocks::Block d = blocks_.count() == 0 ? DepthBlocks::Block{} : blocks_.at(i);
      const int64_t k0 = d.channel * blocks_.taps + d.tap, k = d.depth();
      for (int64_t p = 0; p < block.panels; ++p)
        pack_image_panel(block, p, group_image(group), d, packed + p * k * kNR);
      for (int64_t r0 = row0; r0 < row1; r0 += kRowBlock)
        for (int64_t p = 0; p < block.panels; ++p)
          for (int64_t r = r0; r < smaller(r0 + kRowBlock, row1); r += kTileRows) {
            Tile<T> tile = multiply_panels(weights + r * depth() + k0 * kTileRows, packed + p * k * kNR, k);
            if (i == 0 && bias_ != nullptr)
              for (int j = 0; j < kTileRows; ++j) {
                const Vec<T> b = splat(bias_of(group, r + j));
                tile.v[j][0] += b, tile.v[j][1] += b;
              }
            store_rows(tile, block, p, group, r, static_cast<int>(smaller(kTileRows, rows_ - r)), i > 0);
          }
    }
  }

  void store_rows(const Tile<T>& tile, const GatherBlock<T>& block, int64_t panel, int64_t group, int64_t row,
                  int height, bool add) const {
    const int32_t* dest = block.dest + panel * kNR;
    T* c = group_out(group) + row * gather_.dest_channel_stride;
    if (dest[kNR - 1] - dest[0] == kNR - 1) {
      c += dest[0];
      if (height == kTileRows) return store_tile(tile, c, gather_.dest_channel_stride, add);
      return store_tile_part(tile, c, gather_.dest_channel_stride, 1, height, kNR, add);
    }
    for (int i = 0; i < height; ++i, c += gather_.dest_channel_stride) {
      T line[kNR];
      store(line, tile.v[i][0]);
      store(line + kLanes<T>, tile.v[i][1]);
      for (int j = 0; j < kNR && dest[j] >= 0; ++j) c[dest[j]] = add ? c[dest[j]] + line[j] : line[j];
    }
  }

  // Few rows: no packing, a panel is multiplied as it is loaded. A depthwise convolution runs over groups
  // where others run over channels, so that each tap's way of loading is looked at once.
  void run_direct(const GatherBlock<T>& block, int64_t group0, int64_t group1) const {
    if (blocks_.channels == 1) {
      for (int64_t g = group0; g < group1; g += kDirectGroups) {
        const int64_t count = smaller(kDirectGroups, group1 - g);
        rows_ == 1 ? direct_groups<1, true>(block, g, count) : direct_groups<2, true>(block, g, count);
      }
    } else {
      for (int64_t g = group0; g < group1; ++g)
        rows_ == 1 ? direct_groups<1, false>(block, g, 1) : direct_groups<2, false>(block, g, 1);
    }
  }

  template <int kRows, bool kDepthwise>
  void direct_groups(const GatherBlock<T>& block, int64_t group, int64_t groups) const {
    const T* image = group_image(group);
    const int64_t count = kDepthwise ? groups : blocks_.channels;
    const ptrdiff_t step = kDepthwise ? weight_.group : weight_.channel;
    for (int64_t p = 0; p < block.panels; ++p) {
      Panel<T> sum[kDepthwise ? kDirectGroups : 1][kRows];
      for (int64_t g = 0; g < groups; ++g)
        for (int r = 0; r < kRows; ++r) {
          const Vec<T> b = splat(bias_of(group + g, r));
          sum[g][r] = {b, b};
        }
      for (int64_t t = 0; t < blocks_.taps; ++t) {
        const T* w = weight_.data + group * weight_.group + tap_at_[t];
        for_channels(block.sources[p * block.taps + t], image, gather_.channel_stride, count,
                     [&](Panel<T> v, ptrdiff_t i) {
                       for (int r = 0; r < kRows; ++r) {
                         const Vec<T> x = splat(w[i * step + r * weight_.row]);
                         Panel<T>& s = sum[kDepthwise ? i : 0][r];
                         s.lo += x * v.lo, s.hi += x * v.hi;
                       }
                     });
      }
      for (int64_t g = 0; g < groups; ++g) {
        Tile<T> tile{};
        for (int r = 0; r < kRows; ++r) tile.v[r][0] = sum[g][r].lo, tile.v[r][1] = sum[g][r].hi;
        store_rows(tile, block, p, group + g, 0, kRows, false);
      }
    }
  }

  const Gather& gather_;
  int64_t groups_, rows_;
  DepthBlocks blocks_;
  int64_t positions_, capacity_, row_blocks_, col_blocks_, splits_, tasks_, chunks_, workers_;
  bool direct_, serial_;
  const T* image_ = nullptr;
  WeightView<T> weight_{};
  const T* bias_ = nullptr;
  T* out_ = nullptr;
  T* panels_ = nullptr;
  int64_t* tap_at_ = nullptr;
};

int64_t kernel_size(const ConvShape& s) {
  int64_t n = 1;
  for (int i = 0; i < s.rank; ++i) n *= s.kernel[i];
  return n;
}

template <class T>
GatherProduct<T> forward_product(const ConvShape& s, const Gather& g) {
  return {g, s.groups, s.out_channels / s.groups, s.in_channels / s.groups};
}
template <class T>
GatherProduct<T> input_grad_product(const ConvShape& s, const Gather& g) {
  return {g, s.groups, s.in_channels / s.groups, s.out_channels / s.groups};
}

// Calls use(gather) for each class of positions that some tap reaches.
template <class Use>
void for_classes(const ConvShape& s, Use&& use) {
  int64_t first[kMaxConvRank] = {};
  for (int i = 0; i >= 0;) {
    Gather g;
    if (input_grad_gather(s, first, &g)) use(g);
    for (i = s.rank - 1; i >= 0 && ++first[i] == residue_classes(s, i); --i) first[i] = 0;
  }
}

// Whether the classes cover every position.
bool classes_complete(const ConvShape& s) {
  for (int i = 0; i < s.rank; ++i)
    if (residue_classes(s, i) != s.stride[i]) return false;
  return true;
}

}  // namespace

template <class T>
size_t gather_forward_workspace(const ConvShape& s) {
  const Gather g = forward_gather(s);
  return forward_product<T>(s, g).workspace();
}

template <class T>
void gather_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                    void* workspace) noexcept {
  const Gather g = forward_gather(s);
  const int64_t channels = s.in_channels / s.groups, taps = kernel_size(s);
  const WeightView<T> view{weight, s.out_channels / s.groups * channels * taps, channels * taps, taps};
  forward_product<T>(s, g).run(x, view, bias, y, workspace);
}

template <class T>
size_t gather_input_grad_workspace(const ConvShape& s) {
  size_t most = 0;
  for_classes(s, [&](const Gather& g) {
    const size_t bytes = input_grad_product<T>(s, g).workspace();
    most = bytes > most ? bytes : most;
  });
  return most;
}

template <class T>
void gather_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept {
  int64_t total = s.batch * s.in_channels;
  for (int i = 0; i < s.rank; ++i) total *= s.in[i];
  if (total == 0) return;
  // Positions that no tap reaches are zero.
  if (!classes_complete(s)) {
    parallel::parallel_for(total, 1 << 16, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i) gx[i] = T(0);
    });
  }
  const int64_t channels = s.in_channels / s.groups, taps = kernel_size(s);
  const WeightView<T> view{weight, s.out_channels / s.groups * channels * taps, taps, channels * taps};
  for_classes(s, [&](const Gather& g) { input_grad_product<T>(s, g).run(gy, view, nullptr, gx, workspace); });
}

#define OMNIGRAD_INSTANTIATE(T)                                                                        \
  template size_t gather_forward_workspace<T>(const ConvShape&);                                       \
  template void gather_forward<T>(const ConvShape&, const T*, const T*, const T*, T*, void*) noexcept; \
  template size_t gather_input_grad_workspace<T>(const ConvShape&);                                    \
  template void gather_input_grad<T>(const ConvShape&, const T*, const T*, T*, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
