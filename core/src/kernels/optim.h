// Optimizer updates of one tensor, elementwise and in place.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // momentum starts as the gradient itself
};
// velocity may be null where momentum is 0.
template <class T>
void sgd_step(T* param, const T* grad, T* velocity, int64_t n, const SgdStep& s) noexcept;

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  double correction1, correction2;  // 1 - beta^step
  bool decoupled;                   // AdamW
  bool maximize;
};
// max_square: AMSGrad's, or null.
template <class T>
void adam_step(T* param, const T* grad, T* mean, T* square, T* max_square, int64_t n,
               const AdamStep& s) noexcept;

}  // namespace omnigrad::kernels
