#include "kernels/distance.h"

#include <cmath>

#include "parallel/parallel.h"

namespace omnigrad::kernels {

template <class T>
void euclidean_distances(const T* x1, const T* x2, T* y, int64_t batch, int64_t rows, int64_t cols,
                         int64_t width) noexcept {
  const int64_t cost = cols * (width + 1) + 1;
  parallel::parallel_for(batch * rows, 32768 / cost + 1, [=](int64_t begin, int64_t end) noexcept {
    for (int64_t row = begin; row < end; ++row) {
      const T* a = x1 + row * width;
      const T* other = x2 + row / rows * cols * width;
      for (int64_t j = 0; j < cols; ++j, other += width) {
        double s = 0;
        for (int64_t k = 0; k < width; ++k) {
          const double d = static_cast<double>(a[k]) - static_cast<double>(other[k]);
          s += d * d;
        }
        y[row * cols + j] = static_cast<T>(std::sqrt(s));
      }
    }
  });
}

template void euclidean_distances(const float*, const float*, float*, int64_t, int64_t, int64_t,
                                  int64_t) noexcept;
template void euclidean_distances(const double*, const double*, double*, int64_t, int64_t, int64_t,
                                  int64_t) noexcept;

}  // namespace omnigrad::kernels
