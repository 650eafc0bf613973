// A column of the lattice has, for each j, a blank state before label j and the state of label j (none after
// the last): blank_j <- blank_j, label_{j-1}; label_j <- label_j, blank_j, and label_{j-1} if another class.
// Only the band of states that lies on some whole path is computed. The gradient walks back in time beside
// the forward columns, which are kept, or, where they would not fit, recomputed in segments.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/extended.h"
#include "kernels/lattice.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

constexpr int64_t kWave = 16;               // samples in flight, each with a workspace of its own
constexpr int64_t kKeptBytes = 1 << 20;     // of forward columns in one sample
constexpr int64_t kFront = 2, kBehind = 6;  // cells of padding around the states

struct Layout {
  int64_t width, row, columns, segments, segment, classes, slots;
  Layout(const CtcBatch& b, bool grad)
      : width((kFront + b.longest + 1 + kBehind + 1) / 2 * 2), row(4 * width), classes(b.classes) {
    slots = (b.longest < b.classes ? b.longest : b.classes) + 4;
    segment = std::max<int64_t>(1, b.time);
    if (grad && b.time * row * 8 > kKeptBytes) {
      segment = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(b.time))));
    }
    segments = (b.time + segment - 1) / segment;
    columns = grad ? segments + segment + 2 : 2;
  }
  // Doubles, and int64s of the same size.
  int64_t doubles() const { return (columns + 1) * row + 6 * width + 5 * slots + classes + 8; }
};

struct Row {
  double *bm, *be, *am, *ae;
  Row(double* at, int64_t width) : bm(at + kFront), be(bm + width), am(be + width), ae(am + width) {}
};

class Sample {
 public:
  Sample(const CtcBatch& b, const Layout& layout, int64_t n, Values log_probs, double* workspace)
      : b_(b), l_(layout), n_(n), time_(b.input_lengths[n]), labels_(b.target_lengths[n]), x_(log_probs) {
    const int64_t w = l_.width;
    rows_ = workspace, skip_ = rows_ + (l_.columns + 1) * l_.row + kFront, pm_ = skip_ + w, pe_ = pm_ + w;
    raw_ = pe_ + w, tm_ = raw_ + l_.slots, te_ = tm_ + l_.slots, total_ = te_ + l_.slots;
    class_of_ = reinterpret_cast<int64_t*>(total_ + l_.slots);
    slot_ = class_of_ + l_.slots, slot_of_ = slot_ + w;
    index_labels();
  }

  // Minus the logarithm of the target's probability.
  double loss() {
    if (!possible()) return std::numeric_limits<double>::infinity();
    fill(0, l_.width), fill(1, l_.width);
    start(0);
    for (int64_t t = 0; t < time_; ++t) step(row(t % 2), row((t + 1) % 2), t);
    const Extended p = last(row(time_ % 2));
    return -(std::log(p.m[0]) + p.e[0] * 0.6931471805599453);
  }

  void gradient(double g, Values grad) {
    const int64_t segments = (time_ + l_.segment - 1) / l_.segment;
    if (!possible() || segments == 0) return;
    // Columns: before each segment, then the segment's, then two of the walk back.
    const int64_t kept = l_.segments, back = kept + l_.segment;
    fill(0, l_.width);
    start(0);
    for (int64_t i = kept; i < back; ++i) fill(i, kFront);
    for (int64_t s = 0; s < segments; ++s) {
      const int64_t end = run_segment(s, kept);
      if (s + 1 < segments) {
        std::memcpy(rows_ + (s + 1) * l_.row, rows_ + end * l_.row, static_cast<size_t>(l_.row) * 8);
      }
    }
    const Extended p = last(row(kept + (time_ - 1) % l_.segment));
    if (p.m[0] == 0) return;
    fill(back, l_.width), fill(back + 1, l_.width);
    Row first = row(back + time_ % 2);
    first.bm[labels_] = 1, first.be[labels_] = 0;
    for (int64_t s = segments - 1; s >= 0; --s) {
      if (s + 1 < segments) run_segment(s, kept);
      const int64_t begin = s * l_.segment;
      for (int64_t t = std::min(time_, begin + l_.segment) - 1; t >= begin; --t) {
        step_back(row(back + (t + 1) % 2), row(back + t % 2), row(kept + t - begin), p, t);
        const int64_t at = (t * b_.batch + n_) * b_.classes;
        for (int64_t u = 0; u < used_; ++u) grad.set(at + class_of_[u], -g * total_[u]);
      }
    }
  }

