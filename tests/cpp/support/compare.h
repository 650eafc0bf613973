// Comparisons of tensors for tests.
#pragma once

#include <string>

#include "omnigrad/tensor.h"

namespace omnigrad::test {

// Shape, dtype and bits; all NaNs are equal. Two undefined tensors are equal.
bool same_bits(const Tensor& a, const Tensor& b);
bool same_bits(const TensorList& a, const TensorList& b);
// The greatest |a - b| over the elements, as a share of max(1, |b|'s greatest); infinite where only one is
// finite or shapes differ.
double relative_difference(const Tensor& a, const Tensor& b);
// Elements as doubles, in row-major order.
double element(const Tensor& t, int64_t i);
bool all_finite(const Tensor& t);
std::string values(const Tensor& t);

// Data in a layout of another kind than the contiguous one; the elements are the same.
enum class Layout { permuted, sliced, flipped };
inline constexpr Layout kLayouts[] = {Layout::permuted, Layout::sliced, Layout::flipped};
Tensor with_layout(const Tensor& t, Layout layout);
// The first entry along an axis, repeated with stride 0.
Tensor stride_zero(const Tensor& t, int64_t dim);
// Of t's first elements, each axis one element on from the last: neighbours share all but one of theirs.
Tensor overlapping(const Tensor& t);
// A contiguous tensor of its own storage.
Tensor copy_of(const Tensor& t);

}  // namespace omnigrad::test
