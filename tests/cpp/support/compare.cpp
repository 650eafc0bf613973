#include "compare.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace omnigrad::test {

namespace {
// Contiguous, halves as float32.
Tensor plain(const Tensor& t) {
  if (!is_half(t.dtype())) return t.contiguous();
  Tensor out = Tensor::empty(t.shape(), DType::float32);
  out.assign(t);
  return out;
}
}  // namespace

double element(const Tensor& t, int64_t i) {
  return visit_dtype(t.dtype(), [&]<class T>() { return static_cast<double>(t.data<T>()[i]); });
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const Tensor x = plain(a), y = plain(b);
  return visit_dtype(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T u = x.data<T>()[i], v = y.data<T>()[i];
      if (u != u && v != v) continue;
      if (std::memcmp(&u, &v, sizeof(T)) != 0) return false;
    }
    return true;
  });
}
bool same_bits(const TensorList& a, const TensorList& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_bits(a[i], b[i])) return false;
  }
  return true;
}

double relative_difference(const Tensor& a, const Tensor& b) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (a.defined() != b.defined()) return infinite;
  if (!a.defined()) return 0;
  if (!(a.shape() == b.shape())) return infinite;
  const Tensor x = plain(a), y = plain(b);
  double worst = 0, scale = 1;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double u = element(x, i), v = element(y, i);
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    if (!std::isfinite(u) || !std::isfinite(v)) return infinite;
    worst = std::max(worst, std::abs(u - v));
    scale = std::max(scale, std::abs(v));
  }
  return worst / scale;
}

bool all_finite(const Tensor& t) {
  const Tensor x = plain(t);
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!std::isfinite(element(x, i))) return false;
  }
  return true;
}

std::string values(const Tensor& t) {
  if (!t.defined()) return "none";
  const Tensor x = plain(t);
  std::string s = text(x.shape()) + " {";
  for (int64_t i = 0; i < x.numel() && i < 12; ++i) s += (i ? ", " : "") + text(element(x, i));
  return s + (x.numel() > 12 ? ", ...}" : "}");
}

Tensor copy_of(const Tensor& t) {
  Tensor out = Tensor::empty(t.shape(), t.dtype());
  out.assign(t);
  return out;
}

Tensor with_layout(const Tensor& t, Layout layout) {
  const size_t rank = t.shape().size();
  if (rank == 0 || t.numel() == 0) return copy_of(t);
  Dims shape = t.shape(), strides(rank);
  int64_t offset = 0, elements = 1;
  if (layout == Layout::permuted) {  // the first axis is the fastest
    for (size_t i = 0; i < rank; ++i) {
      strides[i] = elements;
      elements *= shape[i];
    }
  } else {  // every second element of a tensor with a margin; backwards on the first axis if flipped
    for (size_t i = rank; i-- > 0;) {
      strides[i] = 2 * elements;
      offset += elements;
      elements *= 2 * shape[i] + 1;
    }
    if (layout == Layout::flipped) {
      offset += (shape[0] - 1) * strides[0];
      strides[0] = -strides[0];
    }
  }
  Tensor base = Tensor::zeros({elements}, t.dtype());
  std::memset(base.raw(), 1, static_cast<size_t>(elements) * size_of(t.dtype()));
  Tensor view = base.as_strided(shape, strides, offset);
  view.assign(t);
  return view;
}

Tensor stride_zero(const Tensor& t, int64_t dim) {
  Dims strides = contiguous_strides(t.shape());
  strides[static_cast<size_t>(dim)] = 0;
  return copy_of(t).as_strided(t.shape(), strides, 0);
}

Tensor overlapping(const Tensor& t) { return copy_of(t).as_strided(t.shape(), Dims(t.shape().size(), 1), 0); }

}  // namespace omnigrad::test
