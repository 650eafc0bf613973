// 16-byte vectors for kernels, by the compiler's vector extensions: the same source gives SSE natively and
// SIMD128 in wasm. 4 floats or 2 doubles. Only loads, stores, shuffles and selections that the language
// lacks; arithmetic is the operators'.
#pragma once

#include <cstdint>
#include <cstring>

namespace omnigrad::kernels {

using f32x4 = float __attribute__((vector_size(16)));
using f64x2 = double __attribute__((vector_size(16)));
using i32x4 = int32_t __attribute__((vector_size(16)));
using i64x2 = int64_t __attribute__((vector_size(16)));
using u64x2 = uint64_t __attribute__((vector_size(16)));

template <class T>
struct VecOf;
template <>
struct VecOf<float> {
  using type = f32x4;
  using mask = i32x4;
};
template <>
struct VecOf<double> {
  using type = f64x2;
  using mask = i64x2;
};
template <class T>
using Vec = typename VecOf<T>::type;
template <class T>
using Mask = typename VecOf<T>::mask;
template <class T>
inline constexpr int kLanes = 16 / sizeof(T);

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, 16);
  return v;
}
template <class T>
inline void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, 16);
}
inline f32x4 splat(float x) { return f32x4{x, x, x, x}; }
inline f64x2 splat(double x) { return f64x2{x, x}; }

// `a` where the mask is set, else `b`.
template <class V, class M>
inline V select(M m, V a, V b) {
  return reinterpret_cast<V>((m & reinterpret_cast<M>(a)) | (~m & reinterpret_cast<M>(b)));
}
// b < a ? b : a and a < b ? b : a: one instruction on every target, unlike IEEE minimum and maximum.
template <class V>
inline V pmin(V a, V b) {
  return b < a ? b : a;
}
template <class V>
inline V pmax(V a, V b) {
  return a < b ? b : a;
}

// Loads the first n lanes (1 <= n <= lanes), the rest zero; stores the first n. In pieces of fixed size, for
// a memcpy of n bytes is a call.
inline f32x4 load_partial(const float* p, int n) {
  if (n == 4) return load(p);
  f32x4 v{};
  if (n >= 2) std::memcpy(&v, p, 8);
  if (n == 1) v[0] = *p;
  if (n == 3) v[2] = p[2];
  return v;
}
inline f64x2 load_partial(const double* p, int n) { return n == 2 ? load(p) : f64x2{*p, 0}; }
inline void store_partial(float* p, f32x4 v, int n) {
  if (n == 4) return store(p, v);
  if (n >= 2) std::memcpy(p, &v, 8);
  if (n == 1) *p = v[0];
  if (n == 3) p[2] = v[2];
}
inline void store_partial(double* p, f64x2 v, int n) {
  if (n == 2) return store(p, v);
  *p = v[0];
}

// Turns `lanes` vectors of `lanes` elements: lane j of r[i] goes to lane i of r[j].
inline void transpose(f32x4 (&r)[4]) {
  const f32x4 a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
              b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const f32x4 c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
              d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
inline void transpose(f64x2 (&r)[2]) {
  const f64x2 a = r[0], b = r[1];
  r[0] = __builtin_shufflevector(a, b, 0, 2);
  r[1] = __builtin_shufflevector(a, b, 1, 3);
}

inline float sum_lanes(f32x4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline double sum_lanes(f64x2 v) { return v[0] + v[1]; }

// The even-numbered lanes of a, then those of b.
inline f32x4 even_lanes(f32x4 a, f32x4 b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
inline f64x2 even_lanes(f64x2 a, f64x2 b) { return __builtin_shufflevector(a, b, 0, 2); }
inline f32x4 odd_lanes(f32x4 a, f32x4 b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
inline f64x2 odd_lanes(f64x2 a, f64x2 b) { return __builtin_shufflevector(a, b, 1, 3); }
// a0, b0, a1, b1, ...: the first vector of it, and the second.
inline f32x4 zip_low(f32x4 a, f32x4 b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
inline f64x2 zip_low(f64x2 a, f64x2 b) { return __builtin_shufflevector(a, b, 0, 2); }
inline f32x4 zip_high(f32x4 a, f32x4 b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
inline f64x2 zip_high(f64x2 a, f64x2 b) { return __builtin_shufflevector(a, b, 1, 3); }

// Is any lane of a mask set?
template <class M>
inline bool any(M m) {
  const i64x2 v = reinterpret_cast<i64x2>(m);
  return (v[0] | v[1]) != 0;
}

}  // namespace omnigrad::kernels
