#include "kernels/copy.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/half.h"
#include "kernels/strided.h"

namespace omnigrad::kernels {
namespace {

template <class To, class From>
inline To cast(From x) noexcept {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsHalf<From>) {
    return cast<To>(static_cast<float>(x));
  } else if constexpr (kIsHalf<To>) {
    return To(cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class F>
void visit_storage(DType t, F&& f) {
  if (t == DType::float16) return f.template operator()<Float16>();
  if (t == DType::bfloat16) return f.template operator()<BFloat16>();
  visit_dtype(t, f);
}

}  // namespace

void copy(const StridedView& to, const StridedView& from, const int64_t* shape, int rank) noexcept {
  const Strided loop(shape, rank, {to.strides, from.strides});
  const int64_t s0 = loop.inner_stride(0), s1 = loop.inner_stride(1);
  visit_storage(to.dtype, [&]<class To>() {
    visit_storage(from.dtype, [&]<class From>() {
      loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
        To* y = static_cast<To*>(to.data) + offset[0];
        const From* x = static_cast<const From*>(from.data) + offset[1];
        if constexpr (std::is_same_v<To, From>) {
          if (s0 == 1 && s1 == 1) {
            std::memcpy(y, x, static_cast<size_t>(n) * sizeof(To));
            return;
          }
        }
        OMNIGRAD_SMALL_LOOP
        for (int64_t i = 0; i < n; ++i) y[i * s0] = cast<To>(x[i * s1]);
      });
    });
  });
}

void fill(const StridedView& to, double value, const int64_t* shape, int rank) noexcept {
  const Strided loop(shape, rank, {to.strides});
  const int64_t s0 = loop.inner_stride(0);
  visit_storage(to.dtype, [&]<class To>() {
    const To v = cast<To>(value);
    loop.for_rows(kGrain, [&](const int64_t* offset, int64_t n) noexcept {
      To* y = static_cast<To*>(to.data) + offset[0];
      for (int64_t i = 0; i < n; ++i) y[i * s0] = v;
    });
  });
}

}  // namespace omnigrad::kernels
