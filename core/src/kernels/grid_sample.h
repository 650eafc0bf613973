// Sampling of images at given coordinates, its adjoint, and its derivative by the coordinates. The
// coordinates, padding and weights are PyTorch's grid_sample's, here for one to three axes in every mode;
// taps are computed in double.
//
// All three take the interpolation differentiated `order` times along each axis: derivatives of any order are
// then made of the same three.
#pragma once

#include <cstdint>

namespace omnigrad::kernels {

struct GridSampling {
  enum class Mode { bilinear, nearest, bicubic } mode;
  enum class Padding { zeros, border, reflection } padding;
  bool align_corners;
  int rank;
  int64_t batch, channels;
  int64_t points;    // coordinates of an image
  int64_t size[3];   // of x, each at least 1
  int64_t order[3];  // derivative along each axis
};

// y [batch, channels, points] of x [batch, channels, *size] and grid [batch, points, rank], whose last axis
// counts the axes of x from the last.
template <class T>
void grid_read(const GridSampling& s, const T* x, const T* grid, T* y) noexcept;

// Its adjoint in x: each plane of gx is added to by one chunk, in the order of the points.
template <class T>
void grid_write(const GridSampling& s, const T* g, const T* grid, T* gx) noexcept;

// ggrid [batch, points, rank]: the derivatives of sum(g * y) by the coordinates.
template <class T>
void grid_slope(const GridSampling& s, const T* x, const T* grid, const T* g, T* ggrid) noexcept;

}  // namespace omnigrad::kernels
