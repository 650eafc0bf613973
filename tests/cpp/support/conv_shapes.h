// Shapes, numbers and the plain trilinear form that the tests of the convolution kernels share.
#pragma once

#include <string>
#include <vector>

#include "kernels/conv.h"

namespace omnigrad::kernels {

struct Axis {
  int64_t in, kernel, stride = 1, pad_lo = 0, pad_hi = 0, dilation = 1;
};

inline ConvShape make_shape(int64_t batch, int64_t in, int64_t out, int64_t groups,
                            const std::vector<Axis>& axes) {
  ConvShape s;
  s.rank = static_cast<int>(axes.size());
  s.batch = batch, s.in_channels = in, s.out_channels = out, s.groups = groups;
  for (int i = 0; i < s.rank; ++i) {
    const Axis& a = axes[i];
    s.in[i] = a.in, s.kernel[i] = a.kernel, s.stride[i] = a.stride, s.dilation[i] = a.dilation,
    s.pad[i] = a.pad_lo;
    const int64_t room = a.in + a.pad_lo + a.pad_hi - a.dilation * (a.kernel - 1) - 1;
    s.out[i] = room < 0 ? 0 : room / a.stride + 1;
  }
  return s;
}

inline std::string text(const ConvShape& s) {
  std::string r = "n" + std::to_string(s.batch) + " c" + std::to_string(s.in_channels) + " o" +
                  std::to_string(s.out_channels) + " g" + std::to_string(s.groups);
  for (int i = 0; i < s.rank; ++i)
    r += " [in " + std::to_string(s.in[i]) + " k " + std::to_string(s.kernel[i]) + " s " +
         std::to_string(s.stride[i]) + " p " + std::to_string(s.pad[i]) + " d " +
         std::to_string(s.dilation[i]) + " out " + std::to_string(s.out[i]) + "]";
  return r;
}

inline int64_t product(const int64_t* v, int n) {
  int64_t r = 1;
  for (int i = 0; i < n; ++i) r *= v[i];
  return r;
}

template <class T>
std::vector<T> numbers(int64_t n, uint32_t seed) {
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(static_cast<int32_t>(seed >> 8) - (1 << 23)) / (1 << 23);
  }
  return v;
}

// Calls use(x index, weight index, y index) for every term of the trilinear form.
template <class Use>
void for_terms(const ConvShape& s, Use&& use) {
  const int64_t in = product(s.in, s.rank), out = product(s.out, s.rank), taps = product(s.kernel, s.rank);
  const int64_t cg = s.in_channels / s.groups, og = s.out_channels / s.groups;
  for (int64_t p = 0; p < out; ++p)
    for (int64_t t = 0; t < taps; ++t) {
      int64_t rp = p, rt = t, at = 0, stride = 1;
      bool inside = true;
      for (int i = s.rank - 1; i >= 0; --i) {
        const int64_t q = rp % s.out[i] * s.stride[i] - s.pad[i] + rt % s.kernel[i] * s.dilation[i];
        inside &= q >= 0 && q < s.in[i];
        at += q * stride;
        stride *= s.in[i];
        rp /= s.out[i], rt /= s.kernel[i];
      }
      if (!inside) continue;
      for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t o = 0; o < s.out_channels; ++o)
          for (int64_t c = 0; c < cg; ++c)
            use((n * s.in_channels + o / og * cg + c) * in + at, (o * cg + c) * taps + t,
                (n * s.out_channels + o) * out + p);
    }
}

}  // namespace omnigrad::kernels
