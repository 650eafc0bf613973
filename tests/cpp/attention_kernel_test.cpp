// The attention kernels against loops in double, whatever the sizes leave over of groups and tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/attention.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

using Doubles = std::vector<double>;

Doubles numbers(int64_t n, uint32_t seed) {
  Doubles v(static_cast<size_t>(n));
  for (double& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<double>(static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
  }
  return v;
}

struct Case {
  AttentionSizes s;
  Doubles q, k, v, g, y, gq, gk, gv;

  explicit Case(const AttentionSizes& sizes)
      : s(sizes),
        q(numbers(s.heads * s.queries * s.features, 1)),
        k(numbers(s.heads * s.keys * s.features, 2)),
        v(numbers(s.heads * s.keys * s.values, 3)),
        g(numbers(s.heads * s.queries * s.values, 4)),
        y(g.size()),
        gq(q.size()),
        gk(k.size()),
        gv(v.size()) {
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) query(h, i);
  }

  void query(int64_t h, int64_t i) {
    const int64_t seen = s.causal ? std::min(s.keys, i + 1) : s.keys;
    const double* qi = &q[(h * s.queries + i) * s.features];
    const double* gi = &g[(h * s.queries + i) * s.values];
    double *yi = &y[(h * s.queries + i) * s.values], *gqi = &gq[(h * s.queries + i) * s.features];
    Doubles p(seen), d(seen);
    double top = -INFINITY, total = 0, along = 0;
    for (int64_t j = 0; j < seen; ++j) {
      for (int64_t e = 0; e < s.features; ++e) p[j] += qi[e] * k[(h * s.keys + j) * s.features + e];
      top = std::max(top, p[j] *= s.scale);
    }
    for (double& x : p) total += x = std::exp(x - top);
    for (int64_t j = 0; j < seen; ++j) {
      p[j] /= total;
      for (int64_t f = 0; f < s.values; ++f) {
        const int64_t at = (h * s.keys + j) * s.values + f;
        yi[f] += p[j] * v[at];
        gv[at] += p[j] * gi[f];
        d[j] += gi[f] * v[at];
      }
      along += p[j] * d[j];
    }
    for (int64_t j = 0; j < seen; ++j)
      for (int64_t e = 0; e < s.features; ++e) {
        const int64_t at = (h * s.keys + j) * s.features + e;
        const double slope = p[j] * (d[j] - along) * s.scale;
        gqi[e] += slope * k[at];
        gk[at] += slope * qi[e];
      }
  }
};

template <class T>
struct Results {
  std::vector<T> y, gq, gk, gv;
  bool operator==(const Results& o) const {
    const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
    };
    return same(y, o.y) && same(gq, o.gq) && same(gk, o.gk) && same(gv, o.gv);
  }
};

template <class T>
Results<T> run(const Case& c, bool keep) {
  const auto typed = [](const Doubles& x) { return std::vector<T>(x.begin(), x.end()); };
  const auto q = typed(c.q), k = typed(c.k), v = typed(c.v), g = typed(c.g);
  Results<T> r{std::vector<T>(c.y.size(), T(9)), std::vector<T>(q.size(), T(9)),
               std::vector<T>(k.size(), T(9)), std::vector<T>(v.size(), T(9))};
  std::vector<T> weights(keep ? attention_weights(c.s) : 0, T(9));
  std::vector<char> ws(attention_workspace<T>(c.s), char(0x7f)),
      gws(attention_grad_workspace<T>(c.s), char(0x7f));
  T* kept = keep ? weights.data() : nullptr;
  attention(c.s, q.data(), k.data(), v.data(), r.y.data(), kept, ws.data());
  attention_grad<T>(c.s, q.data(), k.data(), v.data(), g.data(), kept, r.gq.data(), r.gk.data(), r.gv.data(),
                    gws.data());
  return r;
}

template <class T>
void check(const AttentionSizes& s) {
  const Case c(s);
  const Results<T> kept = run<T>(c, true), made = run<T>(c, false);
  ASSERT_TRUE(kept == made);
  parallel::start(3);
  const Results<T> threaded = run<T>(c, true);
  parallel::stop();
  ASSERT_TRUE(kept == threaded);
  const double close = sizeof(T) == 4 ? 2e-6 : 1e-14;
  const auto near = [&](const std::vector<T>& got, const Doubles& want) {
    double largest = 1;
    for (double x : want) largest = std::max(largest, std::fabs(x));
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(static_cast<double>(got[i]), want[i], 8 * close * largest)
          << s.heads << " " << s.queries << " " << s.keys << " " << s.features << " " << s.values << " " << i;
  };
  near(kept.y, c.y);
  near(kept.gq, c.gq);
  near(kept.gk, c.gk);
  near(kept.gv, c.gv);
}

TEST(AttentionKernel, AgreesWithLoops) {
  for (bool causal : {false, true})
    for (int64_t queries : {1, 3, 4, 9, 14})
      for (int64_t keys : {1, 4, 7, 8, 17})
        for (int64_t features : {1, 5, 8}) {
          const AttentionSizes s{2, queries, keys, features, 11 - features, 0.7, causal};
          check<float>(s);
          check<double>(s);
        }
}

// Several blocks of queries, and heads in several chunks.
TEST(AttentionKernel, Blocks) {
  for (bool causal : {false, true}) {
    check<float>({40, 70, 130, 16, 24, 0.25, causal});
    check<float>({1, 37, 700, 8, 8, 0.35, causal});
    check<double>({2, 130, 140, 8, 4, 0.35, causal});
  }
}

// Scores far apart: weights that are exactly 0, and gradients without NaN.
TEST(AttentionKernel, ExtremeScores) {
  const AttentionSizes s{1, 5, 9, 4, 4, 300, false};
  check<double>(s);
  const Results<float> r = run<float>(Case(s), true);
  for (const auto* x : {&r.y, &r.gq, &r.gk, &r.gv})
    for (float f : *x) EXPECT_TRUE(std::isfinite(f));
}

// Without keys the sum has no terms; without queries nothing reaches k and v.
TEST(AttentionKernel, NothingToSumOver) {
  EXPECT_EQ(run<float>(Case({2, 3, 0, 4, 4, 1, false}), true).y, std::vector<float>(24, 0));
  const Results<float> r = run<float>(Case({1, 0, 3, 4, 4, 1, false}), true);
  EXPECT_EQ(r.gk, std::vector<float>(12, 0));
  EXPECT_EQ(r.gv, std::vector<float>(12, 0));
}

}  // namespace
}  // namespace omnigrad::kernels
