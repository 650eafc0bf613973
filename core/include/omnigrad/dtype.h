// Element types. float16 and bfloat16 are storage: they are made, cast and read, and no op computes in them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad {

// The numbers are part of the wire format between JavaScript and the core.
enum class DType : uint8_t {
  float32 = 0,
  float64 = 1,
  int32 = 2,
  int64 = 3,
  uint8 = 4,
  boolean = 5,
  float16 = 6,
  bfloat16 = 7
};
inline constexpr int kDTypes = 8;

constexpr size_t size_of(DType t) {
  constexpr size_t sizes[kDTypes] = {4, 8, 4, 8, 1, 1, 2, 2};
  return sizes[static_cast<int>(t)];
}
constexpr const char* name_of(DType t) {
  constexpr const char* names[kDTypes] = {"float32", "float64", "int32",   "int64",
                                          "uint8",   "bool",    "float16", "bfloat16"};
  return names[static_cast<int>(t)];
}
constexpr bool is_floating(DType t) { return t == DType::float32 || t == DType::float64; }
constexpr bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }
constexpr bool is_integer(DType t) { return t == DType::int32 || t == DType::int64 || t == DType::uint8; }

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

// Calls f.template operator()<T>() with the C++ type of `t`, which is none of the halves. The bool dtype is
// stored as one byte, 0 or 1.
template <class F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::int32:
      return f.template operator()<int32_t>();
    case DType::int64:
      return f.template operator()<int64_t>();
    case DType::uint8:
      return f.template operator()<uint8_t>();
    default:
      break;
  }
  return f.template operator()<bool>();
}
template <class F>
decltype(auto) visit_floating(DType t, F&& f) {
  return t == DType::float32 ? f.template operator()<float>() : f.template operator()<double>();
}
// Integer dtypes that may index.
template <class F>
decltype(auto) visit_index(DType t, F&& f) {
  if (t == DType::int64) return f.template operator()<int64_t>();
  if (t == DType::int32) return f.template operator()<int32_t>();
  return f.template operator()<uint8_t>();
}

}  // namespace omnigrad
