#include "kernels/optim.h"

#include <algorithm>
#include <cmath>

#include "kernels/strided.h"

namespace omnigrad::kernels {

// Before a loop whose arrays do not overlap: vectors, but no second version of it and no copies of its body.
#define OMNIGRAD_LEAN_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)")

template <class T>
void sgd_step(T* param, const T* grad, T* velocity, int64_t n, const SgdStep& s) noexcept {
  const T lr = static_cast<T>(s.lr), momentum = static_cast<T>(s.momentum),
          decay = static_cast<T>(s.weight_decay);
  const T fresh = s.first ? T(1) : static_cast<T>(1 - s.dampening), old = s.first ? T(0) : momentum;
  const T sign = s.maximize ? T(-1) : T(1);
  const bool first = s.first, nesterov = s.nesterov;
  parallel::parallel_for(n, kGrain, [=](int64_t begin, int64_t end) noexcept {
    if (!velocity) {
      OMNIGRAD_LEAN_LOOP
      for (int64_t i = begin; i < end; ++i) param[i] -= lr * (sign * grad[i] + decay * param[i]);
      return;
    }
    OMNIGRAD_LEAN_LOOP
    for (int64_t i = begin; i < end; ++i) {
      const T g = sign * grad[i] + decay * param[i], past = old * velocity[i];
      const T v = velocity[i] = (first ? T(0) : past) + fresh * g;
      param[i] -= lr * (nesterov ? g + momentum * v : v);
    }
  });
}

template <class T>
void adam_step(T* param, const T* grad, T* mean, T* square, T* max_square, int64_t n,
               const AdamStep& s) noexcept {
  const T b1 = static_cast<T>(s.beta1), c1 = static_cast<T>(1 - s.beta1);
  const T b2 = static_cast<T>(s.beta2), c2 = static_cast<T>(1 - s.beta2);
  const T eps = static_cast<T>(s.eps), step = static_cast<T>(s.lr / s.correction1);
  const T root = static_cast<T>(std::sqrt(s.correction2));
  const T decay = static_cast<T>(s.decoupled ? 0 : s.weight_decay);
  const T shrink = static_cast<T>(s.decoupled ? 1 - s.lr * s.weight_decay : 1);
  const T sign = s.maximize ? T(-1) : T(1);
  parallel::parallel_for(n, kGrain / 2, [=](int64_t begin, int64_t end) noexcept {
    const auto run = [&](const auto& greatest) {
      OMNIGRAD_LEAN_LOOP
      for (int64_t i = begin; i < end; ++i) {
        const T p = param[i] * shrink;
        const T g = sign * grad[i] + decay * p;
        const T m = mean[i] = b1 * mean[i] + c1 * g;
        const T v = greatest(i, square[i] = b2 * square[i] + c2 * g * g);
        param[i] = p - step * m / (__builtin_elementwise_sqrt(v) / root + eps);
      }
    };
    if (max_square)
      run([=](int64_t i, T v) { return max_square[i] = std::max(max_square[i], v); });
    else
      run([](int64_t, T v) { return v; });
  });
}

namespace {

// running mean = beta mean + (1 - beta) value
template <class T>
struct Mean {
  explicit Mean(double beta) : old(static_cast<T>(beta)), fresh(static_cast<T>(1 - beta)) {}
  T operator()(T& mean, T value) const { return mean = old * mean + fresh * value; }
  T old, fresh;
};

template <class T, class Update>
void each(T* param, const T* grad, int64_t n, const AdaptiveStep& s, const Update& update) noexcept {
  const T sign = static_cast<T>(s.sign), decay = static_cast<T>(s.decay), shrink = static_cast<T>(s.shrink),
          after = static_cast<T>(s.shrink_after);
  parallel::parallel_for(n, kGrain / 2, [&](int64_t begin, int64_t end) noexcept {
    OMNIGRAD_SMALL_LOOP
    for (int64_t i = begin; i < end; ++i) {
      const T p = param[i] * shrink;
      param[i] = (p - update(i, sign * grad[i] + decay * p)) * after;
    }
  });
}

}  // namespace

template <class T>
void adaptive_step(AdaptiveRule rule, T* param, const T* grad, T* const (&state)[4], int64_t n,
                   const AdaptiveStep& s) noexcept {
  const Mean<T> mean1(s.beta1), mean2(s.beta2), mean3(s.beta3);
  const T eps = static_cast<T>(s.eps), rate = static_cast<T>(s.rate), rate2 = static_cast<T>(s.rate2),
          root = static_cast<T>(s.root), momentum = static_cast<T>(s.momentum);
  T *a = state[0], *b = state[1], *c = state[2], *d = state[3];
  switch (rule) {
    case AdaptiveRule::adagrad:  // a: sum of squares
      return each(param, grad, n, s,
                  [=](int64_t i, T g) { return rate * g / (std::sqrt(a[i] += g * g) + eps); });
    case AdaptiveRule::adadelta:  // a: squares of gradients; b: of steps
      return each(param, grad, n, s, [=](int64_t i, T g) {
        const T step = std::sqrt(b[i] + eps) / std::sqrt(mean1(a[i], g * g) + eps) * g;
        mean1(b[i], step * step);
        return rate * step;
      });
    case AdaptiveRule::adamax:  // a: mean; b: decaying largest size
      return each(param, grad, n, s, [=](int64_t i, T g) {
        b[i] = std::max(mean2.old * b[i], std::abs(g) + eps);
        return rate * mean1(a[i], g) / b[i];
      });
    case AdaptiveRule::nadam:  // a: mean; b: squares
      return each(param, grad, n, s, [=](int64_t i, T g) {
        const T m = mean1(a[i], g);
        return (rate * g + rate2 * m) / (std::sqrt(mean2(b[i], g * g)) / root + eps);
      });
    case AdaptiveRule::radam:  // a: mean; b: squares; a root of 0: the squares are not trusted yet
      return each(param, grad, n, s, [=](int64_t i, T g) {
        const T m = rate * mean1(a[i], g), v = mean2(b[i], g * g);
        return root == 0 ? m : m * root / (std::sqrt(v) + eps);
      });
    case AdaptiveRule::rmsprop:  // a: squares; b: mean where centered; c: momentum
      return each(param, grad, n, s, [=](int64_t i, T g) {
        T v = mean1(a[i], g * g);
        if (b) {
          const T m = mean1(b[i], g);
          v = std::max(v - m * m, T(0));
        }
        const T step = g / (std::sqrt(v) + eps);
        return rate * (c ? c[i] = momentum * c[i] + step : step);
      });
    case AdaptiveRule::lion:  // a: mean
      return each(param, grad, n, s, [=](int64_t i, T g) {
        const T u = mean1.old * a[i] + mean1.fresh * g;
        mean2(a[i], g);
        return u > 0 ? rate : u < 0 ? -rate : u;
      });
    case AdaptiveRule::adan:  // a: mean; b: mean difference; c: squares; d: the gradient before
      return each(param, grad, n, s, [=, first = s.first](int64_t i, T g) {
        const T change = first ? T(0) : g - d[i], ahead = g + mean2.old * change;
        d[i] = g;
        const T m = mean1(a[i], g), v = mean2(b[i], change);
        return (rate * m + rate2 * v) / (std::sqrt(mean3(c[i], ahead * ahead)) / root + eps);
      });
  }
}

template void sgd_step(float*, const float*, float*, int64_t, const SgdStep&) noexcept;
template void sgd_step(double*, const double*, double*, int64_t, const SgdStep&) noexcept;
template void adam_step(float*, const float*, float*, float*, float*, int64_t, const AdamStep&) noexcept;
template void adam_step(double*, const double*, double*, double*, double*, int64_t, const AdamStep&) noexcept;

template void adaptive_step(AdaptiveRule, float*, const float*, float* const (&)[4], int64_t,
                            const AdaptiveStep&) noexcept;
template void adaptive_step(AdaptiveRule, double*, const double*, double* const (&)[4], int64_t,
                            const AdaptiveStep&) noexcept;

}  // namespace omnigrad::kernels
