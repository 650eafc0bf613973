// Four queries are a group. Their weights lie key by key, [key][4]: a lane is a query, so that softmax needs
// no sum across lanes, and the group is a packed left-hand panel for products over keys as it stands.
// Products over queries (gradients of k and v) read a 4x4 square of it at a time. A head is one unit of work.
#include "kernels/attention.h"

#include <algorithm>
#include <limits>

#include "kernels/panels.h"
#include "kernels/vmath.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {
namespace {

constexpr int64_t kGroup = kTileRows;   // queries
constexpr int64_t kBlockScores = 8192;  // weights that the gradient holds before it adds to gk and gv
constexpr int64_t kMaxChunks = 16;      // each has scratch memory of its own

template <class T>
constexpr int kParts = kGroup / kLanes<T>;  // vectors of a group

int64_t groups_of(const AttentionSizes& s) { return ceil_div(s.queries, kGroup); }
// Keys rounded up to whole tiles, of either dtype.
int64_t padded_keys(const AttentionSizes& s) { return round_up(s.keys, 8); }

// How heads are shared out: by sizes alone.
struct Split {
  int64_t chunks, grain;
  explicit Split(const AttentionSizes& s) {
    const int64_t head = std::max<int64_t>(1, s.queries * s.keys * (s.features + s.values));
    const int64_t least = std::max<int64_t>(1, kSerialWork / head);
    grain = std::max(least, ceil_div(s.heads, kMaxChunks));
    chunks = s.heads > 0 ? ceil_div(s.heads, grain) : 0;
  }
};

// Sum over the queries of groups [first, last) of weights[query][key0 + i] b[query][j]: 4 keys, a tile of
// columns.
template <class T>
Tile<T> multiply_over_queries(const T* weights, ptrdiff_t stride, const T* b, ptrdiff_t first,
                              ptrdiff_t last) {
  constexpr ptrdiff_t kN = kTileCols<T>, kL = kLanes<T>;
  Tile<T> t{};
  weights += first * stride;
  b += first * kGroup * kN;
  for (ptrdiff_t g = first; g < last; ++g, weights += stride - kGroup) {
    // One query at a time: unrolled, the operands of all four are more than there are registers.
#pragma clang loop unroll(disable)
    for (int q = 0; q < kGroup; ++q, ++weights, b += kN) {
      const Vec<T> b0 = load(b), b1 = load(b + kL);
      for (int i = 0; i < 4; ++i) {
        const Vec<T> x = splat(weights[i * kGroup]);
        t.v[i][0] += x * b0;
        t.v[i][1] += x * b1;
      }
    }
  }
  return t;
}

// body(u, key) for each key, u being key modulo 4 as the compiler knows it: sums of their own, side by side.
template <class Body>
[[gnu::always_inline]] inline void each_key(ptrdiff_t count, const Body& body) {
  ptrdiff_t j = 0;
  for (; j + 4 <= count; j += 4)
    for (int u = 0; u < 4; ++u) body(u, j + u);
  for (int u = 0; j < count; ++j, ++u) body(u, j);
}

// Scratch memory of a chunk.
template <class T>
struct Scratch {
  T *keys_t, *values, *group, *weights;   // forward
  T *values_t, *keys, *slopes, *gs, *qs;  // gradient
  int64_t block = 0;                      // queries that the gradient takes together
  size_t bytes = 0;

  Scratch(const AttentionSizes& s, bool grad, char* start) {
    const int64_t e = round_up(s.features, 8), f = round_up(s.values, 8), keys_padded = padded_keys(s);
    block = std::clamp<int64_t>(kBlockScores / std::max<int64_t>(keys_padded, 1) / kGroup * kGroup, kGroup,
                                round_up(std::max<int64_t>(s.queries, 1), kGroup));
    const auto take = [&](int64_t count) {
      T* p = start ? reinterpret_cast<T*>(start + bytes) : nullptr;  // none: bytes are only counted
      bytes += static_cast<size_t>(round_up(count * static_cast<int64_t>(sizeof(T)), 64));
      return p;
    };
    keys_t = take(keys_padded * e);
    group = take(std::max(e, f) * kGroup);
    weights = take(keys_padded * (grad ? block : kGroup));
    values = grad ? nullptr : take(f * s.keys);
    if (!grad) return;
    values_t = take(keys_padded * f);
    keys = take(e * s.keys);
    slopes = take(keys_padded * block);
    gs = take(f * block);
    qs = take(e * block);
  }
};

template <class T>
struct Head {
  const AttentionSizes& s;
  const Scratch<T>& scratch;
  static constexpr int64_t kN = kTileCols<T>;

  // Keys that a group sees, one query or another.
  int64_t seen(int64_t group) const { return s.causal ? std::min(s.keys, (group + 1) * kGroup) : s.keys; }

  // panel [depth][4] times the keys' packed panels, to [key][4].
  [[gnu::noinline]] void scores(const T* panel, const T* keys, int64_t depth, int64_t count, T* to) const {
    for (int64_t j = 0; j < count; j += kN)
      store_by_column(multiply_panels(panel, keys + j * depth, static_cast<ptrdiff_t>(depth)),
                      to + j * kGroup);
  }