 private:
  bool possible() const { return time_ >= least_; }
  Row row(int64_t i) const { return Row(rows_ + i * l_.row, l_.width); }
  // Nothing in the padding before a column, and in its cells up to `count`.
  void fill(int64_t i, int64_t count) {
    double* at = rows_ + i * l_.row;
    for (int part = 0; part < 4; ++part)
      for (int64_t j = 0; j < count; ++j) at[part * l_.width + j] = part % 2 ? kNothing : 0;
  }
  void start(int64_t i) { row(i).bm[0] = 1, row(i).be[0] = 0; }

  // The classes that occur, blank first, each in a slot of its own.
  void index_labels() {
    const int64_t* label = b_.labels + b_.start[n_];
    for (int64_t c = 0; c < b_.classes; ++c) slot_of_[c] = -1;
    used_ = 1;
    class_of_[0] = b_.blank;
    least_ = labels_;
    for (int64_t j = -kFront; j < l_.width - kFront; ++j) skip_[j] = kNothing;
    for (int64_t j = 0; j < labels_; ++j) {
      int64_t& slot = slot_of_[label[j]];
      if (slot < 0) {
        slot = used_++;
        class_of_[slot] = label[j];
      }
      slot_[j] = slot;
      const bool repeated = j > 0 && label[j] == label[j - 1];
      if (j > 0 && !repeated) skip_[j] = 0;
      least_ += repeated;
    }
    for (int64_t j = labels_; j < labels_ + 4; ++j) slot_[j] = used_, pm_[j] = 0, pe_[j] = kNothing;
  }

  int64_t low(int64_t t) const { return std::max<int64_t>(0, labels_ - (time_ - t)); }
  int64_t high(int64_t t) const { return std::min(labels_, t) + 1; }

  // The probabilities of step t, by slot and for the labels in [lo, hi).
  Extended emissions(int64_t t, int64_t lo, int64_t hi) {
    const int64_t at = (t * b_.batch + n_) * b_.classes;
    for (int64_t u = 0; u < used_; ++u) raw_[u] = x_[at + class_of_[u]];
    raw_[used_] = 0;
    for (int64_t u = 0; u < used_; u += 2) store_extended(tm_ + u, te_ + u, extended_exp(load(raw_ + u)));
    for (int64_t j = lo, end = std::min(hi + 1, labels_); j < end; ++j) {
      pm_[j] = tm_[slot_[j]], pe_[j] = te_[slot_[j]];
    }
    return {splat(tm_[0]), splat(te_[0])};
  }

  void step(const Row& from, const Row& to, int64_t t) {
    const int64_t lo = low(t), hi = high(t);
    const Extended blank = emissions(t, lo, hi);
    int64_t j = lo;
    for (; j < hi; j += 2) {
      const Extended b = load_extended(from.bm + j, from.be + j), a = load_extended(from.am + j, from.ae + j);
      Extended before = load_extended(from.am + j - 1, from.ae + j - 1);
      store_extended(to.bm + j, to.be + j, normalized(product(sum(b, before), blank)));
      before.e += load(skip_ + j);
      store_extended(to.am + j, to.ae + j,
                     normalized(product(sum(a, b, before), load_extended(pm_ + j, pe_ + j))));
    }
    // The next step reads beyond the band.
    const Extended nothing{splat(0.0), splat(kNothing)};
    store_extended(to.bm + j, to.be + j, nothing);
    store_extended(to.am + j, to.ae + j, nothing);
  }

