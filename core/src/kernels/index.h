// Gathers and scatters along one axis by int64 indices that the caller has checked. Scatters give each
// destination to one chunk and add in index order.
#pragma once

#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

// The least and greatest of n strided indices; {0, -1} for none.
struct IndexRange {
  int64_t min, max;
};
IndexRange index_range(DType dtype, const void* index, const int64_t* strides, const int64_t* shape,
                       int rank) noexcept;

// y[o, i, :] = x[o, index[i], :]; x [outer, n, inner], y [outer, count, inner], elements of `bytes` size.
void index_select(int bytes, const void* x, const int64_t* index, void* y, int64_t outer, int64_t n,
                  int64_t count, int64_t inner) noexcept;
// y[o, index[i], :] += x[o, i, :].
void index_add(DType dtype, const void* x, const int64_t* index, void* y, int64_t outer, int64_t n,
               int64_t count, int64_t inner) noexcept;

// y[..i..] = x[..index[..i..]..] along `dim`, over the shape of `index`; x's other sizes may be larger. All
// contiguous.
void gather(int bytes, const void* x, const int64_t* x_shape, const int64_t* index, void* y,
            const int64_t* index_shape, int rank, int dim) noexcept;
// y[..index[..i..]..] += x[..i..] along `dim`, over the shape of `index`; y and x may be larger than it.
// Contiguous.
void scatter_add(DType dtype, const void* x, const int64_t* x_shape, const int64_t* index, void* y,
                 const int64_t* y_shape, const int64_t* index_shape, int rank, int dim) noexcept;

}  // namespace omnigrad::kernels
