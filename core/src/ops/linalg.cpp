#include "ops/linalg.h"

namespace omnigrad::linalg {

Batch matrices(const Tensor& x, const char* name) {
  if (x.rank() < 2) fail(name, " ", x.shape(), " must be a matrix or a batch of them, [..., m, n]");
  return {product(leading(x.shape())), x.size(-2), x.size(-1)};
}

Batch squares(const Tensor& x, const char* name) {
  const Batch b = matrices(x, name);
  if (b.rows != b.cols)
    fail(name, " ", x.shape(), " must hold square matrices, ", b.rows, " is not ", b.cols);
  return b;
}

Dims leading(const Dims& shape, size_t n) { return Dims(shape.begin(), shape.end() - n); }

Dims joined(Dims batch, std::initializer_list<int64_t> sizes) {
  batch.append(sizes.begin(), sizes.end());
  return batch;
}

Tensor work_copy(const Tensor& x) {
  Tensor w = work_space(x.shape());
  w.assign(x);
  return w;
}

void fail_at(int64_t matrix, bool batched, const char* what) {
  if (batched) fail(Code::numeric, "matrix ", matrix, " of the batch ", what);
  fail(Code::numeric, "the matrix ", what);
}

Tensor pattern(int64_t rows, int64_t cols, double below, double on, double above, DType dtype) {
  Tensor t = Tensor::empty({rows, cols}, dtype);
  visit_floating(dtype, [&]<class T>() {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) {
        t.data<T>()[i * cols + j] = static_cast<T>(j < i ? below : j > i ? above : on);
      }
    }
  });
  return t;
}

namespace {
struct Safe {
  Tensor zero, value;  // x is 0 there; x, or 1 there
};
Safe safe(const Tensor& x) {
  const Tensor zero = eq(x, Tensor::scalar(0, x.dtype()));
  return {zero, where(zero, Tensor::scalar(1, x.dtype()), x)};
}
}  // namespace

Tensor reciprocal_or_zero(const Tensor& x) {
  const Safe s = safe(x);
  return where(s.zero, Tensor::scalar(0, x.dtype()), reciprocal(s.value));
}

Tensor sqrt_or_zero(const Tensor& x) {
  const Safe s = safe(x);
  return where(s.zero, Tensor::scalar(0, x.dtype()), sqrt(s.value));
}

}  // namespace omnigrad::linalg
