// See resample_table.h.
#include "resample_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace omnigrad {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kCubic = -0.75;          // PyTorch's cubic
constexpr double kCubicAntialias = -0.5;  // Pillow's, which PyTorch uses when it antialiases

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Adds rows one after another.
class Builder {
 public:
  Builder(int64_t in, int64_t out) {
    t_.in = in;
    t_.out = out;
    t_.start.reserve(out + 1);
    t_.start.push_back(0);
  }
  // A tap outside the input goes to the border.
  void clamped(int64_t i, double w) { tap(std::clamp<int64_t>(i, 0, t_.in - 1), w); }
  // Taps of a row come in ascending order; a repeated index adds up.
  void tap(int64_t i, double w) {
    if (static_cast<int32_t>(t_.index.size()) > t_.start.back() && t_.index.back() == i) {
      t_.weight.back() += w;
    } else {
      t_.index.push_back(static_cast<int32_t>(i));
      t_.weight.push_back(w);
    }
  }
  void end_row() { t_.start.push_back(static_cast<int32_t>(t_.index.size())); }
  // Divides the taps of the row by their sum.
  void end_normalised_row() {
    double total = 0;
    for (size_t k = t_.start.back(); k < t_.weight.size(); ++k) total += t_.weight[k];
    for (size_t k = t_.start.back(); k < t_.weight.size(); ++k) t_.weight[k] /= total;
    end_row();
  }
  ResampleTable finish() {
    bool unit = t_.in == t_.out && static_cast<int64_t>(t_.index.size()) == t_.out;
    for (int64_t o = 0; unit && o < t_.out; ++o) {
      unit = t_.start[o] == o && t_.index[o] == o && t_.weight[o] == 1.0;
    }
    t_.identity = unit;
    return std::move(t_);
  }

 private:
  ResampleTable t_;
};

// A coordinate as a whole part and a fraction in [0, 1).
struct Position {
  int64_t whole;
  double fraction;
};

Position ratio(int64_t numerator, int64_t denominator) {
  const int64_t whole = floor_div(numerator, denominator);
  return {whole, static_cast<double>(numerator - whole * denominator) / static_cast<double>(denominator)};
}

// Where output o lies among the inputs.
Position position(const AxisOptions& a, int64_t o) {
  if (a.align_corners) return a.out > 1 ? ratio(o * (a.in - 1), a.out - 1) : Position{0, 0.0};
  if (a.scale <= 0) return ratio((2 * o + 1) * a.in - a.out, 2 * a.out);
  const double s = (static_cast<double>(o) + 0.5) / a.scale - 0.5;
  const double whole = std::floor(s);
  return {static_cast<int64_t>(whole), s - whole};
}

int64_t nearest(const AxisOptions& a, int64_t o) {
  const bool exact = a.mode == ResampleMode::nearest_exact;
  int64_t i;
  if (a.scale > 0) {
    i = static_cast<int64_t>(std::floor((static_cast<double>(o) + (exact ? 0.5 : 0.0)) / a.scale));
  } else {
    i = exact ? (2 * o + 1) * a.in / (2 * a.out) : o * a.in / a.out;
  }
  return std::min(i, a.in - 1);
}

double cubic_near(double u, double a) { return ((a + 2) * u - (a + 3)) * u * u + 1; }
double cubic_far(double u, double a) { return ((a * u - 5 * a) * u + 8 * a) * u - 4 * a; }

double lanczos(double u) {
  if (u == 0) return 1;
  if (std::fabs(u) >= 3) return 0;
  const double p = kPi * u;
  return std::sin(p) * std::sin(p / 3) / (p * p / 3);
}

// The filter that antialiasing stretches; its support is half_width(mode).
double filter(ResampleMode mode, double u) {
  u = std::fabs(u);
  if (mode == ResampleMode::lanczos3) return lanczos(u);
  if (mode == ResampleMode::linear) return u < 1 ? 1 - u : 0;
  return u < 1 ? cubic_near(u, kCubicAntialias) : u < 2 ? cubic_far(u, kCubicAntialias) : 0;
}
double half_width(ResampleMode mode) {
  return mode == ResampleMode::linear ? 1 : mode == ResampleMode::cubic ? 2 : 3;
}

