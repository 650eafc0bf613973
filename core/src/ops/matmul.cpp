// Matrix products: matmul by PyTorch's rules, and linear with its bias. A gradient is another product.
#include <algorithm>
#include <vector>

#include "kernels/gemm.h"
#include "omnigrad/ops.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

// An operand as matrices: a vector has become a row or a column; `batch` is the axes before the last two.
struct Matrices {
  Dims batch, batch_strides;
  int64_t rows, cols, row_stride, col_stride;
};

Matrices matrices_of(const Tensor& t, bool vector_is_row) {
  const Dims& shape = t.shape();
  const Dims& strides = t.strides();
  if (shape.size() == 1) {
    if (vector_is_row) return {{}, {}, 1, shape[0], 0, strides[0]};
    return {{}, {}, shape[0], 1, strides[0], 0};
  }
  const size_t n = shape.size() - 2;
  return {Dims(shape.begin(), shape.begin() + n),
          Dims(strides.begin(), strides.begin() + n),
          shape[n],
          shape[n + 1],
          strides[n],
          strides[n + 1]};
}

// Where each matrix of an operand that broadcasts to `batch` starts.
std::vector<int64_t> offsets_of(const Matrices& m, const Dims& batch) {
  std::vector<int64_t> offsets{0};
  const size_t lead = batch.size() - m.batch.size();
  for (size_t i = 0; i < batch.size(); ++i) {
    const int64_t stride = i < lead || m.batch[i - lead] == 1 ? 0 : m.batch_strides[i - lead];
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(batch[i]));
    for (int64_t o : offsets) {
      for (int64_t j = 0; j < batch[i]; ++j) next.push_back(o + j * stride);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// x [..., k] as [rows, k], and its transpose.
Tensor fold(const Tensor& x) {
  const int64_t k = x.size(-1);
  Dims lead(x.shape().begin(), x.shape().end() - 1);
  return reshape(x, {product(lead), k});
}

struct MatMul {
  static constexpr Schema schema() {
    return op("matmul",
              "Matrix product. Vectors are a row on the left and a column on the right; leading axes "
              "broadcast.")
        .in("x", Kind::floating, "[k], or [..., m, k]")
        .saved()
        .in("y", Kind::floating, "[k], or [..., k, n]")
        .saved()
        .out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    if (in[0].rank() == 0 || in[1].rank() == 0) fail("operands need rank 1 or more");
    const Matrices a = matrices_of(in[0], true), b = matrices_of(in[1], false);
    if (a.cols != b.rows) {
      fail("inner sizes differ, ", a.cols, " and ", b.rows,
           ": the last axis of x must equal the second to last of y, or its only one");
    }
    Dims out = broadcast_shapes(a.batch, b.batch);
    if (in[0].rank() > 1) out.push_back(a.rows);
    if (in[1].rank() > 1) out.push_back(b.cols);
    return {{out, in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Matrices a = matrices_of(in[0], true), b = matrices_of(in[1], false);
    visit_floating(out[0].dtype(), [&]<class T>() {
      const kernels::Strided<T> pa{in[0].data<T>(), a.row_stride, a.col_stride};
      const kernels::Strided<T> pb{in[1].data<T>(), b.row_stride, b.col_stride};
      // One matrix on the right for all on the left is one tall product.
      if (b.batch.empty() && !a.batch.empty() && in[0].is_contiguous()) {
        const int64_t rows = product(a.batch) * a.rows;
        Workspace ws(kernels::gemm_workspace<T>(rows, b.cols, a.cols));
        kernels::gemm<T>(rows, b.cols, a.cols, {pa.data, a.cols, 1}, pb, out[0].data<T>(), false, ws.as());
        return;
      }
      const Dims batch = broadcast_shapes(a.batch, b.batch);
      const auto at = offsets_of(a, batch), bt = offsets_of(b, batch);
      const int64_t count = product(batch);
      Workspace ws(kernels::gemm_batched_workspace<T>(count, a.rows, b.cols, a.cols));
      kernels::gemm_batched<T>(count, a.rows, b.cols, a.cols, pa, at.data(), pb, bt.data(), out[0].data<T>(),
                               false, ws.as());
    });
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    const Dims &sa = s.shape(0), &sb = s.shape(1);
    const Tensor a = sa.size() == 1 ? unsqueeze(s.in(0), 0) : s.in(0);
    const Tensor b = sb.size() == 1 ? unsqueeze(s.in(1), 1) : s.in(1);
    Tensor z = g[0];
    if (sb.size() == 1) z = unsqueeze(z, z.rank());
    if (sa.size() == 1) z = unsqueeze(z, z.rank() - 1);
    Grads grads(2);
    if (need[0]) grads[0] = reshape(sum_to(matmul(z, transpose(b, -2, -1)), a.shape()), sa);
    if (need[1]) {
      // Summing over the batch is part of the product where y has none.
      const Tensor gb = b.rank() == 2 && a.rank() > 2 ? matmul(transpose(fold(a), 0, 1), fold(z))
                                                      : sum_to(matmul(transpose(a, -2, -1), z), b.shape());
      grads[1] = reshape(gb, sb);
    }
    return grads;
  }
};
OMNIGRAD_OP(MatMul)

struct Linear {
  static constexpr Schema schema() {
    return op("linear", "x times the transpose of weight, plus bias.")
        .in("x", Kind::floating, "[..., in]")
        .saved()
        .in("weight", Kind::floating, "[out, in]")
        .saved()
        .in("bias", Kind::floating, "[out]")
        .optional()
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    const Dims &x = in[0].shape(), &w = in[1].shape();
    if (x.empty()) fail("the input needs rank 1 or more");
    if (w.size() != 2) fail("weight ", w, " must be [out, in]");
    if (x.back() != w[1]) fail("input has ", x.back(), " features but weight ", w, " needs ", w[1]);
    if (in[2] && !(in[2].shape() == Dims{w[0]})) fail("bias ", in[2].shape(), " must be [", w[0], "]");
    Dims out = x;
    out.back() = w[0];
    return {{out, in[0].dtype()}};
  }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Tensor x = in[0].rank() == 2 ? in[0] : in[0].contiguous();
    const Tensor& w = in[1];
    const int64_t k = w.size(1), n = w.size(0), m = product(Dims(x.shape().begin(), x.shape().end() - 1));
    visit_floating(x.dtype(), [&]<class T>() {
      T* y = out[0].data<T>();
      if (in[2]) {
        const Tensor bias = in[2].contiguous();
        for (int64_t i = 0; i < m; ++i) std::copy_n(bias.data<T>(), n, y + i * n);
      }
      const kernels::Strided<T> rows{x.data<T>(), x.rank() == 2 ? x.strides()[0] : k, x.strides().back()};
      Workspace ws(kernels::gemm_workspace<T>(m, n, k));
      kernels::gemm<T>(m, n, k, rows, {w.data<T>(), w.strides()[1], w.strides()[0]}, y, in[2].defined(),
                       ws.as());
    });
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    Grads grads(3);
    if (need[0]) grads[0] = matmul(g[0], s.in(1));
    if (need[1]) grads[1] = matmul(transpose(fold(g[0]), 0, 1), fold(s.in(0)));
    if (need[2]) grads[2] = sum_to(g[0], s.shape(2));
    return grads;
  }
};
OMNIGRAD_OP(Linear)

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) { return apply1<MatMul>({x, y}); }
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return apply1<Linear>({x, weight, bias});
}

}  // namespace omnigrad
