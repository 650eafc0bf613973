// Deformable convolution v2 of spatial rank 1, 2 or 3, and its first-order gradients, on contiguous NC*
// arrays. A sample is 0 unless -1 < coordinate < size on every axis, and a corner outside the image counts as
// 0. At an exact integer the slope is the right-hand one, as floor implies. Shapes were checked by the op;
// nothing is allocated here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

struct DeformConvSizes {
  int rank = 2;
  int64_t batch = 0, channels = 0, out_channels = 0, groups = 1, offset_groups = 1;
  // The first `rank` entries of each count.
  std::array<int64_t, 3> size{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0},
      dilation{1, 1, 1};

  int64_t pixels() const;     // of one channel of the input
  int64_t taps() const;       // of the kernel
  int64_t positions() const;  // of one channel of the output
  // Each channel has weights of its own: no product, channels lie side by side in vectors all the same.
  bool depthwise() const { return groups == channels && groups > 1; }
};

// offset [batch, offset_groups, taps, rank, positions], mask [batch, offset_groups, taps, positions] or null,
// weight [out_channels, channels / groups, taps], bias [out_channels] or null. Workspaces are in bytes,
// 16-byte aligned.
template <class T>
size_t deform_conv_workspace(const DeformConvSizes& sizes);
template <class T>
void deform_conv(const DeformConvSizes& sizes, const T* x, const T* offset, const T* weight, const T* mask,
                 const T* bias, T* y, void* workspace) noexcept;

// Destinations of the gradients; null where a gradient is not wanted.
template <class T>
struct DeformConvGrads {
  T* x = nullptr;
  T* offset = nullptr;
  T* weight = nullptr;
  T* mask = nullptr;
};

template <class T>
size_t deform_conv_grad_workspace(const DeformConvSizes& sizes);
template <class T>
void deform_conv_grad(const DeformConvSizes& sizes, const T* x, const T* offset, const T* weight,
                      const T* mask, const T* gy, const DeformConvGrads<T>& grads, void* workspace) noexcept;

}  // namespace omnigrad::kernels
