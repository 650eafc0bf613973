// Winograd weight gradient, F(3x3, 4x4): at each of 36 points the product of the evaluated cotangent and
// image, summed over tiles. A task owns a block of channel pairs and keeps their 36 sums; where those tasks
// are few, the tiles are cut into slices whose gradients are added in order. Both depend on sizes alone.
#include "winograd.h"
#include "winograd_plan.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

// Large, for the sums are read and written once a block.
constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr int64_t kSkewBytes = 64;      // between points, so that they do not fall on one cache set
constexpr int64_t kBlockChannels = 64;  // of each operand in a task
constexpr int64_t kBlockPairs = 4096;   // channel pairs times leading taps in a task: 590 KB of sums

template <class T>
class WinogradWeightGrad {
 public:
  explicit WinogradWeightGrad(const WinogradPlan& p)
      : p_(p),
        swapped_(p.sources <= kTileRows && p.dests > kTileRows),
        rows_(swapped_ ? p.sources : p.dests),
        cols_(swapped_ ? p.dests : p.sources),
        row_block_(smaller(kBlockChannels, round_up(rows_, kTileRows))),
        col_block_(smaller(kBlockChannels, round_up(cols_, kNR))) {
    while (row_block_ * col_block_ * p.taps > kBlockPairs && larger(row_block_, col_block_) > kNR)
      row_block_ > col_block_ ? row_block_ = round_up(row_block_ / 2, kTileRows)
                              : col_block_ = round_up(col_block_ / 2, kNR);
    row_parts_ = ceil_div(rows_, row_block_), col_parts_ = ceil_div(cols_, col_block_);
    owners_ = p.groups * row_parts_ * col_parts_;
    row_planes_ = swapped_ ? p.source_planes : p.dest_planes;
    col_planes_ = swapped_ ? p.dest_planes : p.source_planes;
    blocks_ = WinogradBlocks(p, kBlockBytes, kElement * kWinogradSize * (row_block_ + col_block_),
                             larger(row_planes_, col_planes_));
    serial_ = p.direct_work() <= kSerialWork;
    slices_ = serial_ || owners_ >= WinogradBlocks::kWantedBlocks
                  ? 1
                  : smaller(ceil_div(blocks_.count(), 2), ceil_div(WinogradBlocks::kWantedBlocks, owners_));
    tasks_ = owners_ * slices_;
    workers_ = worker_count(tasks_, serial_);
    const int64_t tiles = blocks_.most_images() * blocks_.most_rows() * p.tile_cols;
    row_step_ = tiles * row_planes_ * row_block_ + kSkewBytes / kElement;
    col_step_ = tiles * col_planes_ * col_block_ + kSkewBytes / kElement;
  }

  size_t workspace() const {
    return Arena::bytes<T>(slices_ > 1 ? slices_ * elements() : 0) + Arena::bytes<T>(zero_elements()) +
           static_cast<size_t>(workers_) * worker_bytes();
  }

