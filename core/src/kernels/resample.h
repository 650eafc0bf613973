// Separable linear resampling of any spatial rank: one table of (index, weight) rows for each axis, applied
// axis by axis. Interpolation, average pooling and their gradients are this one map, given a table or its
// transpose; every pass gathers. How tables are made does not belong here (ops/resample_table.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

inline constexpr int kMaxResampleAxes = 16;

// Rows of a sparse [out, in] matrix: output o is the sum over k in [start[o], start[o + 1]) of weight[k] *
// x[index[k]].
template <class T>
struct AxisRows {
  int64_t in;
  int64_t out;
  bool identity;  // the matrix is the unit matrix, and the axis is skipped
  const int32_t* start;
  const int32_t* index;
  const T* weight;
};

// Bytes of scratch memory that `resample` needs, a function of sizes and tables only.
template <class T>
size_t resample_workspace(int64_t planes, int rank, const AxisRows<T>* axes);

// x [planes, in of each axis] to y [planes, out of each axis], both contiguous. The order of the axes depends
// on sizes and tap counts alone, and no element's value depends on how the work is split.
template <class T>
void resample(int64_t planes, int rank, const AxisRows<T>* axes, const T* x, T* y, void* workspace);

}  // namespace omnigrad::kernels