  // The weights of a group of queries; 0 where a query does not see a key.
  [[gnu::noinline]] void weights(int64_t g, const T* q, T* p) const {
    const int64_t first = g * kGroup;
    const ptrdiff_t count = static_cast<ptrdiff_t>(seen(g));
    pack_group(q + first * s.features, s.queries - first, s.features, static_cast<T>(s.scale), scratch.group);
    scores(scratch.group, scratch.keys_t, s.features, count, p);
    if (s.causal) {
      for (int64_t key = first; key < count; ++key)
        for (int64_t i = 0; i < kGroup; ++i)
          if (key > first + i) p[key * kGroup + i] = -std::numeric_limits<T>::infinity();
    }
    for (int h = 0; h < kParts<T>; ++h) softmax(p + h * kLanes<T>, count);
    std::fill(p + count * kGroup, p + padded_keys(s) * kGroup, T(0));
  }

  // Each lane over the keys.
  [[gnu::noinline]] static void softmax(T* p, ptrdiff_t count) {
    Vec<T> top[4], sum[4] = {};
    for (Vec<T>& t : top) t = splat(-std::numeric_limits<T>::infinity());
    each_key(count, [&](int u, ptrdiff_t j) { top[u] = pmax(top[u], load(p + j * kGroup)); });
    const Vec<T> highest = pmax(pmax(top[0], top[1]), pmax(top[2], top[3]));
    each_key(count, [&](int u, ptrdiff_t j) {
      const Vec<T> e = vexp_flush(load(p + j * kGroup) - highest);
      store(p + j * kGroup, e);
      sum[u] += e;
    });
    const Vec<T> scale = splat(T(1)) / ((sum[0] + sum[1]) + (sum[2] + sum[3]));
    each_key(count, [&](int, ptrdiff_t j) { store(p + j * kGroup, load(p + j * kGroup) * scale); });
  }

  // d: the gradients of the weights, to those of the scores: p (d - sum(d p)) scale.
  [[gnu::noinline]] void softmax_grad(const T* p, T* d, ptrdiff_t count) const {
    const Vec<T> scale = splat(static_cast<T>(s.scale));
    for (int h = 0; h < kParts<T>; ++h, p += kLanes<T>, d += kLanes<T>) {
      Vec<T> sums[4] = {};
      each_key(count, [&](int u, ptrdiff_t j) { sums[u] += load(d + j * kGroup) * load(p + j * kGroup); });
      const Vec<T> sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
      each_key(count, [&](int, ptrdiff_t j) {
        const ptrdiff_t at = j * kGroup;
        store(d + at, load(p + at) * (load(d + at) - sum) * scale);
      });
    }
  }

  // A group's panel times packed columns, to rows of `n`.
  [[gnu::noinline]] void product(const T* panel, const T* columns, int64_t depth, int64_t packed_depth,
                                 int64_t rows, int64_t n, T* to) const {
    for (int64_t j = 0; j < n; j += kN)
      put_tile(multiply_panels(panel, columns + j * packed_depth, static_cast<ptrdiff_t>(depth)), to + j, n,
               rows, n - j, false);
  }

  void forward(const T* q, const T* k, const T* v, T* y, T* kept) const {
    pack_transposed(k, s.keys, s.features, scratch.keys_t);
    pack_rows(v, s.keys, s.keys, s.values, scratch.values);
    for (int64_t g = 0; g < groups_of(s); ++g) {
      T* p = kept ? kept + g * padded_keys(s) * kGroup : scratch.weights;
      weights(g, q, p);
      product(p, scratch.values, seen(g), s.keys, s.queries - g * kGroup, s.values,
              y + g * kGroup * s.values);
    }
  }

  // to[key] (+)= sum over the queries of groups [0, groups) of a block, the first of which is `begin`.
  [[gnu::noinline]] void over_queries(const T* p, const T* columns, int64_t begin, int64_t groups, int64_t n,
                                      T* to) const {
    const ptrdiff_t stride = static_cast<ptrdiff_t>(padded_keys(s) * kGroup);
    for (int64_t key = 0; key < s.keys; key += kGroup) {
      // Groups before key see none of these keys.
      const int64_t from = s.causal ? std::clamp<int64_t>(key / kGroup - begin, 0, groups) : 0;
      for (int64_t j = 0; j < n; j += kN)
        put_tile(multiply_over_queries(p + key * kGroup, stride, columns + j * groups * kGroup,
                                       static_cast<ptrdiff_t>(from), static_cast<ptrdiff_t>(groups)),
                 to + key * n + j, n, s.keys - key, n - j, begin > 0);
    }
  }

