// Winograd forward and input gradient. A task is a block of tiles: its evaluations, the 36 products of them
// with the evaluated weight, and the outputs. All leading taps of a product are summed in registers.
#include "winograd.h"

#include "winograd_plan.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

// Beside the evaluated weight in the second-level cache.
constexpr int64_t kBlockBytes = int64_t{3} << 17;
constexpr int64_t kSkewBytes = 64;  // between points, so that they do not fall on one cache set

// Element (dest, source, tap, 3x3) of the weight, and whether the 3x3 is turned about.
template <class T>
struct WeightView {
  const T* data;
  int64_t group, dest, source;
  bool turned;
};

template <class T>
class WinogradProduct {
 public:
  explicit WinogradProduct(const WinogradPlan& p)
      : p_(p),
        depth_(round_up(p.sources, kL)),
        panels_(ceil_div(p.dests, kNR)),
        blocks_(p, kBlockBytes,
                kElement * kWinogradSize * (depth_ + round_up(p.dests, kNR) * (p.folded ? 0 : 1)),
                p.folded ? p.source_planes : p.dest_planes) {
    serial_ = p.direct_work() <= kSerialWork;
    const int64_t blocks = p.groups * blocks_.count();
    splits_ = serial_ || blocks >= WinogradBlocks::kWantedBlocks
                  ? 1
                  : smaller(ceil_div(panels_, kNR), ceil_div(WinogradBlocks::kWantedBlocks, blocks));
    width_ = ceil_div(panels_, splits_) * kNR;
    tasks_ = blocks * splits_;
    workers_ = worker_count(tasks_, serial_);
    pitch_ = blocks_.most_rows() * p.tile_cols;
    if (p.folded) pitch_ = round_up(pitch_, kTileRows);
    const int64_t source_tiles = round_up(blocks_.most_images() * p.source_planes * pitch_, kTileRows);
    const int64_t dest_tiles =
        p.folded ? pitch_ : round_up(blocks_.most_images() * p.dest_planes * pitch_, kTileRows);
    source_step_ = source_tiles * depth_ + kSkewBytes / kElement;
    dest_step_ = dest_tiles * width_ + kSkewBytes / kElement;
  }

  size_t workspace() const {
    return Arena::bytes<T>(weight_elements()) + Arena::bytes<T>(p_.source_image().zero_elements()) +
           static_cast<size_t>(workers_) * worker_bytes();
  }

  void run(const T* source, const WeightView<T>& weight, const T* bias, T* dest, void* workspace) {
    source_ = source, bias_ = bias, dest_ = dest;
    Arena arena(workspace);
    weight_ = arena.take<T>(weight_elements());
    const int64_t zero_elements = p_.source_image().zero_elements();
    T* const zeros = arena.take<T>(zero_elements);
    for (int64_t i = 0; i < zero_elements; ++i) zeros[i] = 0;
    zeros_ = zeros;
    evaluate_weight(weight);
    char* const scratch = arena.take<char>(0);
    for_tasks(tasks_, workers_, [&](int64_t task, int64_t worker) noexcept {
      run_task(task, scratch + static_cast<size_t>(worker) * worker_bytes());
    });
  }

 private:
  static constexpr int kL = kLanes<T>;      // channels in a vector
  static constexpr int kNR = kTileCols<T>;  // channels in a panel of the weight
  static constexpr int64_t kElement = sizeof(T);
  int64_t panel_elements() const { return p_.taps * p_.sources * kNR; }
  int64_t weight_step() const { return panels_ * panel_elements() + kSkewBytes / kElement; }
  int64_t weight_elements() const { return p_.groups * kWinogradSize * weight_step(); }
  size_t worker_bytes() const {
    return Arena::bytes<T>(kWinogradSize * source_step_) + Arena::bytes<T>(kWinogradSize * dest_step_) +
           Arena::bytes<Vec<T>>(p_.source_image().line_vectors()) + Arena::bytes<DepthPiece>(p_.taps);
  }

