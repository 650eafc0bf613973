// Normalisation of groups of elements: layer, RMS, group, instance and batch norm are this one map. x is a
// contiguous [outer, groups, inner] array; the elements [:, g, :] of a group share a mean and a variance.
// float and double; sums are made in T over blocks of fixed size and in double over those.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

struct NormSizes {
  int64_t outer = 1, groups = 1, inner = 1;
  // Element j of group g takes weight [g % period, j / (inner / per)] of a [period, per] array. Either outer
  // or per is 1.
  int64_t period = 1, per = 1;
  bool centered = true;  // else the mean counts as 0: root mean square
  double eps = 0;

  int64_t run() const { return per > 0 ? inner / per : 0; }  // elements in a row that share a weight
};

// y = (x - mean) / sqrt(variance + eps) * weight + bias. weight and bias may be null; mean and variance (of
// the population), one a group, are written unless null.
template <class T>
void normalize_groups(const NormSizes& s, const T* x, const T* weight, const T* bias, T* y, T* mean,
                      T* variance) noexcept;

// How many groups are added up in one row of the parts below.
int64_t norm_groups_per_part(const NormSizes& s);
// Gradients for the cotangent g of y: gx, and parts of the gradients of weight and bias: a row of `per`
// numbers for every norm_groups_per_part groups, that sum to them by g % period. Null where not wanted. mean
// and variance: forward's, or null to make them again, to the same bits.
template <class T>
void normalize_groups_grad(const NormSizes& s, const T* x, const T* weight, const T* g, T* gx,
                           T* weight_parts, T* bias_parts, const T* mean, const T* variance) noexcept;

}  // namespace omnigrad::kernels
