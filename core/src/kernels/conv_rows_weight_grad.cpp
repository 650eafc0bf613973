// The weight gradient from bands of rows: dot products of rows of gy with shifted rows of the copy, a tile of
// (output channel, tap) sums in registers. Groups own their sums; where those are few, bands are cut into
// slices whose sums are added in order. Both depend on sizes alone.
#include "conv_rows.h"
#include "workers.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kWantedTasks = 16;

template <class T>
class RowsWeightGrad {
 public:
  explicit RowsWeightGrad(const RowsPlan& p) : p_(p), band_(p) {
    serial_ = p.work() <= kSerialWork;
    const int64_t units = p.batch * p.dest_planes * band_.bands();
    slices_ = serial_ || p.groups >= kWantedTasks ? 1 : smaller(units, ceil_div(kWantedTasks, p.groups));
    tasks_ = p.groups * slices_;
    workers_ = worker_count(tasks_, serial_);
  }

  size_t workspace() const {
    return Arena::bytes<int32_t>(p_.depth()) + Arena::bytes<T>(slices_ > 1 ? slices_ * elements() : 0) +
           static_cast<size_t>(workers_) * Arena::bytes<T>(band_.elements());
  }

  void run(const T* gy, const T* x, T* gw, void* workspace) {
    Arena arena(workspace);
    int32_t* const offsets = arena.take<int32_t>(p_.depth());
    band_.offsets(offsets);
    offsets_ = offsets;
    T* const partial = slices_ > 1 ? arena.take<T>(slices_ * elements()) : gw;
    char* const scratch = arena.take<char>(0);
    for_tasks(tasks_, workers_, [&](int64_t task, int64_t worker) noexcept {
      T* const copy = reinterpret_cast<T*>(scratch + worker * Arena::bytes<T>(band_.elements()));
      const int64_t group = task % p_.groups, slice = task / p_.groups;
      T* const out = partial + slice * elements() + group * p_.dests * p_.depth();
      for (int64_t i = 0; i < p_.dests * p_.depth(); ++i) out[i] = T(0);
      const int64_t units = p_.batch * p_.dest_planes * band_.bands();
      for (int64_t u = slice * units / slices_; u < (slice + 1) * units / slices_; ++u)
        add_band(gy, x, group, u, copy, out);
    });
    if (slices_ == 1) return;
    for (int64_t i = 0; i < elements(); ++i) {
      T sum = partial[i];
      for (int64_t k = 1; k < slices_; ++k) sum += partial[k * elements() + i];
      gw[i] = sum;
    }
  }

 private:
  int64_t elements() const { return p_.groups * p_.dests * p_.depth(); }

  void add_band(const T* gy, const T* x, int64_t group, int64_t unit, T* copy, T* out) const {
    const int64_t band = unit % band_.bands(), plane = unit / band_.bands() % p_.dest_planes;
    const int64_t part = unit / band_.bands() / p_.dest_planes * p_.groups + group;
    band_.fill(x + part * p_.sources * p_.source_size(), plane, band, copy);
    const int64_t first = band * band_.rows(), count = smaller(band_.rows(), p_.h.dest - first);
    const T* const g = gy + part * p_.dests * p_.dest_size() + (plane * p_.h.dest + first) * p_.w.dest;
    if (p_.dests == 1)
      add_tiles<1, 9>(g, copy, count, out);
    else
      add_tiles<4, 2>(g, copy, count, out);
  }

  template <int kRows, int kCols>
  void add_tiles(const T* g, const T* copy, int64_t count, T* out) const {
    const int64_t depth = p_.depth();
    for (int64_t r = 0; r < p_.dests; r += kRows)
      for (int64_t k = 0; k < depth; k += kCols) {
        // Missing rows and columns repeat the last; their sums are dropped.
        const T *rows[kRows], *cols[kCols];
        for (int i = 0; i < kRows; ++i) rows[i] = g + smaller(r + i, p_.dests - 1) * p_.dest_size();
        for (int j = 0; j < kCols; ++j) cols[j] = copy + offsets_[smaller(k + j, depth - 1)];
        T sums[kRows][kCols];
        dot<kRows, kCols>(rows, cols, count, sums);
        for (int i = 0; i < kRows && r + i < p_.dests; ++i)
          for (int j = 0; j < kCols && k + j < depth; ++j) out[(r + i) * depth + k + j] += sums[i][j];
      }
  }

  template <int kRows, int kCols>
  void dot(const T* (&rows)[kRows], const T* (&cols)[kCols], int64_t count, T (&out)[kRows][kCols]) const {
    constexpr int kL = kLanes<T>;
    const ptrdiff_t width = p_.w.dest, whole = width / kL * kL, step = band_.row_step();
    Vec<T> sums[kRows][kCols] = {};
    ptrdiff_t at = 0, from = 0;
    for (ptrdiff_t y = 0; y < count; ++y, at += width, from += step) {
      for (ptrdiff_t i = 0; i < whole; i += kL) {
        Vec<T> x[kCols];
        for (int j = 0; j < kCols; ++j) x[j] = load(cols[j] + from + i);
        for (int r = 0; r < kRows; ++r) {
          const Vec<T> g = load(rows[r] + at + i);
          for (int j = 0; j < kCols; ++j) sums[r][j] += g * x[j];
        }
      }
      if (whole == width) continue;
      // Both are cut: beyond the row the copy may hold what is not finite.
      const int n = static_cast<int>(width - whole);
      for (int r = 0; r < kRows; ++r) {
        const Vec<T> g = load_partial(rows[r] + at + whole, n);
        for (int j = 0; j < kCols; ++j) sums[r][j] += g * load_partial(cols[j] + from + whole, n);
      }
    }
    for (int r = 0; r < kRows; ++r)
      for (int j = 0; j < kCols; ++j) out[r][j] = sum_lanes(sums[r][j]);
  }

  const RowsPlan& p_;
  RowsBand<T> band_;
  bool serial_;
  int64_t slices_, tasks_, workers_;
  const int32_t* offsets_ = nullptr;
};

}  // namespace

template <class T>
size_t rows_weight_grad_workspace(const RowsPlan& p) {
  return RowsWeightGrad<T>(p).workspace();
}
template <class T>
void rows_weight_grad(const RowsPlan& p, const T* gy, const T* x, T* gw, void* workspace) noexcept {
  RowsWeightGrad<T>(p).run(gy, x, gw, workspace);
}

template size_t rows_weight_grad_workspace<float>(const RowsPlan&);
template size_t rows_weight_grad_workspace<double>(const RowsPlan&);
template void rows_weight_grad<float>(const RowsPlan&, const float*, const float*, float*, void*) noexcept;
template void rows_weight_grad<double>(const RowsPlan&, const double*, const double*, double*,
                                       void*) noexcept;

}  // namespace omnigrad::kernels
