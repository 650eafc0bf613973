// Convolution of any rank, one trilinear form in three kernels: forward, input gradient, weight gradient;
// float and double, with stride, dilation, groups and any padding. No im2col buffer: panels are packed from
// the image block by block. Shapes are taken as checked, tensors as contiguous with fewer than
// kMaxConvElements elements.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

inline constexpr int kMaxConvRank = 16;
inline constexpr int64_t kMaxConvElements = int64_t{1} << 30;  // offsets within an image batch are 32-bit

// x [batch, in_channels, *in], weight [out_channels, in_channels / groups, *kernel], y [batch, out_channels,
// *out]. Padding before an axis is `pad`; the padding after it is whatever `out` implies.
struct ConvShape {
  int rank = 0;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  int64_t in[kMaxConvRank] = {}, out[kMaxConvRank] = {}, kernel[kMaxConvRank] = {};
  int64_t stride[kMaxConvRank] = {}, dilation[kMaxConvRank] = {}, pad[kMaxConvRank] = {};
};

// `bias` may be null. Workspaces are in bytes, aligned to 16.
template <class T>
size_t conv_forward_workspace(const ConvShape& s);
template <class T>
void conv_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                  void* workspace) noexcept;

template <class T>
size_t conv_input_grad_workspace(const ConvShape& s);
template <class T>
void conv_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept;

template <class T>
size_t conv_weight_grad_workspace(const ConvShape& s);
template <class T>
void conv_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept;

}  // namespace omnigrad::kernels
