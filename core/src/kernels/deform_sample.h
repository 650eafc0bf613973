// What the forward and the gradient kernels of deformable convolution share: the channels-last copy of the
// input and the corners and weights of one sample. Private to deform_conv*.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/deform_conv.h"
#include "kernels/microkernel.h"
#include "kernels/simd.h"

namespace omnigrad::kernels {

// Hands out consecutive parts of a workspace; from null it only counts the bytes.
class Carver {
 public:
  explicit Carver(void* start) : start_(static_cast<char*>(start)) {}
  template <class T>
  T* take(int64_t count) {
    T* p = start_ ? reinterpret_cast<T*>(start_ + used_) : nullptr;
    used_ += static_cast<size_t>(round_up(count * static_cast<int64_t>(sizeof(T)), 64));
    return p;
  }
  size_t used() const { return used_; }

 private:
  char* start_;
  size_t used_ = 0;
};

// A run of channels that share an offset group and, unless depthwise, a weight group. In the channels-last
// copy each segment starts at a whole vector (`slot`) and is padded with zeros to one, so that its last
// vector needs no special load.
struct Segment {
  int64_t begin = 0, end = 0, slot = 0;
};

template <class T>
class Segments {
 public:
  explicit Segments(const DeformConvSizes& s)
      : channels_(s.channels),
        per_offset_(s.channels / s.offset_groups),
        per_group_(s.depthwise() ? s.channels : s.channels / s.groups) {}
  Segment first() const { return at(0, 0); }
  Segment after(const Segment& s) const { return at(s.end, s.slot + round_up(s.end - s.begin, kLanes<T>)); }
  bool valid(const Segment& s) const { return s.begin < channels_; }
  int64_t slots() const {
    Segment s = first();
    while (valid(s)) s = after(s);
    return s.slot;
  }

 private:
  Segment at(int64_t begin, int64_t slot) const {
    const int64_t next_offset = (begin / per_offset_ + 1) * per_offset_,
                  next_group = (begin / per_group_ + 1) * per_group_;
    return {begin, std::min(next_offset, next_group), slot};
  }
  int64_t channels_, per_offset_, per_group_;
};

// x [batch, channels, pixels] to [batch, pixels + 1, slots]; the last pixel is zero: corners outside read it,
// so that they count as 0 even beside an infinity.
template <class T>
void to_channels_last(const DeformConvSizes& sizes, const T* x, T* xt) noexcept;

// Corners and weights of one sample; Slopes: with the derivatives of the weights to each coordinate.
template <class T, int R>
struct Sample {
  static constexpr int kCorners = 1 << R;
  ptrdiff_t pixel[kCorners];
  T weight[kCorners];
  T slope[R][kCorners];
};

template <class T, int R>
struct SampleSpace {
  ptrdiff_t size[R], stride[R];  // of an axis, in pixels
  ptrdiff_t outside;             // the zero pixel

  explicit SampleSpace(const DeformConvSizes& s) {
    outside = 1;
    for (int i = R - 1; i >= 0; --i) {
      size[i] = static_cast<ptrdiff_t>(s.size[i]);
      stride[i] = outside;
      outside *= size[i];
    }
  }

  template <bool kSlopes>
  void sample(const T (&at)[R], Sample<T, R>& s) const {
    constexpr int kCorners = 1 << R;
    bool inside = true;
    for (int i = 0; i < R; ++i) inside = inside && at[i] > T(-1) && at[i] < static_cast<T>(size[i]);
    if (!inside) {  // NaN coordinates end here too
      for (int k = 0; k < kCorners; ++k) {
        s.pixel[k] = outside;
        s.weight[k] = 0;
        if constexpr (kSlopes)
          for (int i = 0; i < R; ++i) s.slope[i][k] = 0;
      }
      return;
    }
    T part[R][2];
    ptrdiff_t place[R][2];
    bool exists[R][2];
    for (int i = 0; i < R; ++i) {
      const T low = std::floor(at[i]);
      part[i][1] = at[i] - low;
      part[i][0] = T(1) - part[i][1];
      const ptrdiff_t index = static_cast<ptrdiff_t>(low);
      exists[i][0] = index >= 0;
      exists[i][1] = index + 1 < size[i];
      place[i][0] = index * stride[i];
      place[i][1] = place[i][0] + stride[i];
    }
    for (int k = 0; k < kCorners; ++k) {
      bool real = true;
      ptrdiff_t index = 0;
      T weight = 1;
      for (int i = 0; i < R; ++i) {
        const int bit = (k >> (R - 1 - i)) & 1;
        real = real && exists[i][bit];
        index += place[i][bit];
        weight = i == 0 ? part[i][bit] : weight * part[i][bit];
      }
      s.pixel[k] = real ? index : outside;
      s.weight[k] = real ? weight : T(0);
      if constexpr (kSlopes) {
        for (int i = 0; i < R; ++i) {
          T slope = (k >> (R - 1 - i)) & 1 ? T(1) : T(-1);
          for (int j = 0; j < R; ++j)
            if (j != i) slope *= part[j][(k >> (R - 1 - j)) & 1];
          s.slope[i][k] = real ? slope : T(0);
        }
      }
    }
  }
};

// Undeformed coordinates: a tap samples at origin of the position + reach of the tap + offset.
template <int R>
void position_origin(const DeformConvSizes& s, int64_t position, int (&origin)[R]) {
  for (int i = R - 1; i >= 0; --i) {
    origin[i] = static_cast<int>(position % s.out[i] * s.stride[i] - s.padding[i]);
    position /= s.out[i];
  }
}
template <int R>
void tap_reach(const DeformConvSizes& s, int64_t tap, int (&reach)[R]) {
  for (int i = R - 1; i >= 0; --i) {
    reach[i] = static_cast<int>(tap % s.kernel[i] * s.dilation[i]);
    tap /= s.kernel[i];
  }
}

}  // namespace omnigrad::kernels
