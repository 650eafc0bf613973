// Ops as C++ functions: each is a dispatch of the op of the same name (sum_to, zeros_like and the operators
// are built from them), differentiable to any order. What an op computes, its options and errors: its schema
// in src/ops.
#pragma once

#include <optional>

#include "omnigrad/op.h"

namespace omnigrad {

// Elementwise; shapes broadcast, dtypes must match. A number takes the tensor's dtype.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, Tensor::scalar(b, a.dtype())); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, Tensor::scalar(b, a.dtype())); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, Tensor::scalar(b, a.dtype())); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, Tensor::scalar(b, a.dtype())); }
inline Tensor operator-(double a, const Tensor& b) { return sub(Tensor::scalar(a, b.dtype()), b); }

// sum += x without recording, into sum's own memory where nobody else holds it: how gradients are added up.
void accumulate(Tensor& sum, const Tensor& x);

// Reductions; no dims: all of them.
Tensor sum(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor amax(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& x, const Dims& dims = {}, bool keepdim = false);
Tensor norm(const Tensor& x, double p, const Dims& dims = {}, bool keepdim = false);
// Sums the axes that broadcasting `shape` to x's shape repeated.
Tensor sum_to(const Tensor& x, const Dims& shape);

// Shape.
Tensor reshape(const Tensor& x, const Dims& shape);
Tensor permute(const Tensor& x, const Dims& dims);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor expand(const Tensor& x, const Dims& shape);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step = 1);
Tensor flip(const Tensor& x, const Dims& dims);
Tensor alias(const Tensor& x);
Tensor cat(const TensorList& xs, int64_t dim);
TensorList split(const Tensor& x, const Dims& sizes, int64_t dim);
// [before, after] flattened, for the last axes; negative ones crop.
Tensor pad(const Tensor& x, const Dims& pairs);

// Indices along an axis; integer dtypes.
Tensor index_select(const Tensor& x, const Tensor& index, int64_t dim);
Tensor index_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t dim);
Tensor gather(const Tensor& x, const Tensor& index, int64_t dim);
Tensor scatter_add(const Tensor& x, const Tensor& index, const Tensor& source, int64_t dim);

// Creation.
Tensor full(const Dims& shape, double value, DType dtype);
Tensor zeros(const Dims& shape, DType dtype);
Tensor ones(const Dims& shape, DType dtype);
inline Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor arange(double start, double stop, double step, DType dtype);
Tensor cast(const Tensor& x, DType dtype);
Tensor clone(const Tensor& x);

// Softmax and losses.
Tensor softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);

// Interpolation and pooling of all axes but the first two, any number of them.
struct InterpolateOptions {
  enum class Mode { nearest, nearest_exact, linear, cubic, lanczos3, bilinear, trilinear, bicubic };
  std::optional<Dims> size;            // either this
  std::optional<double> scale_factor;  // or this
  Mode mode = Mode::nearest;
  bool align_corners = false, antialias = false;
};
struct AvgPoolOptions {
  Dims kernel_size{2};
  std::optional<Dims> stride;  // none: kernel_size
  Padding padding{{0}, false};
  bool ceil_mode = false, count_include_pad = true;
  std::optional<int64_t> divisor_override;
};
struct MaxPoolOptions {
  Dims kernel_size{2};
  std::optional<Dims> stride;  // none: kernel_size
  Padding padding{{0}, false};
  Dims dilation{1};
  bool ceil_mode = false, return_indices = false;
};
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);
Tensor avg_pool(const Tensor& x, const AvgPoolOptions& options);
Tensor adaptive_avg_pool(const Tensor& x, const Dims& output_size);
// [y, int64 indices into the flattened spatial axes]
TensorList max_pool(const Tensor& x, const MaxPoolOptions& options);
TensorList adaptive_max_pool(const Tensor& x, const Dims& output_size);
// Zeros of the last axes' `size`, with y's elements added at int64 places in the flattened plane.
Tensor plane_scatter(const Tensor& y, const Tensor& indices, const Dims& size);

// Matrix products.
Tensor matmul(const Tensor& x, const Tensor& y);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// Convolution of the input's rank, and its gradients as ops.
struct ConvOptions {
  Dims stride{1};
  Padding padding{{0}, false};
  Dims dilation{1};
  int64_t groups = 1;
  Dims output_padding{0};  // conv_transpose
  Dims size;               // the gradients: of the input, of the kernel
};
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& o = {});
Tensor conv_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                      const ConvOptions& o = {});
Tensor conv_input_grad(const Tensor& g, const Tensor& weight, const Dims& size, const ConvOptions& o = {});
Tensor conv_weight_grad(const Tensor& g, const Tensor& x, const Dims& kernel, const ConvOptions& o = {});

// Deformable convolution v2 of rank 1 to 3: each tap of the kernel samples where its offset moves it, times
// its mask.
struct DeformConvOptions {
  Dims stride{1}, padding{0}, dilation{1};
  int64_t groups = 1, offset_groups = 1;
};
Tensor deform_conv(const Tensor& x, const Tensor& offset, const Tensor& weight, const Tensor& bias = {},
                   const Tensor& mask = {}, const DeformConvOptions& o = {});

// Attention. The mask: bool, true where a key counts, or floating, added.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& mask = {}, bool is_causal = false,
                                    std::optional<double> scale = {});
// Pure functions of (seed, offset).
Tensor dropout(const Tensor& x, double p, int64_t seed, int64_t offset);
Tensor uniform(const Dims& shape, double low, double high, DType dtype, int64_t seed, int64_t offset);

}  // namespace omnigrad
