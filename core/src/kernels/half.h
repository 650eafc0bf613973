// The storage-only floats: IEEE 754 binary16 and bfloat16, each two bytes, converted through float, to
// nearest even.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace omnigrad::kernels {

namespace half_detail {
inline uint32_t bits_of(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
inline float float_of(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}
}  // namespace half_detail

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float x) {
    const uint32_t u = half_detail::bits_of(x);
    // A NaN stays one; what else rounds up past the greatest number becomes infinite.
    bits = static_cast<uint16_t>(x != x ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return half_detail::float_of(uint32_t{bits} << 16); }
};

struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float x) {
    const uint32_t u = half_detail::bits_of(x), sign = u >> 16 & 0x8000, magnitude = u & 0x7fffffff;
    uint32_t h;
    if (magnitude > 0x7f800000) {
      h = 0x7e00;  // NaN
    } else if (magnitude >= 0x477ff000) {
      h = 0x7c00;  // rounds to infinity
    } else if (magnitude < 0x38800000) {
      // Denormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits of the sum.
      h = half_detail::bits_of(half_detail::float_of(magnitude) + 0.5f) - half_detail::bits_of(0.5f);
    } else {
      h = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    }
    bits = static_cast<uint16_t>(sign | h);
  }
  explicit operator float() const {
    const uint32_t sign = uint32_t{bits & 0x8000u} << 16, h = bits & 0x7fffu;
    if (h >= 0x7c00) return half_detail::float_of(sign | 0x7f800000 | (h & 0x3ff) << 13);
    if (h >= 0x0400) return half_detail::float_of(sign | ((h << 13) + 0x38000000));
    const float magnitude = static_cast<float>(h) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

}  // namespace omnigrad::kernels
