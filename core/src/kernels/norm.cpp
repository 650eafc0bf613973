// A group is read three times forward (mean, variance, result) and twice backward, from cache but for the
// first.
#include "kernels/norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/simd.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

constexpr int64_t kGrainElements = 16384;
constexpr int64_t kBlock = 512;  // elements summed lane by lane before the sum goes on in double
constexpr int64_t kPart = 32;    // groups whose weight gradients are added up before the tree

template <class T>
struct Pair {
  Vec<T> a, b;
};

// Calls body(slot, offset, lanes) for the vectors of n elements, kBlock of them at a time; flush() after each
// block.
template <class T, class Body, class Flush>
inline void each_block(int64_t n, const Body& body, const Flush& flush) {
  constexpr int64_t L = kLanes<T>;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    int64_t i = begin;
    for (; i + 4 * L <= end; i += 4 * L) {
      body(0, i, static_cast<int>(L));
      body(1, i + L, static_cast<int>(L));
      body(2, i + 2 * L, static_cast<int>(L));
      body(3, i + 3 * L, static_cast<int>(L));
    }
    for (int u = 0; i < end; i += L, ++u) body(u, i, static_cast<int>(std::min(L, end - i)));
    flush();
  }
}

template <class T>
inline Vec<T> load_some(const T* p, int lanes) {
  return lanes == kLanes<T> ? load(p) : load_partial(p, lanes);
}
template <class T>
inline void store_some(T* p, Vec<T> v, int lanes) {
  if (lanes == kLanes<T>) return store(p, v);
  store_partial(p, v, lanes);
}

// The sum of term(offset, lanes), a vector whose lanes past `lanes` are left out.
template <class T, class Term>
inline double sum_terms(int64_t n, const Term& term) {
  Vec<T> acc[4] = {};
  double total = 0;
  each_block<T>(
      n,
      [&](int u, int64_t i, int lanes) {
        Vec<T> v = term(i, lanes);
        for (int l = lanes; l < kLanes<T>; ++l) v[l] = 0;
        acc[u] += v;
      },
      [&] {
        total += static_cast<double>(sum_lanes((acc[0] + acc[1]) + (acc[2] + acc[3])));
        for (Vec<T>& a : acc) a = Vec<T>{};
      });
  return total;
}

// Two such sums at once; terms past `lanes` are 0 already.
template <class T, class Term>
inline void sum_pairs(int64_t n, const Term& term, double& a, double& b) {
  Pair<T> acc[4] = {};
  each_block<T>(
      n,
      [&](int u, int64_t i, int lanes) {
        const Pair<T> t = term(i, lanes);
        acc[u].a += t.a;
        acc[u].b += t.b;
      },
      [&] {
        a += static_cast<double>(sum_lanes((acc[0].a + acc[1].a) + (acc[2].a + acc[3].a)));
        b += static_cast<double>(sum_lanes((acc[0].b + acc[1].b) + (acc[2].b + acc[3].b)));
        for (Pair<T>& t : acc) t = Pair<T>{};
      });
}

template <class T>
inline void each_vector(int64_t n, const auto& body) {
  each_block<T>(n, [&](int, int64_t i, int lanes) { body(i, lanes); }, [] {});
}

template <class T>
class Group {
 public:
  // From forward's statistics.
  Group(const NormSizes& s, const T* x, int64_t g, T given_mean, T given_variance)
      : mean(given_mean), variance(given_variance), s_(s), x_(x), g_(g) {
    set_scale();
  }
  Group(const NormSizes& s, const T* x, int64_t g) : s_(s), x_(x), g_(g) {
    const double n = static_cast<double>(s.outer * s.inner);
    double total = 0;
    if (s.centered) {
      for (int64_t o = 0; o < s.outer; ++o) {
        const T* p = x + at(o);
        total += sum_terms<T>(s.inner, [=](int64_t i, int lanes) { return load_some(p + i, lanes); });
      }
      mean = static_cast<T>(total / n);
    }
    const Vec<T> m = splat(mean);
    total = 0;
    for (int64_t o = 0; o < s.outer; ++o) {
      const T* p = x + at(o);
      total += sum_terms<T>(s.inner, [=](int64_t i, int lanes) {
        const Vec<T> d = load_some(p + i, lanes) - m;
        return d * d;
      });
    }
    variance = static_cast<T>(total / n);
    set_scale();
  }
  int64_t at(int64_t o) const { return (o * s_.groups + g_) * s_.inner; }  // where its o-th piece starts
  int64_t weights() const { return g_ % s_.period * s_.per; }