  // To [group][point][panel][tap][source][8]; missing rows are zero.
  void evaluate_weight(const WeightView<T>& w) const {
    const int64_t point_step = weight_step();
    parallel::parallel_for(
        p_.groups * panels_, serial_ ? p_.groups * panels_ : 1, [&](int64_t begin, int64_t end) noexcept {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t group = i / panels_, panel = i % panels_;
            for (int h = 0; h < kNR; h += kL) {
              const int64_t row = panel * kNR + h;
              const int have = static_cast<int>(larger(0, smaller(kL, p_.dests - row)));
              const T* const src = w.data + group * w.group + row * w.dest;
              T* dst = weight_ + group * kWinogradSize * point_step + panel * panel_elements() + h;
              for (int64_t t = 0; t < p_.taps; ++t)
                for (int64_t c = 0; c < p_.sources; ++c, dst += kNR)
                  evaluate_kernels(src + c * w.source + t * 9, w.dest, have, w.turned, dst, point_step);
            }
          }
        });
  }

  static void evaluate_kernels(const T* src, int64_t step, int have, bool turned, T* dst,
                               ptrdiff_t point_step) {
    Vec<T> w[3][3], a[3][kWinogradPoints];
    for (int i = 0; i < 9; ++i) {
      const T* const p = src + (turned ? 8 - i : i);
      Vec<T> v{};
      if (have == kL)
        for (int r = 0; r < kL; ++r) v[r] = p[r * step];
      else
        for (int r = 0; r < have; ++r) v[r] = p[r * step];
      w[i % 3][i / 3] = v;
    }
    for (int j = 0; j < 3; ++j) winograd::from_weight<T>(w[j], a[j]);
    for (int i = 0; i < kWinogradPoints; ++i) {
      const Vec<T> row[3] = {a[0][i], a[1][i], a[2][i]};
      Vec<T> o[kWinogradPoints];
      winograd::from_weight<T>(row, o);
      for (int j = 0; j < kWinogradPoints; ++j, dst += point_step) store(dst, o[j]);
    }
  }

  struct Task {
    WinogradBlocks::Block block;
    int64_t group, panel, panels;  // panels of the weight
    int64_t tiles;                 // from one plane to the next
    T *evaluations, *products;
    Vec<T>* line;
    DepthPiece* pieces;
  };

  void run_task(int64_t i, char* scratch) const {
    Arena arena(scratch);
    Task t;
    const int64_t split = i % splits_, b = i / splits_;
    t.group = b % p_.groups;
    t.block = blocks_.at(b / p_.groups);
    t.panel = split * panels_ / splits_;
    t.panels = (split + 1) * panels_ / splits_ - t.panel;
    t.tiles = t.block.rows * p_.tile_cols;
    if (p_.folded) t.tiles = round_up(t.tiles, kTileRows);
    t.evaluations = arena.take<T>(kWinogradSize * source_step_);
    t.products = arena.take<T>(kWinogradSize * dest_step_);
    t.line = arena.take<Vec<T>>(p_.source_image().line_vectors());
    t.pieces = arena.take<DepthPiece>(p_.taps);
    evaluate_source(t);
    if (!p_.folded) {
      t.pieces[0] = {0, 0, p_.sources};
      multiply_tiles(t, 1, t.block.images * p_.dest_planes * t.tiles);
      for (int64_t n = 0; n < t.block.images; ++n)
        for (int64_t p = 0; p < p_.dest_planes; ++p) write_plane(t, n, p, (n * p_.dest_planes + p) * t.tiles);
      return;
    }
    for (int64_t n = 0; n < t.block.images; ++n)
      for (int64_t p = 0; p < p_.dest_planes; ++p) {
        int64_t count = 0;
        for (int64_t tap = 0; tap < p_.taps; ++tap) {
          const int64_t q = p_.source_plane(p, tap);
          if (q < 0) continue;
          t.pieces[count++] = {(n * p_.source_planes + q) * t.tiles * depth_, tap * p_.sources * kNR,
                               p_.sources};
        }
        multiply_tiles(t, count, t.tiles);
        write_plane(t, n, p, 0);
      }
  }

  void evaluate_source(const Task& t) const {
    const WinogradImage image = p_.source_image();
    for (int64_t i = 0; i < image.line_vectors(); ++i) t.line[i] = Vec<T>{};
    for (int64_t n = 0; n < t.block.images; ++n)
      for (int64_t p = 0; p < p_.source_planes; ++p) {
        const T* plane = source_ + p * p_.source_size() +
                         ((t.block.image + n) * p_.groups + t.group) * p_.sources * image.channel_stride;
        T* out = t.evaluations + (n * p_.source_planes + p) * t.tiles * depth_;
        for (int64_t r = 0; r < t.block.rows; ++r)
          for (int64_t c = 0; c < depth_; c += kStripVectors * kL)
            transform_strip<winograd::FromInput>(
                image, plane + c * image.channel_stride,
                static_cast<int>(smaller(kStripVectors, (depth_ - c) / kL)),
                static_cast<int>(smaller(kStripVectors * kL, p_.sources - c)), t.block.row + r, t.line,
                zeros_, out + r * p_.tile_cols * depth_ + c, source_step_, depth_);
      }
  }

  // Products of `tiles` tiles from the first on, rounded up to whole row panels.
  void multiply_tiles(const Task& t, int64_t count, int64_t tiles) const {
    const T* const weight = weight_ + t.group * kWinogradSize * weight_step();
    for (int64_t i = 0; i < kWinogradSize; ++i) {
      const T* const a = t.evaluations + i * source_step_;
      T* const out = t.products + i * dest_step_;
      for (int64_t p = 0; p < t.panels; ++p) {
        const T* const b = weight + i * weight_step() + (t.panel + p) * panel_elements();
        for (int64_t r = 0; r < tiles; r += kTileRows)
          store_tile(multiply_pieces(a + r * depth_, depth_, 1, b, kNR, t.pieces, count),
                     out + r * width_ + p * kNR, width_, false);
      }
    }
  }

  // The outputs of one plane, whose products begin at `tile`. Along the rows, so that what is written lies
  // together: one line after the other of a channel.
  void write_plane(const Task& t, int64_t image, int64_t plane, int64_t tile) const {
    const int64_t first = t.panel * kNR, last = smaller(first + t.panels * kNR, p_.dests);
    const int64_t channel_stride = p_.dest_planes * p_.dest_size();
    T* const out = dest_ + plane * p_.dest_size() +
                   ((t.block.image + image) * p_.groups + t.group) * p_.dests * channel_stride;
    for (int64_t r = 0; r < t.block.rows; ++r)
      for (int64_t c = first; c < last; c += kL) {
        Vec<T> bias{};
        const int have = static_cast<int>(smaller(kL, last - c));
        if (bias_ != nullptr) bias = load_partial(bias_ + t.group * p_.dests + c, have);
        const int64_t y = (t.block.row + r) * kWinogradTile;
        const T* products = t.products + (tile + r * p_.tile_cols) * width_ + c - first;
        T* to = out + c * channel_stride + y * p_.dest_w;
        for (int64_t x = 0; x < p_.dest_w; x += kWinogradTile, products += width_, to += kWinogradTile)
          write_tile(products, bias, to, have, static_cast<int>(smaller(kWinogradTile, p_.dest_h - y)),
                     static_cast<int>(smaller(kWinogradTile, p_.dest_w - x)));
      }
  }

  void write_tile(const T* products, Vec<T> bias, T* out, int channels, int height, int width) const {
    const ptrdiff_t step = dest_step_, line = static_cast<ptrdiff_t>(p_.dest_w);
    const ptrdiff_t channel_stride = static_cast<ptrdiff_t>(p_.dest_planes * p_.dest_size());
    Vec<T> z[kWinogradTile][kWinogradPoints];
#pragma clang loop unroll(full)
    for (int j = 0; j < kWinogradPoints; ++j) {
      Vec<T> m[kWinogradPoints], o[kWinogradTile];
      for (int i = 0; i < kWinogradPoints; ++i) m[i] = load(products + (i * kWinogradPoints + j) * step);
      winograd::to_output<T>(m, o);
      for (int i = 0; i < kWinogradTile; ++i) z[i][j] = o[i];
    }
    for (int i = 0; i < height; ++i, out += line) {
      Vec<T> o[kWinogradTile];
      winograd::to_output<T>(z[i], o);
      for (int j = 0; j < kWinogradTile; j += kL) {
        Vec<T> v[kL];
        for (int l = 0; l < kL; ++l) v[l] = o[j + l] + bias;
        transpose(v);
        if (j >= width) break;
        T* p = out + j;
        for (int c = 0; c < channels; ++c, p += channel_stride) {
          if (width >= j + kL)
            store(p, v[c]);
          else
            store_partial(p, v[c], width - j);
        }
      }
    }
  }

  const WinogradPlan& p_;
  int64_t depth_, panels_;
  WinogradBlocks blocks_;
  bool serial_;
  int64_t splits_, width_, tasks_, workers_, pitch_;
  ptrdiff_t source_step_, dest_step_;  // from one point to the next
  const T *source_ = nullptr, *bias_ = nullptr, *zeros_ = nullptr;
  T *dest_ = nullptr, *weight_ = nullptr;
};