  Extended last(const Row& r) const {
    const Extended b = load_extended(r.bm + labels_, r.be + labels_),
                   a = load_extended(r.am + labels_ - 1, r.ae + labels_ - 1);
    return sum(b, a);
  }

  // Fills the columns of segment s; which one is the last.
  int64_t run_segment(int64_t s, int64_t kept) {
    const int64_t begin = s * l_.segment, end = std::min(time_, begin + l_.segment);
    for (int64_t t = begin; t < end; ++t) {
      step(row(t == begin ? s : kept + t - begin - 1), row(kept + t - begin), t);
    }
    return kept + end - begin - 1;
  }

  // From the paths after step t + 1, that step included, to those after step t; adds up by class how much of
  // all paths goes through each at step t.
  void step_back(const Row& from, const Row& to, const Row& forward, const Extended& p, int64_t t) {
    const int64_t lo = low(t), hi = high(t);
    const Extended blank = emissions(t, lo, hi);
    const f64x2 scale = splat(1.0 / p.m[0]), exponent = splat(p.e[0]);
    const auto share = [&](const Extended& before, const Extended& after) {
      return before.m * after.m * power_of_two(before.e + after.e - exponent) * scale;
    };
    for (int64_t u = 0; u <= used_; ++u) total_[u] = 0;
    f64x2 blanks = splat(0.0);
    for (int64_t j = lo; j < hi; j += 2) {
      const Extended b = load_extended(from.bm + j, from.be + j), a = load_extended(from.am + j, from.ae + j),
                     b1 = load_extended(from.bm + j + 1, from.be + j + 1);
      Extended a1 = load_extended(from.am + j + 1, from.ae + j + 1);
      a1.e += load(skip_ + j + 1);
      const Extended after_blank = sum(b, a), after_label = sum(a, b1, a1);
      blanks += share(load_extended(forward.bm + j, forward.be + j), after_blank);
      const f64x2 label = share(load_extended(forward.am + j, forward.ae + j), after_label);
      total_[slot_[j]] += label[0];
      total_[slot_[j + 1]] += label[1];
      store_extended(to.bm + j, to.be + j, normalized(product(after_blank, blank)));
      store_extended(to.am + j, to.ae + j, normalized(product(after_label, load_extended(pm_ + j, pe_ + j))));
    }
    total_[0] += sum_lanes(blanks);
  }

  const CtcBatch& b_;
  const Layout& l_;
  const int64_t n_, time_, labels_;
  const Values x_;
  double *rows_, *skip_, *pm_, *pe_, *raw_, *tm_, *te_, *total_;
  int64_t *class_of_, *slot_, *slot_of_;
  int64_t used_ = 0, least_ = 0;
};

// body(sample index, its workspace) for all samples, a wave at a time.
template <class Body>
void each_sample(const CtcBatch& b, const Layout& layout, void* workspace, const Body& body) {
  for (int64_t first = 0; first < b.batch; first += kWave) {
    parallel::parallel_for(std::min(kWave, b.batch - first), 1, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i)
        body(first + i, static_cast<double*>(workspace) + i * layout.doubles());
    });
  }
}

}  // namespace

size_t ctc_workspace(const CtcBatch& b, bool grad) {
  return static_cast<size_t>(Layout(b, grad).doubles() * std::min(b.batch, kWave)) * sizeof(double);
}

void ctc_loss(const CtcBatch& b, Values log_probs, Values loss, void* workspace) noexcept {
  const Layout layout(b, false);
  each_sample(b, layout, workspace, [&](int64_t n, double* at) {
    Sample sample(b, layout, n, log_probs, at);
    loss.set(n, sample.loss());
  });
}

void ctc_loss_grad(const CtcBatch& b, Values log_probs, Values g, Values grad, void* workspace) noexcept {
  const Layout layout(b, true);
  each_sample(b, layout, workspace, [&](int64_t n, double* at) {
    for (int64_t t = 0; t < b.time; ++t) grad.clear((t * b.batch + n) * b.classes, b.classes);
    Sample(b, layout, n, log_probs, at).gradient(g[n], grad);
  });
}

}  // namespace omnigrad::kernels
