// See resample.h: the order of the passes, how planes are shared out, and the innermost axis.
#include "resample.h"

#include <algorithm>
#include <cstring>

#include "../parallel/parallel.h"
#include "resample_combine.h"
#include "resample_pattern.h"
#include "simd.h"

namespace omnigrad::kernels {
namespace {

using namespace resample_detail;

constexpr int64_t kMaxChunks = 16;            // each chunk has scratch memory of its own
constexpr int64_t kChunkWork = 16384;         // multiply-adds below which a chunk is not worth its fork
constexpr int64_t kFewPlanes = 8;             // from here on, planes are the unit of work
constexpr int64_t kGroupElements = 8192;      // small planes go through the passes together
constexpr int64_t kMaxStripLength = 1 << 15;  // longer rows are gathered directly
constexpr int64_t kInnerBlock = 4096;         // elements of a row combination that one unit of work covers
constexpr double kStripCost = 1.5;            // a tap of the innermost axis against one of another

template <class T>
struct Plan {
  int passes = 0;
  int axis[kMaxResampleAxes];
  int64_t outer[kMaxResampleAxes];  // within a plane
  int64_t inner[kMaxResampleAxes];
  int64_t in_plane = 1, out_plane = 1;
  int64_t temp = 0;    // elements of the largest intermediate plane
  int64_t strip = 0;   // elements of a transposed strip
  double work = 0;     // multiply-adds a plane
  Pattern<T> pattern;  // of the innermost axis
};

// Cheapest order of the passes: each costs c(a) times the current volume and multiplies the volume by r(a),
// which is least when axes are sorted by (r - 1) / c.
template <class T>
Plan<T> make_plan(int rank, const AxisRows<T>* axes) {
  Plan<T> p;
  int64_t size[kMaxResampleAxes];
  double key[kMaxResampleAxes];
  double cost[kMaxResampleAxes];
  for (int a = 0; a < rank; ++a) {
    const AxisRows<T>& t = axes[a];
    size[a] = t.in;
    p.in_plane *= t.in;
    p.out_plane *= t.out;
    if (t.identity || t.in == 0) continue;
    const double taps = static_cast<double>(t.start[t.out]) * (a == rank - 1 ? kStripCost : 1.0);
    cost[a] = (taps + static_cast<double>(t.out)) / static_cast<double>(t.in);
    key[a] = (static_cast<double>(t.out) / static_cast<double>(t.in) - 1.0) / cost[a];
    int at = p.passes++;
    // Equal keys keep the later axis first.
    while (at > 0 && key[p.axis[at - 1]] >= key[a]) {
      p.axis[at] = p.axis[at - 1];
      --at;
    }
    p.axis[at] = a;
  }
  if (rank > 0 && p.in_plane > 0) p.pattern = find_pattern(axes[rank - 1]);
  for (int i = 0; i < p.passes; ++i) {
    const int a = p.axis[i];
    p.outer[i] = p.inner[i] = 1;
    for (int b = 0; b < a; ++b) p.outer[i] *= size[b];
    for (int b = a + 1; b < rank; ++b) p.inner[i] *= size[b];
    p.work += cost[a] * static_cast<double>(p.outer[i] * p.inner[i] * size[a]);
    if (p.inner[i] == 1 && size[a] <= kMaxStripLength) p.strip = std::max(p.strip, size[a] * kLanes<T>);
    size[a] = axes[a].out;
    if (i + 1 < p.passes) p.temp = std::max(p.temp, p.outer[i] * p.inner[i] * size[a]);
  }
  return p;
}

// How planes are split: a function of sizes alone.
struct Split {
  bool by_plane;
  int64_t grain;  // planes a chunk
  int64_t chunks;
  int64_t group;  // planes that go through the passes together
};

template <class T>
Split make_split(int64_t planes, const Plan<T>& p) {
  Split s;
  const double total = p.work * static_cast<double>(planes);
  const int64_t wanted = static_cast<int64_t>(std::min(total / kChunkWork, 16.0));
  s.by_plane = planes >= kFewPlanes || wanted <= 1;
  const int64_t chunks =
      std::clamp<int64_t>(s.by_plane ? std::min(wanted, planes) : kMaxChunks, 1, kMaxChunks);
  s.grain = s.by_plane ? std::max<int64_t>(1, (planes + chunks - 1) / chunks) : planes;
  s.chunks = s.by_plane ? (planes + s.grain - 1) / s.grain : chunks;
  const int64_t plane = std::max({p.in_plane, p.out_plane, p.temp, int64_t{1}});
  s.group = s.by_plane ? std::clamp<int64_t>(kGroupElements / plane, 1, s.grain) : planes;
  return s;
}

int temp_buffers(int passes) { return std::min(std::max(passes - 1, 0), 2); }

int64_t aligned(int64_t elements) { return (elements + 15) / 16 * 16; }

// Innermost axis, one row, outputs [o0, o1).
template <class T>
void scalar_row(const AxisRows<T>& t, const T* src, T* dst, Size o0, Size o1) {
  for (Size o = o0; o < o1; ++o) {
    dst[o] = tap_sum<T>(t, t.start[o], t.start[o + 1], [src](Size i) { return src[i]; });
  }
}

// Innermost axis, output o of rows [0, rows): N taps, or any number if N is 0.
template <int N, class T>
void scalar_column(const AxisRows<T>& t, Size o, const T* src, T* dst, Size rows) {
  const Size k = t.start[o], end = N > 0 ? k + N : t.start[o + 1], in = t.in, out = t.out;
  T* to = dst + o;
  for (Size r = 0; r < rows; ++r, to += out, src += in)
    *to = tap_sum<T>(t, k, end, [src](Size i) { return src[i]; });
}

// The same for outputs [o0, o1).
template <class T>
void scalar_columns(const AxisRows<T>& t, const T* src, T* dst, Size o0, Size o1, Size rows) {
  for (Size o = o0; o < o1; ++o) switch (t.start[o + 1] - t.start[o]) {
      case 1:
        scalar_column<1>(t, o, src, dst, rows);
        break;
      case 2:
        scalar_column<2>(t, o, src, dst, rows);
        break;
      default:
        scalar_column<0>(t, o, src, dst, rows);
    }
}

// Innermost axis, as many rows as a vector has lanes, through a transposed strip.
template <class T>
void strip_rows(const AxisRows<T>& table, const T* src, T* dst, T* strip) {
  const AxisRows<T> t = table;  // a copy, which no store can be taken to change
  constexpr Size L = kLanes<T>;
  const Size in = t.in, out = t.out;
  Vec<T> v[L];
  Size i = 0;
  for (; i + L <= in; i += L) {
    for (Size r = 0; r < L; ++r) v[r] = load(src + r * in + i);
    transpose(v);
    for (Size r = 0; r < L; ++r) store(strip + (i + r) * L, v[r]);
  }
  for (; i < in; ++i) {
    for (Size r = 0; r < L; ++r) strip[i * L + r] = src[r * in + i];
  }
  const auto output = [&](Size o) __attribute__((always_inline)) {
    return tap_sum<Vec<T>>(t, t.start[o], t.start[o + 1], [strip](Size k) { return load(strip + k * L); });
  };
  Size o = 0;
  for (; o + L <= out; o += L) {
    for (Size r = 0; r < L; ++r) v[r] = output(o + r);
    transpose(v);
    for (Size r = 0; r < L; ++r) store(dst + r * out + o, v[r]);
  }
  for (; o < out; ++o) {
    const Vec<T> s = output(o);
    for (Size r = 0; r < L; ++r) dst[r * out + o] = s[r];
  }
}

// Innermost axis, rows [r0, r1).
template <class T>
void inner_pass(const AxisRows<T>& t, const Pattern<T>& pattern, const T* src, T* dst, int64_t r0, int64_t r1,
                T* strip) {
  int64_t r = r0;
  if (pattern.kind != Pattern<T>::Kind::none) {
    const Size outputs = pattern.kind == Pattern<T>::Kind::doubles ? 2 : 1;
    const T* from = src + r * t.in;
    T* to = dst + r * t.out;
    const Size rows = static_cast<Size>(r1 - r0), out = static_cast<Size>(t.out);
    for (Size i = 0; i < rows; ++i) pattern_row(pattern, from + i * t.in, to + i * out);
    scalar_columns(t, from, to, 0, outputs * pattern.begin, rows);
    scalar_columns(t, from, to, outputs * pattern.end, out, rows);
    return;
  }
  if (t.in <= kMaxStripLength) {
    for (; r + kLanes<T> <= r1; r += kLanes<T>) strip_rows(t, src + r * t.in, dst + r * t.out, strip);
  }
  for (; r < r1; ++r) scalar_row(t, src + r * t.in, dst + r * t.out, 0, t.out);
}

template <class T>
void outer_pass(const AxisRows<T>& t, const T* src, T* dst, int64_t outer, int64_t inner) {
  for (int64_t a = 0; a < outer; ++a, src += t.in * inner, dst += t.out * inner) {
    for (int64_t o = 0; o < t.out;) {
      if (are_pair(t, o, 2)) {
        combine_pair<2>(t, o, src, inner, dst);
        o += 2;
      } else if (kManyPaths<T> && are_pair(t, o, 4)) {
        if constexpr (kManyPaths<T>) combine_pair<4>(t, o, src, inner, dst);
        o += 2;
      } else {
        combine(t, o++, src, inner, 0, inner, dst);
      }
    }
  }
}

// A pass over everything, its rows shared out: for few planes.
template <class T>
void wide_pass(const AxisRows<T>& t, const Pattern<T>& pattern, const T* src, T* dst, int64_t outer,
               int64_t inner, T* strips, int64_t strip) {
  const int64_t work = std::max<int64_t>(1, outer * inner * std::max<int64_t>(t.start[t.out], t.out));
  const int64_t chunks = std::clamp<int64_t>(work / kChunkWork, 1, kMaxChunks);
  if (inner == 1 && outer >= kLanes<T> && t.in <= kMaxStripLength) {
    int64_t grain = (outer + chunks - 1) / chunks;
    grain = (grain + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
    parallel::parallel_for(outer, grain, [&, grain](int64_t begin, int64_t end) {
      inner_pass(t, pattern, src, dst, begin, end, strips + begin / grain * strip);
    });
    return;
  }
  const int64_t length = inner == 1 ? t.out : inner;
  const int64_t blocks = (length + kInnerBlock - 1) / kInnerBlock;
  const int64_t units = outer * blocks * (inner == 1 ? 1 : t.out);
  parallel::parallel_for(units, (units + chunks - 1) / chunks, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t row = u / blocks, lo = u % blocks * kInnerBlock, hi = std::min(length, lo + kInnerBlock);
      if (inner == 1) {
        scalar_row(t, src + row * t.in, dst + row * t.out, lo, hi);
      } else {
        const int64_t a = row / t.out;
        combine(t, row % t.out, src + a * t.in * inner, inner, lo, hi, dst + a * t.out * inner);
      }
    }
  });
}

}  // namespace

