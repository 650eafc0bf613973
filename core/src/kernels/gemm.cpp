#include "gemm.h"

#include "../parallel/parallel.h"
#include "microkernel.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

template <class T>
constexpr int64_t kDepth = 2048 / sizeof(T);  // k in a block: one B panel stays in the first-level cache
constexpr int64_t kRows = 1024;               // rows of A and columns of B packed at a time
constexpr int64_t kCols = 1024;
constexpr int64_t kTaskRows = 64;  // one task's block of C
constexpr int64_t kTaskCols = 64;
constexpr int64_t kBatchChunks = 16;  // batches are shared out in at most this many parts

// Packs `width` (<= kWidth) lines that lie `line` apart into out [depth][kWidth]; missing lines are zero.
template <int kWidth, class T>
void pack_panel(const T* src, ptrdiff_t line, ptrdiff_t step, int width, ptrdiff_t depth, T* out) {
  constexpr int kL = kLanes<T>;
  if (width == kWidth && line == 1) {
    for (ptrdiff_t k = 0; k < depth; ++k, src += step, out += kWidth)
      for (int j = 0; j < kWidth; j += kL) store(out + j, load(src + j));
    return;
  }
  ptrdiff_t k = 0;
  if (width == kWidth && step == 1) {
    for (; k + kL <= depth; k += kL)
      for (int j = 0; j < kWidth; j += kL) {
        Vec<T> v[kL];
        for (int i = 0; i < kL; ++i) v[i] = load(src + (j + i) * line + k);
        transpose(v);
        for (int i = 0; i < kL; ++i) store(out + (k + i) * kWidth + j, v[i]);
      }
  }
  for (; k < depth; ++k)
    for (int j = 0; j < kWidth; ++j) out[k * kWidth + j] = j < width ? src[j * line + k * step] : T(0);
}

// One product, its operands and how each is read.
template <class T>
struct Product {
  static constexpr int kNR = kTileCols<T>;
  int64_t m, n, k;
  Strided<T> a, b;
  T* c;
  int64_t c_row, c_col;
  bool add;
  bool pack_a, pack_b;
  T *a_panels, *b_panels;

  // The block in hand.
  int64_t i0 = 0, rows = 0, j0 = 0, cols = 0, k0 = 0, depth = 0;

  void pack_a_panel(int64_t panel) const {
    const int64_t i = i0 + panel * kTileRows;
    pack_panel<kTileRows>(a.data + i * a.row + k0 * a.col, a.row, a.col,
                          static_cast<int>(smaller(kTileRows, i0 + rows - i)), depth,
                          a_panels + panel * depth * kTileRows);
  }
  void pack_b_panel(int64_t panel) const {
    const int64_t j = j0 + panel * kNR;
    pack_panel<kNR>(b.data + j * b.col + k0 * b.row, b.col, b.row,
                    static_cast<int>(smaller(kNR, j0 + cols - j)), depth, b_panels + panel * depth * kNR);
  }

  template <bool kPackedA>
  void run_tile(int64_t row_panel, const T* b_data, ptrdiff_t b_step, int64_t j, int width) const {
    const int64_t i = i0 + row_panel * kTileRows;
    const int height = static_cast<int>(smaller(kTileRows, i0 + rows - i));
    Tile<T> tile;
    if constexpr (kPackedA) {
      const T* p = a_panels + row_panel * depth * kTileRows;
      tile = b_step == kNR ? multiply_panels(p, b_data, depth)
                           : multiply(p, p + 1, p + 2, p + 3, kTileRows, b_data, b_step, depth);
    } else {
      // Missing rows repeat the last one; their sums are dropped.
      const T* p = a.data + i * a.row + k0 * a.col;
      const T* p1 = p + (height > 1 ? a.row : 0);
      const T* p2 = p1 + (height > 2 ? a.row : 0);
      const T* p3 = p2 + (height > 3 ? a.row : 0);
      tile = b_step == kNR ? multiply(p, p1, p2, p3, a.col, b_data, kNR, depth)
                           : multiply(p, p1, p2, p3, a.col, b_data, b_step, depth);
    }
    const bool into = add || k0 > 0;
    T* out = c + i * c_row + j * c_col;
    if (height == kTileRows && width == kNR && c_col == 1)
      store_tile(tile, out, c_row, into);
    else
      store_tile_part(tile, out, c_row, c_col, height, width, into);
  }

  // Column panels [p0, p1) by row panels [r0, r1).
  void run_block(int64_t r0, int64_t r1, int64_t p0, int64_t p1) const {
    for (int64_t p = p0; p < p1; ++p) {
      const int64_t j = j0 + p * kNR;
      const int width = static_cast<int>(smaller(kNR, j0 + cols - j));
      // An unpacked B keeps one packed panel: the last, if it is partial.
      const bool packed = pack_b || width < kNR;
      const T* data = packed ? b_panels + (pack_b ? p * depth * kNR : 0) : b.data + k0 * b.row + j;
      const ptrdiff_t step = packed ? kNR : b.row;
      for (int64_t r = r0; r < r1; ++r) {
        if (pack_a)
          run_tile<true>(r, data, step, j, width);
        else
          run_tile<false>(r, data, step, j, width);
      }
    }
  }