  void backward(const T* q, const T* k, const T* v, const T* gy, const T* kept, T* gq, T* gk, T* gv) const {
    const int64_t row = padded_keys(s) * kGroup;
    if (!kept) pack_transposed(k, s.keys, s.features, scratch.keys_t);
    pack_transposed(v, s.keys, s.values, scratch.values_t);
    pack_rows(k, s.keys, s.keys, s.features, scratch.keys);
    for (int64_t first = 0; first < s.queries; first += scratch.block) {
      const int64_t count = std::min(scratch.block, s.queries - first), begin = first / kGroup,
                    groups = ceil_div(count, kGroup);
      const T* block = kept ? kept + begin * row : scratch.weights;
      for (int64_t i = 0; i < groups; ++i) {
        const int64_t g = begin + i, query = g * kGroup, left = s.queries - query;
        if (!kept) weights(g, q, scratch.weights + i * row);
        if (!gq && !gk) continue;
        const T* p = block + i * row;
        T* d = scratch.slopes + i * row;
        pack_group(gy + query * s.values, left, s.values, T(1), scratch.group);
        scores(scratch.group, scratch.values_t, s.values, seen(g), d);
        softmax_grad(p, d, static_cast<ptrdiff_t>(seen(g)));
        std::fill(d + seen(g) * kGroup, d + row, T(0));
        if (gq) product(d, scratch.keys, seen(g), s.keys, left, s.features, gq + query * s.features);
      }
      if (gv) {
        pack_rows(gy + first * s.values, count, groups * kGroup, s.values, scratch.gs);
        over_queries(block, scratch.gs, begin, groups, s.values, gv);
      }
      if (gk) {
        pack_rows(q + first * s.features, count, groups * kGroup, s.features, scratch.qs);
        over_queries(scratch.slopes, scratch.qs, begin, groups, s.features, gk);
      }
    }
  }
};

// body(head) with the scratch memory of its chunk.
template <class T, class Body>
void each_head(const AttentionSizes& s, bool grad, void* workspace, const Body& body) {
  const Split split(s);
  const size_t bytes = Scratch<T>(s, grad, nullptr).bytes;
  parallel::parallel_for(s.heads, split.grain, [&](int64_t begin, int64_t end) noexcept {
    const Scratch<T> scratch(s, grad, static_cast<char*>(workspace) + begin / split.grain * bytes);
    for (int64_t h = begin; h < end; ++h) body(Head<T>{s, scratch}, h);
  });
}

template <class T>
T* at(T* p, int64_t offset) {
  return p ? p + offset : nullptr;
}

template <class T>
size_t workspace_of(const AttentionSizes& s, bool grad) {
  return Scratch<T>(s, grad, nullptr).bytes * static_cast<size_t>(Split(s).chunks);
}

}  // namespace

int64_t attention_weights(const AttentionSizes& s) {
  return s.heads * groups_of(s) * padded_keys(s) * kGroup;
}

template <class T>
size_t attention_workspace(const AttentionSizes& s) {
  return workspace_of<T>(s, false);
}
template <class T>
size_t attention_grad_workspace(const AttentionSizes& s) {
  return workspace_of<T>(s, true);
}

template <class T>
void attention(const AttentionSizes& s, const T* q, const T* k, const T* v, T* y, T* weights,
               void* workspace) noexcept {
  const int64_t kept = groups_of(s) * padded_keys(s) * kGroup;
  each_head<T>(s, false, workspace, [=, &s](const Head<T>& head, int64_t h) noexcept {
    head.forward(q + h * s.queries * s.features, k + h * s.keys * s.features, v + h * s.keys * s.values,
                 y + h * s.queries * s.values, at(weights, h * kept));
  });
}

template <class T>
void attention_grad(const AttentionSizes& s, const T* q, const T* k, const T* v, const T* g, const T* weights,
                    T* gq, T* gk, T* gv, void* workspace) noexcept {
  const int64_t kept = groups_of(s) * padded_keys(s) * kGroup;
  if (s.queries == 0) {
    if (gk) std::fill_n(gk, s.heads * s.keys * s.features, T(0));
    if (gv) std::fill_n(gv, s.heads * s.keys * s.values, T(0));
  }
  each_head<T>(s, true, workspace, [=, &s](const Head<T>& head, int64_t h) noexcept {
    const int64_t query = h * s.queries, key = h * s.keys;
    head.backward(q + query * s.features, k + key * s.features, v + key * s.values, g + query * s.values,
                  at(weights, h * kept), at(gq, query * s.features), at(gk, key * s.features),
                  at(gv, key * s.values));
  });
}

#define OMNIGRAD_INSTANTIATE(T)                                                                            \
  template size_t attention_workspace<T>(const AttentionSizes&);                                           \
  template size_t attention_grad_workspace<T>(const AttentionSizes&);                                      \
  template void attention<T>(const AttentionSizes&, const T*, const T*, const T*, T*, T*, void*) noexcept; \
  template void attention_grad<T>(const AttentionSizes&, const T*, const T*, const T*, const T*, const T*, \
                                  T*, T*, T*, void*) noexcept;
OMNIGRAD_INSTANTIATE(float)
OMNIGRAD_INSTANTIATE(double)
#undef OMNIGRAD_INSTANTIATE

}  // namespace omnigrad::kernels
