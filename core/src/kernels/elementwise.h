// Elementwise functions over strided, broadcast operands. `y` is contiguous over `shape`; x's strides count
// elements, 0 repeats. An element's value depends on its inputs alone, never on its place.
#pragma once

#include <cstdint>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

enum class Unary { neg, abs, exp, log, sqrt, square, reciprocal, relu, sigmoid, tanh, sin, cos };
enum class Binary { add, sub, mul, div, maximum, minimum, pow, relu_grad };
enum class Compare { eq, ne, lt, le, gt, ge };

struct Operand {
  const void* data;
  const int64_t* strides;
};

// neg, abs, square and relu take integers too; the rest are floating.
void unary(Unary op, DType dtype, Operand x, void* y, const int64_t* shape, int rank) noexcept;
// pow and relu_grad (b > 0 ? a : 0) are floating; the rest take integers too.
void binary(Binary op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept;
// y is bool.
void compare(Compare op, DType dtype, Operand a, Operand b, void* y, const int64_t* shape, int rank) noexcept;
// y = condition ? a : b, for elements of `bytes` size.
void where(Operand condition, int bytes, Operand a, Operand b, void* y, const int64_t* shape,
           int rank) noexcept;

}  // namespace omnigrad::kernels
