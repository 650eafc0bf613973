#include "kernels/optim.h"

#include <algorithm>
#include <cmath>

#include "kernels/strided.h"

namespace omnigrad::kernels {

template <class T>
void sgd_step(T* param, const T* grad, T* velocity, int64_t n, const SgdStep& s) noexcept {
  const T lr = static_cast<T>(s.lr), momentum = static_cast<T>(s.momentum),
          decay = static_cast<T>(s.weight_decay);
  const T fresh = s.first ? T(1) : static_cast<T>(1 - s.dampening), old = s.first ? T(0) : momentum;
  const T sign = s.maximize ? T(-1) : T(1);
  parallel::parallel_for(n, kGrain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) {
      T g = sign * grad[i] + decay * param[i];
      if (velocity) {
        const T v = (s.first ? T(0) : old * velocity[i]) + fresh * g;
        velocity[i] = v;
        g = s.nesterov ? g + momentum * v : v;
      }
      param[i] -= lr * g;
    }
  });
}

template <class T>
void adam_step(T* param, const T* grad, T* mean, T* square, T* max_square, int64_t n,
               const AdamStep& s) noexcept {
  const T b1 = static_cast<T>(s.beta1), c1 = static_cast<T>(1 - s.beta1);
  const T b2 = static_cast<T>(s.beta2), c2 = static_cast<T>(1 - s.beta2);
  const T eps = static_cast<T>(s.eps), step = static_cast<T>(s.lr / s.correction1);
  const T root = static_cast<T>(std::sqrt(s.correction2));
  const T decay = static_cast<T>(s.decoupled ? 0 : s.weight_decay);
  const T shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  const T sign = s.maximize ? T(-1) : T(1);
  parallel::parallel_for(n, kGrain / 2, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) {
      const T p = param[i] * shrink;
      const T g = sign * grad[i] + decay * p;
      const T m = mean[i] = b1 * mean[i] + c1 * g;
      T v = square[i] = b2 * square[i] + c2 * g * g;
      if (max_square) v = max_square[i] = std::max(max_square[i], v);
      param[i] = p - step * m / (std::sqrt(v) / root + eps);
    }
  });
}

template void sgd_step(float*, const float*, float*, int64_t, const SgdStep&) noexcept;
template void sgd_step(double*, const double*, double*, int64_t, const SgdStep&) noexcept;
template void adam_step(float*, const float*, float*, float*, float*, int64_t, const AdamStep&) noexcept;
template void adam_step(double*, const double*, double*, double*, double*, int64_t, const AdamStep&) noexcept;

}  // namespace omnigrad::kernels