  // A function for the normalised elements from p on; by value, as stores might alias a member.
  auto normal() const {
    return
        [m = splat(mean), k = splat(scale)](const T* p, int lanes) { return (load_some(p, lanes) - m) * k; };
  }

  // Calls body(offset of a piece, its length, index of its weight) for the pieces that share a weight.
  void each_run(const auto& body) const {
    const int64_t run = s_.run();
    for (int64_t o = 0; o < s_.outer; ++o) {
      for (int64_t k = 0; k < s_.per; ++k) body(at(o) + k * run, run, weights() + k);
    }
  }

  T mean = 0, variance = 0, scale = 1;

 private:
  void set_scale() { scale = static_cast<T>(1 / std::sqrt(static_cast<double>(variance) + s_.eps)); }

  const NormSizes& s_;
  const T* x_;
  int64_t g_;
};

int64_t grain(const NormSizes& s, int64_t groups) {
  return std::max<int64_t>(kGrainElements / std::max<int64_t>(s.outer * s.inner * groups, 1), 1);
}

// A row with a weight for each element.
bool elementwise(const NormSizes& s) { return s.outer == 1 && s.run() == 1 && s.per > 1; }

template <class T>
void forward_group(const NormSizes& s, const Group<T>& group, const T* x, const T* weight, const T* bias,
                   T* y) {
  const auto normal = group.normal();
  if (elementwise(s) && (weight || bias)) {
    const int64_t at = group.at(0);
    const T *w = weight ? weight + group.weights() : nullptr, *b = bias ? bias + group.weights() : nullptr;
    each_vector<T>(s.inner, [=](int64_t i, int lanes) {
      Vec<T> v = normal(x + at + i, lanes);
      if (w) v *= load_some(w + i, lanes);
      if (b) v += load_some(b + i, lanes);
      store_some(y + at + i, v, lanes);
    });
    return;
  }
  const auto piece = [=](int64_t at, int64_t n, T w, T b) {
    each_vector<T>(n, [=](int64_t i, int lanes) {
      store_some(y + at + i, normal(x + at + i, lanes) * splat(w) + splat(b), lanes);
    });
  };
  if (!weight && !bias) {
    for (int64_t o = 0; o < s.outer; ++o) piece(group.at(o), s.inner, T(1), T(0));
    return;
  }
  group.each_run([&](int64_t at, int64_t n, int64_t k) {
    piece(at, n, weight ? weight[k] : T(1), bias ? bias[k] : T(0));
  });
}

// gx = scale * (g w - mean(g w) - normal * mean(g w normal)).
template <class T>
struct Gradient {
  const NormSizes& s;
  const T *x, *weight, *g;
  T* gx;

  // weight_sums, bias_sums: rows of `per` numbers that are added to (per element) or written, or null.
  void group(const Group<T>& group, T* weight_sums, T* bias_sums) const {
    const bool each = elementwise(s);
    const auto normal = group.normal();
    const T *from = x, *with = g;
    double direct = 0, along = 0;  // sums of g w, of g w normal
    if (each) {
      const int64_t at = group.at(0);
      const T* w = weight ? weight + group.weights() : nullptr;
      sum_pairs<T>(
          s.inner,
          [=](int64_t i, int lanes) {
            const Vec<T> v = load_some(with + at + i, lanes), vn = v * normal(from + at + i, lanes);
            if (weight_sums) store_some(weight_sums + i, load_some(weight_sums + i, lanes) + vn, lanes);
            if (bias_sums) store_some(bias_sums + i, load_some(bias_sums + i, lanes) + v, lanes);
            if (!w) return Pair<T>{v, vn};
            const Vec<T> k = load_some(w + i, lanes);
            return Pair<T>{v * k, vn * k};
          },
          direct, along);
    } else {
      double a = 0, b = 0;
      int64_t left = s.outer;
      group.each_run([&](int64_t at, int64_t n, int64_t k) {
        sum_pairs<T>(
            n,
            [=](int64_t i, int lanes) {
              const Vec<T> v = load_some(with + at + i, lanes);
              return Pair<T>{v, v * normal(from + at + i, lanes)};
            },
            a, b);
        if (--left > 0) return;  // more pieces of the same weight follow
        const double w = weight ? static_cast<double>(weight[k]) : 1.0;
        direct += a * w;
        along += b * w;
        if (weight_sums) weight_sums[k - group.weights()] = static_cast<T>(b);
        if (bias_sums) bias_sums[k - group.weights()] = static_cast<T>(a);
        a = b = 0;
        left = s.outer;
      });
    }
    if (gx) input(group, each, direct, along);
  }

