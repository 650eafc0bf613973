#include "kernels/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/strided.h"

namespace omnigrad::kernels {
namespace {

using Mode = GridSampling::Mode;
using Padding = GridSampling::Padding;

constexpr int kSlots = 512;  // taps of a block of points

// Brings a coordinate in pixels into the image as the padding says; returns the derivative of what it
// becomes. NaN becomes 0.
double place(const GridSampling& s, double size, double& at) {
  if (s.padding == Padding::zeros) return 1;
  double slope = 1;
  if (s.padding == Padding::reflection) {
    const double low = s.align_corners ? 0 : -0.5, span = s.align_corners ? size - 1 : size;
    double from = at - low;
    if (from < 0) {
      from = -from;
      slope = -1;
    }
    const double rest = span > 0 ? std::fmod(from, span) : 0;
    if (span > 0 && std::fmod(std::floor(from / span), 2) == 1) {
      at = span - rest + low;
      slope = -slope;
    } else {
      at = rest + low;
    }
  }
  if (at > 0 && at < size - 1) return slope;
  at = at > 0 ? size - 1 : 0;
  return 0;
}

// The `order`th derivative of c[0] + c[1] d + c[2] d^2 + c[3] d^3.
double polynomial(const double (&c)[4], double d, int64_t order) {
  double value = 0;
  OMNIGRAD_SMALL_LOOP
  for (int64_t p = 3; p >= order; --p) {
    double factor = c[p];
    OMNIGRAD_SMALL_LOOP
    for (int64_t j = 0; j < order; ++j) factor *= static_cast<double>(p - j);
    value = value * d + factor;
  }
  return value;
}

// The weight of tap k at a fraction t between its second and third tap (cubic; a = -0.75), or first and
// second.
double weight_at(Mode mode, int k, double t, int64_t order) {
  if (mode == Mode::nearest) return order == 0;
  if (mode == Mode::bilinear) {
    if (order > 1) return 0;
    return k == 0 ? (order == 0 ? 1 - t : -1) : (order == 0 ? t : 1);
  }
  static constexpr double near[4] = {1, 0, -2.25, 1.25}, far[4] = {3, -6, 3.75, -0.75};
  const double sign = k >= 2 && order % 2 == 1 ? -1 : 1;
  const double distance = k == 0 ? 1 + t : k == 1 ? t : k == 2 ? 1 - t : 2 - t;
  return sign * polynomial(k == 1 || k == 2 ? near : far, distance, order);
}

int taps_of(Mode mode) { return mode == Mode::nearest ? 1 : mode == Mode::bilinear ? 2 : 4; }

// The pixels that a coordinate reads along one axis (-1: none there), with weights of order[axis] and of one
// more.
struct AxisTaps {
  ptrdiff_t index[4];
  double weight[2][4];
};
void axis_taps(const GridSampling& s, int axis, double given, bool slopes, AxisTaps& taps) {
  const double size = static_cast<double>(s.size[axis]);
  const double scale = s.align_corners ? (size - 1) / 2 : size / 2;
  double at = s.align_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
  const double slope = s.mode == Mode::bicubic ? scale : scale * place(s, size, at);
  const double low = s.mode == Mode::nearest ? std::nearbyint(at) : std::floor(at);
  OMNIGRAD_SMALL_LOOP
  for (int k = 0; k < taps_of(s.mode); ++k) {
    double pixel = low + k;
    if (s.mode == Mode::bicubic) {
      pixel -= 1;
      place(s, size, pixel);
    }
    taps.index[k] = pixel >= 0 && pixel < size ? static_cast<ptrdiff_t>(pixel) : -1;
    OMNIGRAD_SMALL_LOOP
    for (int more = 0; more <= static_cast<int>(slopes); ++more) {
      double w = weight_at(s.mode, k, at - low, s.order[axis] + more);
      OMNIGRAD_SMALL_LOOP
      for (int64_t i = 0; i < s.order[axis] + more; ++i) w *= slope;
      taps.weight[more][k] = w;
    }
  }
}

// A run of points of one image with the taps of each: where they lie in a plane (-1: outside) and their
// weights.
struct Block {
  explicit Block(const GridSampling& s) : s(s) {
    OMNIGRAD_SMALL_LOOP
    for (int i = 0; i < s.rank; ++i) {
      taps *= taps_of(s.mode);
      pixels *= s.size[i];
    }
    most = kSlots / std::max(taps, s.rank);
    blocks = (s.points + most - 1) / most;
  }
  // Weights of the derivative `order`; or, with slopes, for each axis those of one order more along it.
  template <class T>
  void load(const T* grid, int64_t of_image, int64_t number, bool slopes) {
    image = of_image;
    first = number * most;
    count = static_cast<int>(std::min<int64_t>(most, s.points - first));
    grid += (image * s.points + first) * s.rank;
    OMNIGRAD_SMALL_LOOP
    for (int p = 0; p < count; ++p) {
      double at[3];
      OMNIGRAD_SMALL_LOOP
      for (int i = 0; i < s.rank; ++i) at[i] = static_cast<double>(grid[p * s.rank + s.rank - 1 - i]);
      point(p, at, slopes);
    }
  }

  const GridSampling& s;
  int taps = 1, most, count = 0;
  int64_t pixels = 1, blocks, image = 0, first = 0;
  ptrdiff_t index[kSlots];
  double weight[3][kSlots];