int64_t taps_of(const ConvShape& s) {
  int64_t n = 1;
  for (int i = 0; i < s.rank; ++i) n *= s.kernel[i];
  return n;
}

}  // namespace

bool winograd_forward_pays(const ConvShape& s) {
  return winograd_applies(s) && winograd_forward_plan(s).pays();
}
bool winograd_input_grad_pays(const ConvShape& s) {
  return winograd_applies(s) && winograd_input_grad_plan(s).pays();
}

template <class T>
size_t winograd_forward_workspace(const ConvShape& s) {
  const WinogradPlan p = winograd_forward_plan(s);
  return WinogradProduct<T>(p).workspace();
}
template <class T>
void winograd_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                      void* workspace) noexcept {
  const WinogradPlan p = winograd_forward_plan(s);
  const int64_t taps = taps_of(s);
  WinogradProduct<T>(p).run(x, {weight, p.dests * p.sources * taps, p.sources * taps, taps, false}, bias, y,
                            workspace);
}

template <class T>
size_t winograd_input_grad_workspace(const ConvShape& s) {
  const WinogradPlan p = winograd_input_grad_plan(s);
  return WinogradProduct<T>(p).workspace();
}
template <class T>
void winograd_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept {
  const WinogradPlan p = winograd_input_grad_plan(s);
  const int64_t taps = taps_of(s);
  WinogradProduct<T>(p).run(gy, {weight, p.dests * p.sources * taps, taps, p.dests * taps, true}, nullptr, gx,
                            workspace);
}

#define OMNIGRAD_INSTANTIATE(T)                                                                          \
  template size_t winograd_forward_workspace<T>(const ConvShape&);                                       \
  template void winograd_forward<T>(const ConvShape&, const T*, const T*, const T*, T*, void*) noexcept; \
  template size_t winograd_input_grad_workspace<T>(const ConvShape&);                                    \
  template void winograd_input_grad<T>(const ConvShape&, const T*, const T*, T*, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
