// Arithmetic of the numeric dtypes: a switch over them, and the unsigned twin of an integer, whose arithmetic
// wraps where signed would be undefined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "omnigrad/dtype.h"

namespace omnigrad::kernels {

// Unsigned arithmetic wraps where signed would be undefined.
template <class T>
struct Wrapping {
  using type = T;
};
template <class T>
  requires(std::is_integral_v<T>)
struct Wrapping<T> {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using W = typename Wrapping<T>::type;

template <class F>
void visit_number(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::int32:
      return f.template operator()<int32_t>();
    case DType::int64:
      return f.template operator()<int64_t>();
    default:
      return f.template operator()<uint8_t>();  // bool compares as its byte
  }
}

}  // namespace omnigrad::kernels
