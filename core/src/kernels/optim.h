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

enum class AdaptiveRule { adagrad, adadelta, adamax, nadam, radam, rmsprop, lion, adan };
// Rates have the bias corrections in them. What a rule does not use is ignored.
struct AdaptiveStep {
  double sign, decay, shrink, shrink_after;  // g = sign * grad + decay * p; p is multiplied before and after
  double rate, rate2;
  double beta1, beta2, beta3, momentum;
  double eps, root;      // the root of the squares is divided by `root`
  bool centered, first;  // RMSprop; Adan: there is no gradient before this
};
// The meaning of the states by rule: the kernel's code. One that the step does not need is null.
template <class T>
void adaptive_step(AdaptiveRule rule, T* param, const T* grad, T* const (&state)[4], int64_t n,
                   const AdaptiveStep& s) noexcept;

}  // namespace omnigrad::kernels
