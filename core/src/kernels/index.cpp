#include "kernels/index.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/strided.h"

namespace omnigrad::kernels {
namespace {

// Calls line(index offset, x offset, y offset) for each line of `index` along `dim`.
template <class Line>
void for_lines(const int64_t* index_shape, const int64_t* x_shape, const int64_t* y_shape, int rank, int dim,
               const Line& line) noexcept {
  int64_t si[kMaxAxes], sx[kMaxAxes], sy[kMaxAxes], lines[kMaxAxes];
  dense_strides(index_shape, rank, si);
  dense_strides(x_shape, rank, sx);
  dense_strides(y_shape, rank, sy);
  std::copy(index_shape, index_shape + rank, lines);
  lines[dim] = 1;
  const Strided loop(lines, rank, {si, sx, sy});
  const int64_t i = loop.inner_stride(0), x = loop.inner_stride(1), y = loop.inner_stride(2);
  const int64_t grain = std::max<int64_t>(kGrain / 4 / std::max<int64_t>(index_shape[dim], 1), 1);
  loop.for_rows(grain, [&](const int64_t* offset, int64_t n) noexcept {
    for (int64_t k = 0; k < n; ++k) line(offset[0] + k * i, offset[1] + k * x, offset[2] + k * y);
  });
}

int64_t stride_of(const int64_t* shape, int rank, int dim) {
  int64_t step = 1;
  for (int a = rank - 1; a > dim; --a) step *= shape[a];
  return step;
}

}  // namespace

IndexRange index_range(DType dtype, const void* index, const int64_t* strides, const int64_t* shape,
                       int rank) noexcept {
  const Strided loop(shape, rank, {strides});
  const int64_t s = loop.inner_stride(0), n = loop.count();
  if (n == 0) return {0, -1};
  IndexRange range{INT64_MAX, INT64_MIN};
  visit_index(dtype, [&]<class I>() {
    // One chunk: the caller's thread alone, so `range` needs no guard.
    loop.for_rows(n, [&](const int64_t* offset, int64_t m) noexcept {
      const I* p = static_cast<const I*>(index) + offset[0];
      for (int64_t k = 0; k < m; ++k) {
        range.min = std::min<int64_t>(range.min, p[k * s]);
        range.max = std::max<int64_t>(range.max, p[k * s]);
      }
    });
  });
  return range;
}

void index_select(int bytes, const void* x, const int64_t* index, void* y, int64_t outer, int64_t n,
                  int64_t count, int64_t inner) noexcept {
  const int64_t row = inner * bytes;
  const int64_t grain = std::max<int64_t>(kGrain * 4 / std::max<int64_t>(row, 1), 1);
  parallel::parallel_for(outer * count, grain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t from = t / count * n + index[t % count];
      std::memcpy(static_cast<char*>(y) + t * row, static_cast<const char*>(x) + from * row,
                  static_cast<size_t>(row));
    }
  });
}

void index_add(DType dtype, const void* x, const int64_t* index, void* y, int64_t outer, int64_t n,
               int64_t count, int64_t inner) noexcept {
  constexpr int64_t kColumns = 16;
  const int64_t tiles = (inner + kColumns - 1) / kColumns;
  visit_dtype(dtype, [&]<class T>() {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    if constexpr (std::is_floating_point_v<T>) {
      // Rows of a table: the one scatter whose strategy init({ deterministic }) chooses.
      if (outer == 1) return parallel::scatter_add(to, n, inner, index, count, from);
    }
    parallel::parallel_for(outer * tiles, 1, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t o = t / tiles, j = t % tiles * kColumns, m = std::min(kColumns, inner - j);
        for (int64_t i = 0; i < count; ++i) {
          const T* p = from + (o * count + i) * inner + j;
          T* q = to + (o * n + index[i]) * inner + j;
          for (int64_t k = 0; k < m; ++k) q[k] = static_cast<T>(q[k] + p[k]);
        }
      }
    });
  });
}

void gather(int bytes, const void* x, const int64_t* x_shape, const int64_t* index, void* y,
            const int64_t* index_shape, int rank, int dim) noexcept {
  const int64_t n = index_shape[dim];
  const int64_t sx = stride_of(x_shape, rank, dim), sy = stride_of(index_shape, rank, dim);
  const auto run = [&]<class T>(T) {
    for_lines(index_shape, x_shape, index_shape, rank, dim, [&](int64_t i0, int64_t x0, int64_t y0) noexcept {
      for (int64_t k = 0; k < n; ++k) {
        static_cast<T*>(y)[y0 + k * sy] = static_cast<const T*>(x)[x0 + index[i0 + k * sy] * sx];
      }
    });
  };
  if (bytes == 8) return run(uint64_t());
  if (bytes == 4) return run(uint32_t());
  run(uint8_t());
}

void scatter_add(DType dtype, const void* x, const int64_t* x_shape, const int64_t* index, void* y,
                 const int64_t* y_shape, const int64_t* index_shape, int rank, int dim) noexcept {
  const int64_t n = index_shape[dim];
  const int64_t si = stride_of(index_shape, rank, dim), sx = stride_of(x_shape, rank, dim),
                sy = stride_of(y_shape, rank, dim);
  visit_dtype(dtype, [&]<class T>() {
    for_lines(index_shape, x_shape, y_shape, rank, dim, [&](int64_t i0, int64_t x0, int64_t y0) noexcept {
      for (int64_t k = 0; k < n; ++k) {
        T& to = static_cast<T*>(y)[y0 + index[i0 + k * si] * sy];
        to = static_cast<T>(to + static_cast<const T*>(x)[x0 + k * sx]);
      }
    });
  });
}

}  // namespace omnigrad::kernels
