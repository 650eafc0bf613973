// Softmax and log-softmax over the middle axis of a contiguous [outer, n, inner] array; y may be x. As in
// PyTorch a row of -infinity gives NaN, as does one with NaN or +infinity. float and double.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept;
template <class T>
void log_softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept;

// Their gradients gx from the result y and its cotangent g; gx may be g.
template <class T>
void softmax_grad(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) noexcept;
template <class T>
void log_softmax_grad(const T* y, const T* g, T* gx, int64_t outer, int64_t n, int64_t inner) noexcept;

// -log_softmax(x) at target [outer, inner] of each row, 0 where that is negative, to loss [outer, inner]; and
// the gradient gx for its cotangent g.
template <class T>
void cross_entropy(const T* x, const int64_t* target, T* loss, int64_t outer, int64_t n,
                   int64_t inner) noexcept;
template <class T>
void cross_entropy_grad(const T* x, const int64_t* target, const T* g, T* gx, int64_t outer, int64_t n,
                        int64_t inner) noexcept;

}  // namespace omnigrad::kernels
