// Convolution by 3x3 kernels on the last two axes with unit stride, and both gradients, by Winograd's minimal
// filtering: a tile of 4x4 outputs costs 36 products a channel pair instead of 144. Leading axes of any
// kernel and dilation only lengthen the products. The rounding error is that of a whole tile. The caller
// decides by these predicates, which look at the shape alone. Shapes are taken as checked.
#pragma once

#include "conv.h"

namespace omnigrad::kernels {

// Whether the method can be used.
bool winograd_applies(const ConvShape& s);
// Whether it can and is the faster one.
bool winograd_forward_pays(const ConvShape& s);
bool winograd_input_grad_pays(const ConvShape& s);
bool winograd_weight_grad_pays(const ConvShape& s);

template <class T>
size_t winograd_forward_workspace(const ConvShape& s);
template <class T>
void winograd_forward(const ConvShape& s, const T* x, const T* weight, const T* bias, T* y,
                      void* workspace) noexcept;

template <class T>
size_t winograd_input_grad_workspace(const ConvShape& s);
template <class T>
void winograd_input_grad(const ConvShape& s, const T* gy, const T* weight, T* gx, void* workspace) noexcept;

template <class T>
size_t winograd_weight_grad_workspace(const ConvShape& s);
template <class T>
void winograd_weight_grad(const ConvShape& s, const T* gy, const T* x, T* gw, void* workspace) noexcept;

}  // namespace omnigrad::kernels