void antialiased_row(Builder& b, const AxisOptions& a, int64_t o) {
  double step;  // input pixels an output pixel
  if (a.align_corners) {
    step = a.out > 1 ? static_cast<double>(a.in - 1) / static_cast<double>(a.out - 1) : 0.0;
  } else {
    step = a.scale > 0 ? 1 / a.scale : static_cast<double>(a.in) / static_cast<double>(a.out);
  }
  const double stretch = std::max(step, 1.0);
  const double support = half_width(a.mode) * stretch;
  const double center = step * (static_cast<double>(o) + 0.5);
  const int64_t lo = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
  const int64_t hi = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), a.in);
  for (int64_t i = lo; i < hi; ++i)
    b.tap(i, filter(a.mode, (static_cast<double>(i) - center + 0.5) / stretch));
  if (lo >= hi) b.tap(std::min(lo, a.in - 1), 1);  // a given scale may point past the end
  b.end_normalised_row();
}

void interpolated_row(Builder& b, const AxisOptions& a, int64_t o) {
  if (a.mode == ResampleMode::nearest || a.mode == ResampleMode::nearest_exact) {
    b.tap(nearest(a, o), 1);
    return b.end_row();
  }
  if (a.antialias) return antialiased_row(b, a, o);
  Position s = position(a, o);
  const double f = s.fraction;
  if (a.mode == ResampleMode::linear) {
    if (s.whole < 0) s = {0, 0.0};
    if (s.whole >= a.in - 1 || s.fraction == 0) {
      b.clamped(s.whole, 1);
    } else {
      b.tap(s.whole, 1 - f);
      b.tap(s.whole + 1, f);
    }
    return b.end_row();
  }
  if (a.mode == ResampleMode::cubic) {
    b.clamped(s.whole - 1, cubic_far(f + 1, kCubic));
    b.clamped(s.whole, cubic_near(f, kCubic));
    b.clamped(s.whole + 1, cubic_near(1 - f, kCubic));
    b.clamped(s.whole + 2, cubic_far(2 - f, kCubic));
    return b.end_row();
  }
  // lanczos3: six taps; those outside are left out and the rest made to sum to 1.
  const int64_t lo = std::clamp<int64_t>(s.whole - 2, 0, a.in - 1), hi = std::min(s.whole + 3, a.in - 1);
  for (int64_t i = lo; i <= hi; ++i) b.tap(i, lanczos(f - static_cast<double>(i - s.whole)));
  if (lo > hi) b.tap(a.in - 1, 1);
  b.end_normalised_row();
}

void averaged_row(Builder& b, const AxisOptions& a, int64_t o) {
  int64_t begin, end, count;
  if (a.mode == ResampleMode::adaptive) {
    begin = o * a.in / a.out;
    end = ((o + 1) * a.in + a.out - 1) / a.out;
    count = end - begin;
  } else {
    begin = o * a.stride - a.pad_lo;
    end = std::min(begin + a.kernel, a.in + a.pad_hi);
    count = end - begin;
    begin = std::max<int64_t>(begin, 0);
    end = std::min(end, a.in);
    if (!a.count_include_pad) count = end - begin;
  }
  const double w = 1 / (a.divisor > 0 ? a.divisor : static_cast<double>(count));
  for (int64_t i = begin; i < end; ++i) b.tap(i, w);
  b.end_row();
}

}  // namespace

ResampleTable resample_table(const AxisOptions& a) {
  Builder b(a.in, a.out);
  const bool average = a.mode == ResampleMode::average || a.mode == ResampleMode::adaptive;
  for (int64_t o = 0; o < a.out; ++o) average ? averaged_row(b, a, o) : interpolated_row(b, a, o);
  return b.finish();
}

ResampleTable transposed(const ResampleTable& t) {
  ResampleTable r;
  r.in = t.out;
  r.out = t.in;
  r.identity = t.identity;
  r.start.assign(t.in + 1, 0);
  r.index.resize(t.index.size());
  r.weight.resize(t.index.size());
  for (const int32_t i : t.index) ++r.start[i + 1];
  for (int64_t i = 0; i < t.in; ++i) r.start[i + 1] += r.start[i];
  std::vector<int32_t> next(r.start.begin(), r.start.end() - 1);
  for (int64_t o = 0; o < t.out; ++o) {
    for (int64_t k = t.start[o]; k < t.start[o + 1]; ++k) {
      const int32_t at = next[t.index[k]]++;
      r.index[at] = static_cast<int32_t>(o);
      r.weight[at] = t.weight[k];
    }
  }
  return r;
}

int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad_lo, int64_t pad_hi,
                    int64_t dilation, bool ceil_mode) {
  const int64_t span = in + pad_lo + pad_hi - dilation * (kernel - 1) - 1;
  int64_t out = floor_div(span + (ceil_mode ? stride - 1 : 0), stride) + 1;
  if (ceil_mode && (out - 1) * stride >= in + pad_lo) --out;
  return out;
}

}  // namespace omnigrad
