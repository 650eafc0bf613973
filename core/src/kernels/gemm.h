// Matrix products C = A B or C += A B, float and double, for operands of any row and column stride: a
// transpose costs nothing. An element is summed over k in order, in blocks of fixed depth. Broadcasting and
// shapes belong to the op.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

// Element (i, j) is data[i * row + j * col].
template <class T>
struct Strided {
  const T* data;
  int64_t row, col;
};

// C [m, n] is contiguous. With `add` the product is added to it. `workspace` is aligned to 16 bytes.
template <class T>
size_t gemm_workspace(int64_t m, int64_t n, int64_t k);
template <class T>
void gemm(int64_t m, int64_t n, int64_t k, Strided<T> a, Strided<T> b, T* c, bool add,
          void* workspace) noexcept;

// `batch` products; product i reads A at a.data + a_offsets[i] and B at b.data + b_offsets[i] and fills the
// i-th [m, n] of c.
template <class T>
size_t gemm_batched_workspace(int64_t batch, int64_t m, int64_t n, int64_t k);
template <class T>
void gemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, Strided<T> a, const int64_t* a_offsets,
                  Strided<T> b, const int64_t* b_offsets, T* c, bool add, void* workspace) noexcept;

}  // namespace omnigrad::kernels
