#include "kernels/sort.h"

#include <algorithm>

#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kRun = 16;

template <class T>
bool less(T a, T b) noexcept {
  return a < b || (b != b && a == a);
}

// Merge sort of indices from the bottom up: stable, in two buffers, no allocation. Returns where the result
// is.
template <class Before>
int64_t* sort_indices(int64_t* a, int64_t* b, int64_t n, const Before& before) noexcept {
  for (int64_t from = 0; from < n; from += kRun) {
    const int64_t to = std::min(from + kRun, n);
    for (int64_t i = from + 1; i < to; ++i) {
      const int64_t v = a[i];
      int64_t j = i;
      for (; j > from && before(v, a[j - 1]); --j) a[j] = a[j - 1];
      a[j] = v;
    }
  }
  for (int64_t width = kRun; width < n; width *= 2) {
    for (int64_t from = 0; from < n; from += 2 * width) {
      const int64_t middle = std::min(from + width, n), to = std::min(from + 2 * width, n);
      std::merge(a + from, a + middle, a + middle, a + to, b + from, before);
    }
    std::swap(a, b);
  }
  return a;
}

}  // namespace

size_t sort_workspace(int64_t outer, int64_t n, int64_t inner) {
  return static_cast<size_t>(outer * inner * n) * 2 * sizeof(int64_t);
}

void sort(DType dtype, const void* x, void* y, int64_t* index, int64_t outer, int64_t n, int64_t inner,
          bool descending, void* workspace) noexcept {
  visit_dtype(dtype, [&]<class T>() {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    parallel::parallel_for(outer * inner, 1, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t first = t / inner * n * inner + t % inner;
        int64_t* a = static_cast<int64_t*>(workspace) + t * 2 * n;
        for (int64_t i = 0; i < n; ++i) a[i] = i;
        const auto at = [&](int64_t i) { return in[first + i * inner]; };
        const int64_t* order = sort_indices(a, a + n, n, [&](int64_t i, int64_t j) {
          return descending ? less(at(j), at(i)) : less(at(i), at(j));
        });
        for (int64_t i = 0; i < n; ++i) {
          out[first + i * inner] = at(order[i]);
          index[first + i * inner] = order[i];
        }
      }
    });
  });
}

}  // namespace omnigrad::kernels