  void run() {
    const bool serial = m * n * k <= kSerialWork;
    for (j0 = 0; j0 < n; j0 += kCols) {
      cols = smaller(kCols, n - j0);
      const int64_t col_panels = ceil_div(cols, kNR);
      for (k0 = 0; k0 < k; k0 += kDepth<T>) {
        depth = smaller(kDepth<T>, k - k0);
        for (i0 = 0; i0 < m; i0 += kRows) {
          rows = smaller(kRows, m - i0);
          const int64_t row_panels = ceil_div(rows, kTileRows);
          const int64_t a_count = pack_a ? row_panels : 0;
          const int64_t b_count = pack_b && i0 == 0 ? col_panels : 0;
          const int64_t total = a_count + b_count;
          parallel::parallel_for(total, serial ? total : 16, [&](int64_t begin, int64_t end) noexcept {
            for (int64_t p = begin; p < end; ++p) p < a_count ? pack_a_panel(p) : pack_b_panel(p - a_count);
          });
          if (!pack_b && cols % kNR != 0 && i0 == 0) {
            T* const panels = b_panels;
            b_panels =
                panels - (col_panels - 1) * depth * kNR;  // pack_b_panel places by index; this one goes first
            pack_b_panel(col_panels - 1);
            b_panels = panels;
          }
          const int64_t task_rows = kTaskRows / kTileRows, task_cols = kTaskCols / kNR;
          const int64_t across = ceil_div(col_panels, task_cols);
          const int64_t tasks = across * ceil_div(row_panels, task_rows);
          parallel::parallel_for(tasks, serial ? tasks : 1, [&](int64_t begin, int64_t end) noexcept {
            for (int64_t t = begin; t < end; ++t) {
              const int64_t r = t / across * task_rows, p = t % across * task_cols;
              run_block(r, smaller(r + task_rows, row_panels), p, smaller(p + task_cols, col_panels));
            }
          });
        }
      }
    }
  }
};

}  // namespace

template <class T>
size_t gemm_workspace(int64_t m, int64_t n, int64_t k) {
  // Rows and columns may change places, so both are rounded to the wider tile.
  const int64_t lines = round_up(smaller(m, kRows), 8) + round_up(smaller(n, kCols), 8);
  return static_cast<size_t>(lines * smaller(k, kDepth<T>)) * sizeof(T);
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Strided<T> a, Strided<T> b, T* c, bool add,
          void* workspace) noexcept {
  if (m <= 0 || n <= 0) return;
  if (k <= 0) {
    if (!add)
      for (int64_t i = 0; i < m * n; ++i) c[i] = T(0);
    return;
  }
  Product<T> p{m, n, k, a, b, c, n, 1, add, true, true, nullptr, nullptr};
  // Few rows against a B whose columns run along k: as C' = B' A', where B' is read in place.
  if (m <= kTileRows && n > m && b.col != 1) {
    p.m = n, p.n = m;
    p.a = {b.data, b.col, b.row};
    p.b = {a.data, a.col, a.row};
    p.c_row = 1, p.c_col = n;
  }
  // An operand that is read at most twice is not worth packing.
  p.pack_a = p.n > 2 * kTileCols<T>;
  p.pack_b = p.b.col != 1 || p.m > 2 * kTileRows;
  p.a_panels = static_cast<T*>(workspace);
  p.b_panels = p.a_panels + round_up(smaller(p.m, kRows), kTileRows) * smaller(k, kDepth<T>);
  p.run();
}

// Whether products are large enough to be split inside; otherwise whole products are shared out.
static bool splits_inside(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return batch == 1 || m * n * k > 8 * kSerialWork;
}

static int64_t batch_workers(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return worker_count(smaller(batch, kBatchChunks), batch * m * n * k <= kSerialWork);
}

template <class T>
size_t gemm_batched_workspace(int64_t batch, int64_t m, int64_t n, int64_t k) {
  const int64_t workers = splits_inside(batch, m, n, k) ? 1 : batch_workers(batch, m, n, k);
  return static_cast<size_t>(workers) * gemm_workspace<T>(m, n, k);
}

template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, Strided<T> a, const int64_t* a_offsets,
                  Strided<T> b, const int64_t* b_offsets, T* c, bool add, void* workspace) noexcept {
  if (batch <= 0 || m <= 0 || n <= 0) return;
  const auto one = [&](int64_t i, void* scratch) {
    gemm<T>(m, n, k, {a.data + a_offsets[i], a.row, a.col}, {b.data + b_offsets[i], b.row, b.col},
            c + i * m * n, add, scratch);
  };
  if (splits_inside(batch, m, n, k)) {
    for (int64_t i = 0; i < batch; ++i) one(i, workspace);
    return;
  }
  const int64_t chunks = smaller(batch, kBatchChunks);
  const size_t bytes = gemm_workspace<T>(m, n, k);
  for_tasks(chunks, batch_workers(batch, m, n, k), [&](int64_t q, int64_t worker) noexcept {
    for (int64_t i = q * batch / chunks; i < (q + 1) * batch / chunks; ++i)
      one(i, static_cast<char*>(workspace) + static_cast<size_t>(worker) * bytes);
  });
}

#define OMNIGRAD_INSTANTIATE(T)                                                                             \
  template size_t gemm_workspace<T>(int64_t, int64_t, int64_t);                                             \
  template void gemm<T>(int64_t, int64_t, int64_t, Strided<T>, Strided<T>, T*, bool, void*) noexcept;       \
  template size_t gemm_batched_workspace<T>(int64_t, int64_t, int64_t, int64_t);                            \
  template void gemm_batched<T>(int64_t, int64_t, int64_t, int64_t, Strided<T>, const int64_t*, Strided<T>, \
                                const int64_t*, T*, bool, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
