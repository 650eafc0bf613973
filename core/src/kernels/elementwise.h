// Elementwise functions over strided, broadcast operands. `y` is contiguous over `shape`; x's strides count
// elements, 0 repeats. An element's value depends on its inputs alone, never on its place.
#pragma once

#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

enum class Unary {
  // integers too
  neg,
  abs,
  square,
  relu,
  sign,
  // floating
  exp,
  log,
  sqrt,
  reciprocal,
  sigmoid,
  tanh,
  floor,
  ceil,
  round,  // half to even
  trunc,
  // floating, computed in double
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  asinh,
  acosh,
  atanh,
  expm1,
  log1p,
  log2,
  log10,
  erf,
  erfc,
  erfinv,
  lgamma,
  sinc,
  softplus,
};
enum class Binary {
  // integers too
  add,
  sub,
  mul,
  div,  // integers towards 0
  floor_divide,
  maximum,
  minimum,
  remainder,  // the sign of b
  fmod,       // the sign of a
  // floating
  relu_grad,  // b > 0 ? a : 0
  // floating, computed in double
  pow,
  atan2,
  hypot,
  polygamma,  // of order a, at b
};
enum class Compare { eq, ne, lt, le, gt, ge };

struct Operand {
  const void* data;
  const int64_t* strides;
};

void unary(Unary op, DType dtype, Operand x, void* y, const int64_t* shape, int rank) noexcept;
void binary(Binary op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept;
// y is bool.
void compare(Compare op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept;
// y = condition ? a : b, for elements of `bytes` size.
void where(Operand condition, int bytes, Operand a, Operand b, void* y, const int64_t* shape,
           int rank) noexcept;

}  // namespace omnigrad::kernels
