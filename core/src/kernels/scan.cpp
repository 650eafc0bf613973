#include "kernels/scan.h"

#include <algorithm>

#include "kernels/strided.h"

namespace omnigrad::kernels {
namespace {

// line(first): each line along the axis, its elements `inner` apart.
template <class Line>
void for_lines(int64_t outer, int64_t n, int64_t inner, const Line& line) noexcept {
  const int64_t grain = std::max<int64_t>(kGrain / 4 / std::max<int64_t>(n, 1), 1);
  parallel::parallel_for(outer * inner, grain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t t = begin; t < end; ++t) line(t / inner * n * inner + t % inner);
  });
}

}  // namespace

void running_sum(DType dtype, const void* x, void* y, int64_t outer, int64_t n, int64_t inner,
                 bool reverse) noexcept {
  const auto run = [&]<class T>(T) {
    for_lines(outer, n, inner, [&](int64_t first) noexcept {
      T sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = first + (reverse ? n - 1 - k : k) * inner;
        sum += static_cast<const T*>(x)[i];
        static_cast<T*>(y)[i] = sum;
      }
    });
  };
  if (dtype == DType::float32) return run(float());
  if (dtype == DType::float64) return run(double());
  run(uint64_t());
}

void running_extreme(Extreme which, DType dtype, const void* x, void* y, int64_t* index, int64_t outer,
                     int64_t n, int64_t inner) noexcept {
  visit_dtype(dtype, [&]<class T>() {
    for_lines(outer, n, inner, [&](int64_t first) noexcept {
      T best = 0;
      int64_t at = 0;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t i = first + k * inner;
        const T v = static_cast<const T*>(x)[i];
        const bool settled = k > 0 && best != best;
        if (k == 0 || (!settled && (v != v || (which == Extreme::max ? v >= best : v <= best)))) {
          best = v;
          at = k;
        }
        static_cast<T*>(y)[i] = best;
        index[i] = at;
      }
    });
  });
}

}  // namespace omnigrad::kernels