  void run(const T* gy, const T* x, T* gw, void* workspace) {
    cotangent_ = gy, image_ = x;
    Arena arena(workspace);
    T* const partial = slices_ > 1 ? arena.take<T>(slices_ * elements()) : gw;
    T* const zeros = arena.take<T>(zero_elements());
    for (int64_t i = 0; i < zero_elements(); ++i) zeros[i] = 0;
    zeros_ = zeros;
    char* const scratch = arena.take<char>(0);
    for_tasks(tasks_, workers_, [&](int64_t task, int64_t worker) noexcept {
      run_task(task % owners_, task / owners_, partial + task / owners_ * elements(),
               scratch + static_cast<size_t>(worker) * worker_bytes());
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
  static constexpr int kL = kLanes<T>;
  static constexpr int kNR = kTileCols<T>;
  static constexpr int64_t kElement = sizeof(T);
  int64_t elements() const { return p_.groups * p_.dests * p_.sources * p_.taps * 9; }
  int64_t zero_elements() const {
    return larger(p_.source_image().zero_elements(), p_.dest_image().zero_elements());
  }
  int64_t line_vectors() const { return p_.source_image().line_vectors(); }
  int64_t sum_step() const { return row_block_ * col_block_ + kSkewBytes / kElement; }
  int64_t sum_elements() const { return p_.taps * kWinogradSize * sum_step(); }
  int64_t most_pieces() const { return blocks_.most_images() * p_.dest_planes; }
  size_t worker_bytes() const {
    return Arena::bytes<T>(kWinogradSize * row_step_) + Arena::bytes<T>(kWinogradSize * col_step_) +
           Arena::bytes<T>(sum_elements()) + Arena::bytes<Vec<T>>(line_vectors()) +
           Arena::bytes<DepthPiece>(most_pieces());
  }

  struct Task {
    WinogradBlocks::Block block;
    int64_t group, row, rows, col, cols;  // channels owned
    T *row_points, *col_points, *sums;
    Vec<T>* line;
    DepthPiece* pieces;
  };

  void run_task(int64_t owner, int64_t slice, T* gw, char* scratch) const {
    Arena arena(scratch);
    Task t;
    t.group = owner / (row_parts_ * col_parts_);
    t.row = owner / col_parts_ % row_parts_ * row_block_, t.rows = smaller(row_block_, rows_ - t.row);
    t.col = owner % col_parts_ * col_block_, t.cols = smaller(col_block_, cols_ - t.col);
    t.row_points = arena.take<T>(kWinogradSize * row_step_);
    t.col_points = arena.take<T>(kWinogradSize * col_step_);
    t.sums = arena.take<T>(sum_elements());
    t.line = arena.take<Vec<T>>(line_vectors());
    t.pieces = arena.take<DepthPiece>(most_pieces());
    for (int64_t i = 0; i < sum_elements(); ++i) t.sums[i] = 0;
    const int64_t blocks = blocks_.count();
    for (int64_t b = slice * blocks / slices_; b < (slice + 1) * blocks / slices_; ++b) {
      t.block = blocks_.at(b);
      T* const source = swapped_ ? t.row_points : t.col_points;
      T* const dest = swapped_ ? t.col_points : t.row_points;
      const int64_t source_pitch = swapped_ ? row_block_ : col_block_;
      const int64_t dest_pitch = swapped_ ? col_block_ : row_block_;
      evaluate<winograd::FromInput>(t, p_.source_image(), image_, p_.source_planes, p_.sources,
                                    swapped_ ? t.row : t.col, source, swapped_ ? row_step_ : col_step_,
                                    source_pitch);
      evaluate<winograd::FromCotangent>(t, p_.dest_image(), cotangent_, p_.dest_planes, p_.dests,
                                        swapped_ ? t.col : t.row, dest, swapped_ ? col_step_ : row_step_,
                                        dest_pitch);
      for (int64_t tap = 0; tap < p_.taps; ++tap) add_products(t, tap);
    }
    write(t, gw);
  }

  // Channels from `first` on of every image, plane and tile row of the block; `pitch` of them, missing ones
  // zero, to out[point][image][plane][tile][channel].
  template <class Map>
  void evaluate(const Task& t, const WinogradImage& image, const T* data, int64_t planes, int64_t channels,
                int64_t first, T* out, ptrdiff_t step, int64_t pitch) const {
    for (int64_t i = 0; i < line_vectors(); ++i) t.line[i] = Vec<T>{};
    const int64_t strip = p_.tile_cols * pitch;
    for (int64_t n = 0; n < t.block.images; ++n)
      for (int64_t p = 0; p < planes; ++p) {
        const T* plane = data + p * image.height * image.width +
                         ((t.block.image + n) * p_.groups + t.group) * channels * image.channel_stride;
        for (int64_t r = 0; r < t.block.rows; ++r, out += strip)
          for (int64_t c = 0; c < pitch; c += kStripVectors * kL) {
            const int vectors = static_cast<int>(smaller(kStripVectors, ceil_div(pitch - c, kL)));
            const int have = static_cast<int>(larger(0, smaller(vectors * kL, channels - first - c)));
            transform_strip<Map>(image, plane + (first + c) * image.channel_stride, vectors, have,
                                 t.block.row + r, t.line, zeros_, out + c, step, pitch);
          }
      }
  }

  // The tiles that `tap` pairs, as runs that are contiguous in both operands.
  int64_t pair_tiles(const Task& t, int64_t tap) const {
    const int64_t tiles = t.block.rows * p_.tile_cols;
    const int64_t row_pitch = tiles * row_block_, col_pitch = tiles * col_block_;
    if (!p_.folded) {
      t.pieces[0] = {0, 0, t.block.images * p_.dest_planes * tiles};
      return 1;
    }
    int64_t count = 0;
    for (int64_t n = 0; n < t.block.images; ++n) {
      int64_t before = -1;
      for (int64_t p = 0; p < p_.dest_planes; ++p) {
        const int64_t q = p_.source_plane(p, tap);
        if (q >= 0 && before >= 0 && q == before + 1) {
          t.pieces[count - 1].depth += tiles;
        } else if (q >= 0) {
          const int64_t d = n * p_.dest_planes + p, s = n * p_.source_planes + q;
          t.pieces[count++] = {(swapped_ ? s : d) * row_pitch, (swapped_ ? d : s) * col_pitch, tiles};
        }
        before = q;
      }
    }
    return count;
  }

  void add_products(const Task& t, int64_t tap) const {
    const int64_t count = pair_tiles(t, tap);
    for (int64_t i = 0; i < kWinogradSize; ++i) {
      const T *const a = t.row_points + i * row_step_, *const b = t.col_points + i * col_step_;
      T* const sums = t.sums + (tap * kWinogradSize + i) * sum_step();
      for (int64_t c = 0; c < t.cols; c += kNR)
        for (int64_t r = 0; r < t.rows; r += kTileRows)
          store_tile(multiply_pieces(a + r, 1, row_block_, b + c, col_block_, t.pieces, count),
                     sums + r * col_block_ + c, col_block_, true);
    }
  }

  void write(const Task& t, T* gw) const {
    const int64_t weights = p_.taps * 9;
    const int64_t row_stride = swapped_ ? weights : p_.sources * weights;
    const int64_t col_stride = swapped_ ? p_.sources * weights : weights;
    const int64_t point_step = sum_step();
    gw += t.group * p_.dests * p_.sources * weights;
    for (int64_t r = 0; r < t.rows; ++r)
      for (int64_t c = 0; c < t.cols; c += kL)
        for (int64_t tap = 0; tap < p_.taps; ++tap) {
          const T* const sums = t.sums + tap * kWinogradSize * point_step + r * col_block_ + c;
          T* const out = gw + (t.row + r) * row_stride + (t.col + c) * col_stride + tap * 9;
          write_kernels(sums, point_step, static_cast<int>(smaller(kL, t.cols - c)), out, col_stride);
        }
  }

  static void write_kernels(const T* sums, ptrdiff_t point_step, int have, T* out, ptrdiff_t step) {
    Vec<T> a[3][kWinogradPoints];
    for (int j = 0; j < kWinogradPoints; ++j) {
      Vec<T> m[kWinogradPoints], o[3];
      for (int i = 0; i < kWinogradPoints; ++i) m[i] = load(sums + (i * kWinogradPoints + j) * point_step);
      winograd::to_weight<T>(m, o);
      for (int i = 0; i < 3; ++i) a[i][j] = o[i];
    }
    for (int i = 0; i < 3; ++i) {
      Vec<T> o[3];
      winograd::to_weight<T>(a[i], o);
      for (int j = 0; j < 3; ++j)
        for (int l = 0; l < have; ++l) out[l * step + i * 3 + j] = o[j][l];
    }
  }

  const WinogradPlan& p_;
  bool swapped_;                   // sources are rows
  int64_t rows_, cols_;            // channels of either operand
  int64_t row_block_, col_block_;  // those in a task, as they lie in memory
  int64_t row_parts_ = 0, col_parts_ = 0, owners_ = 0;
  int64_t row_planes_ = 0, col_planes_ = 0;  // planes of an image
  WinogradBlocks blocks_{};
  bool serial_ = false;
  int64_t slices_ = 1, tasks_ = 0, workers_ = 1;
  ptrdiff_t row_step_ = 0, col_step_ = 0;  // from one point to the next
  const T *cotangent_ = nullptr, *image_ = nullptr, *zeros_ = nullptr;
};

}  // namespace

bool winograd_weight_grad_pays(const ConvShape& s) {
  return winograd_applies(s) && winograd_forward_plan(s).pays();
}

template <class T>
size_t winograd_weight_grad_workspace(const ConvShape& s) {
  const WinogradPlan p = winograd_forward_plan(s);
  return WinogradWeightGrad<T>(p).workspace();
}

template <class T>
void winograd_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept {
  const WinogradPlan p = winograd_forward_plan(s);
  WinogradWeightGrad<T>(p).run(gy, x, gw, workspace);
}

template size_t winograd_weight_grad_workspace<float>(const ConvShape&);
template size_t winograd_weight_grad_workspace<double>(const ConvShape&);
template void winograd_weight_grad<float>(const ConvShape&, const float*, const float*, float*,
                                          void*) noexcept;
template void winograd_weight_grad<double>(const ConvShape&, const double*, const double*, double*,
                                           void*) noexcept;

}  // namespace omnigrad::kernels
