// What the ops on matrices share: checks, work copies in float64, a walk over the batch that reports the
// first matrix without a result.
#pragma once

#include <algorithm>

#include "omnigrad/ops.h"
#include "parallel/parallel.h"
#include "tensor/pool.h"

namespace omnigrad::linalg {

struct Batch {
  int64_t count, rows, cols;
};
// x as matrices; an error where it has fewer than two axes, or they are not square.
Batch matrices(const Tensor& x, const char* name = "x");
Batch squares(const Tensor& x, const char* name = "x");
// x's shape without its last `n` axes.
Dims leading(const Dims& shape, size_t n = 2);
Dims joined(Dims batch, std::initializer_list<int64_t> sizes);

// x in float64, contiguous, in memory of its own: what kernels work in.
Tensor work_copy(const Tensor& x);
inline Tensor work_space(const Dims& shape) { return Tensor::empty(shape, DType::float64); }

[[noreturn]] void fail_at(int64_t matrix, bool batched, const char* what);

// status = body(i) for each matrix of the batch, in any order; the lowest i whose status is not kDone is
// an error of code numeric that says `what`. `cost`: of one matrix, in flops.
template <class Body>
void for_each_matrix(const Tensor& x, double cost, const char* what, const Body& body) {
  const int64_t count = product(leading(x.shape()));
  Workspace ws(static_cast<size_t>(count) * sizeof(int64_t));
  auto* status = ws.as<int64_t>();
  const auto grain = static_cast<int64_t>(std::max(1.0, 30000 / (cost + 1)));
  parallel::parallel_for(count, grain, [&](int64_t begin, int64_t end) noexcept {
    for (int64_t i = begin; i < end; ++i) status[i] = body(i);
  });
  for (int64_t i = 0; what && i < count; ++i) {
    if (status[i] >= 0) fail_at(i, x.rank() > 2, what);
  }
}

inline Tensor flipped(const Tensor& x) { return transpose(x, -2, -1); }
// Constants [rows, cols]: `below` where column < row, `on` the diagonal, `above`.
Tensor pattern(int64_t rows, int64_t cols, double below, double on, double above, DType dtype);
// 1 / x, and 0 where x is 0: the convention for repeated eigenvalues and vanishing norms.
Tensor reciprocal_or_zero(const Tensor& x);
// The square root with derivative 0 at 0.
Tensor sqrt_or_zero(const Tensor& x);
// [...] as [..., 1, 1].
inline Tensor as_matrices(const Tensor& x) { return unsqueeze(unsqueeze(x, x.rank()), x.rank() + 1); }

}  // namespace omnigrad::linalg

namespace omnigrad {
Tensor inverse(const Tensor& x);
Tensor solve(const Tensor& a, const Tensor& b);
TensorList svd(const Tensor& x);
Tensor triangular_solve(const Tensor& a, const Tensor& b, bool upper, bool transpose);
}  // namespace omnigrad
