// Softmax and log-softmax over the middle axis of a contiguous [outer, n, inner] array; y may be x. As in
// PyTorch a row of -infinity gives NaN, as does one with NaN or +infinity. float and double.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

template <class T>
void softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept;
template <class T>
void log_softmax(const T* x, T* y, int64_t outer, int64_t n, int64_t inner) noexcept;

}  // namespace omnigrad::kernels