template <class T>
size_t resample_workspace(int64_t planes, int rank, const AxisRows<T>* axes) {
  const Plan<T> p = make_plan(rank, axes);
  const Split s = make_split(planes, p);
  const int64_t temps = aligned(p.temp * s.group) * temp_buffers(p.passes) * (s.by_plane ? s.chunks : 1);
  return static_cast<size_t>(temps + aligned(p.strip) * s.chunks) * sizeof(T);
}

template <class T>
void resample(int64_t planes, int rank, const AxisRows<T>* axes, const T* x, T* y, void* workspace) {
  const Plan<T> p = make_plan(rank, axes);
  if (planes == 0 || p.out_plane == 0) return;
  if (p.passes == 0) {
    std::memcpy(y, x, static_cast<size_t>(planes * p.in_plane) * sizeof(T));
    return;
  }
  const Split s = make_split(planes, p);
  const int64_t temp = aligned(p.temp * s.group), strip = aligned(p.strip);
  T* scratch = static_cast<T*>(workspace);

  if (!s.by_plane) {
    T* strips = scratch + temp * temp_buffers(p.passes);
    const T* src = x;
    for (int i = 0; i < p.passes; ++i) {
      T* dst = i + 1 == p.passes ? y : scratch + (i & 1) * temp;
      wide_pass(axes[p.axis[i]], p.pattern, src, dst, planes * p.outer[i], p.inner[i], strips, strip);
      src = dst;
    }
    return;
  }

  const int64_t slot = temp * temp_buffers(p.passes) + strip;
  parallel::parallel_for(planes, s.grain, [&](int64_t begin, int64_t end) {
    T* temps = scratch + begin / s.grain * slot;
    T* strips = temps + temp * temp_buffers(p.passes);
    for (int64_t at = begin; at < end; at += s.group) {
      const int64_t count = std::min(s.group, end - at);
      const T* src = x + at * p.in_plane;
      for (int i = 0; i < p.passes; ++i) {
        T* dst = i + 1 == p.passes ? y + at * p.out_plane : temps + (i & 1) * temp;
        const AxisRows<T>& t = axes[p.axis[i]];
        if (p.inner[i] == 1) {
          inner_pass(t, p.pattern, src, dst, 0, count * p.outer[i], strips);
        } else {
          outer_pass(t, src, dst, count * p.outer[i], p.inner[i]);
        }
        src = dst;
      }
    }
  });
}

template size_t resample_workspace<float>(int64_t, int, const AxisRows<float>*);
template size_t resample_workspace<double>(int64_t, int, const AxisRows<double>*);
template void resample<float>(int64_t, int, const AxisRows<float>*, const float*, float*, void*);
template void resample<double>(int64_t, int, const AxisRows<double>*, const double*, double*, void*);

}  // namespace omnigrad::kernels
