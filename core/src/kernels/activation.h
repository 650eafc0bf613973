// Smooth activations and their first derivatives, fused: one pass over contiguous memory in place of one for
// every operation of the formula. Which ops use them, and their composites: ops/activation.cpp.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

enum class Activation {
  silu,       // x sigmoid(x)
  gelu,       // x normal_distribution(x)
  gelu_tanh,  // the same approximated by tanh
  mish,       // x tanh(log(1 + exp(x)))
};

template <class T>
void activate(Activation kind, int64_t n, const T* x, T* y) noexcept;
// gx = g f'(x).
template <class T>
void activate_grad(Activation kind, int64_t n, const T* x, const T* g, T* gx) noexcept;

}  // namespace omnigrad::kernels
