// Convolution straight from the image, for depthwise and few channels, where packing panels costs more than
// the products: a band of image rows is copied once with its padding, columns of one phase of the stride side
// by side, and then every tap of a row of outputs is one unaligned vector load. Taps of axes before the last
// two choose whole planes, which count as channels. Private to the conv kernels.
#pragma once

#include "conv_gather.h"

namespace omnigrad::kernels {

// Output j of an axis reads source j * stride + tap * dilation - pad.
struct RowsAxis {
  int64_t source = 1, dest = 1, taps = 1, stride = 1, dilation = 1, pad = 0;
  int64_t reach() const { return (taps - 1) * dilation; }
};

struct RowsPlan {
  int64_t batch = 0, groups = 1;
  int64_t sources = 0, dests = 0;  // channels of a group
  RowsAxis h, w;
  int lead_axes = 0;
  RowsAxis lead[kMaxConvRank];  // those before h and w, flattened into planes
  int64_t source_planes = 1, dest_planes = 1, lead_taps = 1;
  bool folded = false;  // some leading axis has taps, padding or a stride; else planes feed themselves
  bool turned = false;  // taps count from the weight's end

  int64_t taps() const { return h.taps * w.taps; }  // in a plane
  int64_t kernel_taps() const { return lead_taps * taps(); }
  int64_t feeds() const { return sources * lead_taps; }  // planes that feed a plane of outputs
  int64_t depth() const { return sources * kernel_taps(); }
  int64_t source_plane(int64_t dest_plane, int64_t lead_tap) const;            // -1: padding
  int64_t source_size() const { return source_planes * h.source * w.source; }  // of a channel
  int64_t dest_size() const { return dest_planes * h.dest * w.dest; }
  int64_t work() const { return batch * groups * dests * depth() * dest_size(); }
};

RowsPlan rows_forward_plan(const ConvShape& s);
// False where there is a stride.
bool rows_input_grad_plan(const ConvShape& s, RowsPlan* p);
// Whether it is the faster way.
bool rows_pay(const RowsPlan& p, int lanes);
bool rows_weight_grad_pays(const RowsPlan& p);

// The padded copy of the rows that a band of outputs reads: [channel][leading tap][row][phase][pitch].
template <class T>
class RowsBand {
 public:
  explicit RowsBand(const RowsPlan& p);

  int64_t rows() const { return rows_; }  // of outputs
  int64_t bands() const { return ceil_div(p_.h.dest, rows_); }
  // A tile that begins after three vectors of three lines reads past its line, past the last one too.
  int64_t elements() const { return p_.feeds() * plane_step_ + kTileCols<T>; }
  int64_t row_step() const { return p_.h.stride * line_step_; }  // from one row of outputs to the next
  // Where (channel, leading tap, tap) of output 0 lies: depth() of them.
  void offsets(int32_t* out) const;
  // What band `band` of plane `dest_plane` of the outputs reads; `image` is channel 0.
  void fill(const T* image, int64_t dest_plane, int64_t band, T* out) const;

 private:
  void fill_plane(const T* plane, int64_t band, T* out) const;
  void fill_line(const T* source, T* out) const;

  const RowsPlan& p_;
  int64_t pitch_, line_step_, rows_, lines_, plane_step_;
};

template <class T>
size_t rows_product_workspace(const RowsPlan& p);
// Taps (dest, source) of the weight, kernel_taps() in a row, lie at dest and source steps within a group.
template <class T>
void rows_product(const RowsPlan& p, const T* source, const T* weight, int64_t dest_step, int64_t source_step,
                  const T* bias, T* dest, void* workspace) noexcept;

template <class T>
size_t rows_weight_grad_workspace(const RowsPlan& p);
template <class T>
void rows_weight_grad(const RowsPlan& p, const T* gy, const T* x, T* gw, void* workspace) noexcept;

// Depthwise 3x3 with unit stride has kernels of its own (conv_depthwise.cpp), which copy nothing but the
// sides.
bool depthwise_fits(const RowsPlan& p);
bool depthwise_weight_grad_fits(const RowsPlan& p);
template <class T>
size_t depthwise_workspace(const RowsPlan& p);  // of either
template <class T>
void depthwise_product(const RowsPlan& p, const T* source, const T* weight, const T* bias, T* dest,
                       void* workspace) noexcept;
template <class T>
void depthwise_weight_grad(const RowsPlan& p, const T* gy, const T* x, T* gw, void* workspace) noexcept;

}  // namespace omnigrad::kernels
