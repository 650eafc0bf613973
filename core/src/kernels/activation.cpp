// See activation.h. Where an exponential is tiny it counts as 0: its share of the result is far below
// rounding.
#include "kernels/activation.h"

#include <cstddef>

#include "kernels/vmath.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kGrain = 8192;

template <class V>
V number(double x) {
  return V{} + static_cast<decltype(V{}[0] + 0)>(x);
}

// Each has value(x) and slope(x).
struct Silu {
  template <class V>
  static V value(V x) {
    return x * vsigmoid(x);
  }
  template <class V>
  static V slope(V x) {
    const V s = vsigmoid(x), one = number<V>(1);
    return s * (one + x * (one - s));
  }
};

struct Gelu {
  template <class V>
  static V twice_distribution(V x) {
    return number<V>(1) + verf(x * number<V>(0.7071067811865476));
  }
  template <class V>
  static V value(V x) {
    return x * number<V>(0.5) * twice_distribution(x);
  }
  template <class V>
  static V slope(V x) {
    const V density = vexp_flush(x * x * number<V>(-0.5)) * number<V>(0.3989422804014327);
    // 0 times infinity is no number.
    const V part = select(density == V{}, V{}, x * density);
    return number<V>(0.5) * twice_distribution(x) + part;
  }
};

struct GeluTanh {
  template <class V>
  static V tangent(V x) {
    return vtanh((x + x * (x * x) * number<V>(0.044715)) * number<V>(0.7978845608028654));
  }
  template <class V>
  static V value(V x) {
    return x * number<V>(0.5) * (tangent(x) + number<V>(1));
  }
  template <class V>
  static V slope(V x) {
    const V t = tangent(x), one = number<V>(1), half = number<V>(0.5);
    const V inner = number<V>(0.7978845608028654) * (one + number<V>(3 * 0.044715) * (x * x));
    const V bend = one - t * t;
    return half * (t + one) + select(bend == V{}, V{}, half * x * bend * inner);
  }
};

struct Mish {
  template <class V>
  static V value(V x) {
    return x * vtanh(vsoftplus(x));
  }
  template <class V>
  static V slope(V x) {
    const V t = vtanh(vsoftplus(x)), bend = number<V>(1) - t * t;
    return t + select(bend == V{}, V{}, x * bend * vsigmoid(x));
  }
};

// out = f(x, g) of vectors, f once in the loop: a tail goes through a register's worth of memory. g may be x.
template <class T, class F>
void map(int64_t n, const T* x, const T* g, T* out, const F& f) {
  constexpr ptrdiff_t L = kLanes<T>;
  parallel::parallel_for(n, kGrain, [=](int64_t begin, int64_t end) noexcept {
    ptrdiff_t left = static_cast<ptrdiff_t>(end - begin);
    const T *px = x + begin, *pg = g + begin;
    for (T* to = out + begin; left > 0; left -= L, px += L, pg += L, to += L) {
      T line[2][L] = {};
      if (left < L) {
        for (ptrdiff_t k = 0; k < left; ++k) line[0][k] = px[k], line[1][k] = pg[k];
        px = line[0], pg = line[1];
      }
      const Vec<T> r = f(load(px), load(pg));
      if (left >= L) {
        store(to, r);
      } else {
        store_partial(to, r, static_cast<int>(left));
      }
    }
  });
}

template <class F>
void visit(Activation kind, const F& f) {
  switch (kind) {
    case Activation::silu:
      return f(Silu{});
    case Activation::gelu:
      return f(Gelu{});
    case Activation::gelu_tanh:
      return f(GeluTanh{});
    case Activation::mish:
      return f(Mish{});
  }
}

}  // namespace

template <class T>
void activate(Activation kind, int64_t n, const T* x, T* y) noexcept {
  visit(kind, [=](auto f) { map(n, x, x, y, [f](Vec<T> v, Vec<T>) { return f.value(v); }); });
}

template <class T>
void activate_grad(Activation kind, int64_t n, const T* x, const T* g, T* gx) noexcept {
  visit(kind, [=](auto f) { map(n, x, g, gx, [f](Vec<T> v, Vec<T> c) { return c * f.slope(v); }); });
}

template void activate<float>(Activation, int64_t, const float*, float*) noexcept;
template void activate<double>(Activation, int64_t, const double*, double*) noexcept;
template void activate_grad<float>(Activation, int64_t, const float*, const float*, float*) noexcept;
template void activate_grad<double>(Activation, int64_t, const double*, const double*, double*) noexcept;

}  // namespace omnigrad::kernels