 private:
  void point(int p, const double* at, bool slopes) {
    AxisTaps axes[3];
    OMNIGRAD_SMALL_LOOP
    for (int i = 0; i < s.rank; ++i) axis_taps(s, i, at[i], slopes, axes[i]);
    OMNIGRAD_SMALL_LOOP
    for (int t = 0; t < taps; ++t) {
      int digit[3];
      OMNIGRAD_SMALL_LOOP
      for (int i = s.rank - 1, rest = t; i >= 0; rest /= taps_of(s.mode), --i)
        digit[i] = rest % taps_of(s.mode);
      ptrdiff_t place = 0;
      bool inside = true;
      OMNIGRAD_SMALL_LOOP
      for (int i = 0; i < s.rank; ++i) {
        const ptrdiff_t j = axes[i].index[digit[i]];
        inside = inside && j >= 0;
        place = place * static_cast<ptrdiff_t>(s.size[i]) + j;
      }
      index[p * taps + t] = inside ? place : -1;
      OMNIGRAD_SMALL_LOOP
      for (int set = 0; set < (slopes ? s.rank : 1); ++set) {
        double w = 1;
        OMNIGRAD_SMALL_LOOP
        for (int i = 0; i < s.rank; ++i) w *= axes[i].weight[slopes && i == set][digit[i]];
        weight[set][p * taps + t] = w;
      }
    }
  }
};

}  // namespace

template <class T>
void grid_read(const GridSampling& s, const T* x, const T* grid, T* y) noexcept {
  parallel::parallel_for(s.batch * Block(s).blocks, 1, [&](int64_t begin, int64_t end) noexcept {
    Block b(s);
    for (int64_t n = begin; n < end; ++n) {
      b.load(grid, n / b.blocks, n % b.blocks, false);
      for (int64_t c = b.image * s.channels; c < (b.image + 1) * s.channels; ++c) {
        const T* from = x + c * b.pixels;
        T* to = y + c * s.points + b.first;
        for (int p = 0; p < b.count; ++p) {
          double sum = 0;
          for (int t = p * b.taps; t < (p + 1) * b.taps; ++t)
            if (b.index[t] >= 0) sum += b.weight[0][t] * static_cast<double>(from[b.index[t]]);
          to[p] = static_cast<T>(sum);
        }
      }
    }
  });
}

template <class T>
void grid_write(const GridSampling& s, const T* g, const T* grid, T* gx) noexcept {
  // Taps are computed once for a group of channels.
  const int64_t group = std::clamp<int64_t>(s.batch * s.channels / 16, 1, 8);
  const int64_t groups = (s.channels + group - 1) / group;
  parallel::parallel_for(s.batch * groups, 1, [&](int64_t begin, int64_t end) noexcept {
    Block b(s);
    for (int64_t n = begin; n < end; ++n) {
      const int64_t image = n / groups, first = n % groups * group;
      const int64_t c0 = image * s.channels + first,
                    c1 = image * s.channels + std::min(first + group, s.channels);
      std::fill(gx + c0 * b.pixels, gx + c1 * b.pixels, T(0));
      for (int64_t number = 0; number < b.blocks; ++number) {
        b.load(grid, image, number, false);
        for (int64_t c = c0; c < c1; ++c) {
          const T* from = g + c * s.points + b.first;
          T* to = gx + c * b.pixels;
          for (int p = 0; p < b.count; ++p) {
            const double v = static_cast<double>(from[p]);
            for (int t = p * b.taps; t < (p + 1) * b.taps; ++t)
              if (b.index[t] >= 0) to[b.index[t]] += static_cast<T>(b.weight[0][t] * v);
          }
        }
      }
    }
  });
}

template <class T>
void grid_slope(const GridSampling& s, const T* x, const T* grid, const T* g, T* ggrid) noexcept {
  parallel::parallel_for(s.batch * Block(s).blocks, 1, [&](int64_t begin, int64_t end) noexcept {
    Block b(s);
    double sums[kSlots];
    for (int64_t n = begin; n < end; ++n) {
      b.load(grid, n / b.blocks, n % b.blocks, true);
      std::fill_n(sums, b.count * s.rank, 0.0);
      for (int64_t c = b.image * s.channels; c < (b.image + 1) * s.channels; ++c) {
        const T* from = x + c * b.pixels;
        const T* cotangent = g + c * s.points + b.first;
        for (int p = 0; p < b.count; ++p) {
          const double v = static_cast<double>(cotangent[p]);
          for (int t = p * b.taps; t < (p + 1) * b.taps; ++t) {
            if (b.index[t] < 0) continue;
            const double gx = v * static_cast<double>(from[b.index[t]]);
            for (int i = 0; i < s.rank; ++i) sums[p * s.rank + i] += gx * b.weight[s.rank - 1 - i][t];
          }
        }
      }
      T* to = ggrid + (b.image * s.points + b.first) * s.rank;
      for (int i = 0; i < b.count * s.rank; ++i) to[i] = static_cast<T>(sums[i]);
    }
  });
}

#define OMNIGRAD_GRID_SAMPLE(T)                                                   \
  template void grid_read(const GridSampling&, const T*, const T*, T*) noexcept;  \
  template void grid_write(const GridSampling&, const T*, const T*, T*) noexcept; \
  template void grid_slope(const GridSampling&, const T*, const T*, const T*, T*) noexcept;
OMNIGRAD_GRID_SAMPLE(float)
OMNIGRAD_GRID_SAMPLE(double)

}  // namespace omnigrad::kernels