  void input(const Group<T>& group, bool each, double direct, double along) const {
    const double n = static_cast<double>(s.outer * s.inner);
    const auto normal = group.normal();
    const T *from = x, *with = g;
    T* to = gx;
    const Vec<T> shift = splat(s.centered ? static_cast<T>(direct / n) : T(0)),
                 tilt = splat(static_cast<T>(along / n)), scale = splat(group.scale);
    const auto put = [=](int64_t at, int lanes, Vec<T> v) {
      store_some(to + at, scale * ((v - shift) - normal(from + at, lanes) * tilt), lanes);
    };
    if (each && weight) {
      const int64_t at = group.at(0);
      const T* w = weight + group.weights();
      each_vector<T>(s.inner, [=](int64_t i, int lanes) {
        put(at + i, lanes, load_some(with + at + i, lanes) * load_some(w + i, lanes));
      });
      return;
    }
    const auto piece = [&](int64_t at, int64_t length, T w) {
      each_vector<T>(length, [=](int64_t i, int lanes) {
        put(at + i, lanes, load_some(with + at + i, lanes) * splat(w));
      });
    };
    if (weight) {
      group.each_run([&](int64_t at, int64_t length, int64_t k) { piece(at, length, weight[k]); });
    } else {
      for (int64_t o = 0; o < s.outer; ++o) piece(group.at(o), s.inner, T(1));
    }
  }
};

}  // namespace

template <class T>
void normalize_groups(const NormSizes& s, const T* x, const T* weight, const T* bias, T* y, T* mean,
                      T* variance) noexcept {
  parallel::parallel_for(s.groups, grain(s, 1), [&](int64_t begin, int64_t end) noexcept {
    for (int64_t g = begin; g < end; ++g) {
      const Group<T> group(s, x, g);
      if (mean) mean[g] = group.mean;
      if (variance) variance[g] = group.variance;
      forward_group(s, group, x, weight, bias, y);
    }
  });
}

int64_t norm_groups_per_part(const NormSizes& s) { return elementwise(s) && s.period == 1 ? kPart : 1; }

template <class T>
void normalize_groups_grad(const NormSizes& s, const T* x, const T* weight, const T* g, T* gx,
                           T* weight_parts, T* bias_parts, const T* mean, const T* variance) noexcept {
  const Gradient<T> gradient{s, x, weight, g, gx};
  const int64_t block = norm_groups_per_part(s);
  parallel::parallel_for(
      (s.groups + block - 1) / block, grain(s, block), [&](int64_t begin, int64_t end) noexcept {
        for (int64_t part = begin; part < end; ++part) {
          T *w = weight_parts ? weight_parts + part * s.per : nullptr,
            *b = bias_parts ? bias_parts + part * s.per : nullptr;
          if (w) std::fill_n(w, s.per, T(0));
          if (b) std::fill_n(b, s.per, T(0));
          for (int64_t i = part * block; i < std::min(s.groups, (part + 1) * block); ++i) {
            gradient.group(mean ? Group<T>(s, x, i, mean[i], variance[i]) : Group<T>(s, x, i), w, b);
          }
        }
      });
}

template void normalize_groups<float>(const NormSizes&, const float*, const float*, const float*, float*,
                                      float*, float*) noexcept;
template void normalize_groups<double>(const NormSizes&, const double*, const double*, const double*, double*,
                                       double*, double*) noexcept;
template void normalize_groups_grad<float>(const NormSizes&, const float*, const float*, const float*, float*,
                                           float*, float*, const float*, const float*) noexcept;
template void normalize_groups_grad<double>(const NormSizes&, const double*, const double*, const double*,
                                            double*, double*, double*, const double*, const double*) noexcept;

}  // namespace omnigrad::kernels
