// Anti-diagonals of the lattice (time + labels constant) depend on the one before only, so neighbouring cells
// of one fill a vector. Cells outside it have probability 0.
#include <algorithm>
#include <cmath>

#include "kernels/extended.h"
#include "kernels/lattice.h"
#include "parallel/parallel.h"

namespace omnigrad::kernels {

namespace {

constexpr int64_t kWave = 16;  // samples in flight, each with a workspace of its own
constexpr int64_t kFront = 2;  // cells of padding before a diagonal
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Layout {
  int64_t width, diagonals;
  Layout(const TransducerBatch& b, bool grad)
      : width((kFront + b.labels + 7) / 2 * 2), diagonals(grad ? b.time + b.labels + 2 : 2) {}
  int64_t doubles() const { return (diagonals + 1) * 2 * width; }
};

class Sample {
 public:
  Sample(const TransducerBatch& b, const Layout& layout, int64_t n, Values blank, Values emit,
         double* workspace)
      : blank_(blank),
        emit_(emit),
        time_(b.input_lengths[n]),
        labels_(b.target_lengths[n]),
        blank_at_(n * b.time * (b.labels + 1)),
        emit_at_(n * b.time * b.labels),
        stride_(b.labels),
        width_(layout.width),
        rows_(workspace),
        going_on_(workspace + layout.diagonals * 2 * width_ + kFront),
        emitting_(going_on_ + width_) {}

  double loss() {
    const Extended p = forward(false);
    return -(std::log(p.m[0]) + p.e[0] * 0.6931471805599453);
  }

  void gradient(double g, Values gblank, Values gemit) {
    const Extended p = forward(true);
    if (p.m[0] == 0) return;
    // Diagonals d + 2 held the forward values of d; those of the walk back go to 0 and 1.
    fill(0), fill(1);
    const int64_t whole = time_ + labels_;
    m(whole % 2)[labels_] = 1, e(whole % 2)[labels_] = 0;
    const f64x2 scale = splat(g / p.m[0]), exponent = splat(p.e[0]);
    for (int64_t d = whole - 1; d >= 0; --d) {
      const int64_t lo = low(d), hi = high(d);
      const double *am = m(d + 2), *ae = e(d + 2), *fm = m((d + 1) % 2), *fe = e((d + 1) % 2);
      gather(d, lo, hi);
      for (int64_t u = lo; u <= hi; u += 2) {
        const Extended on = product(extended_exp(load(going_on_ + u)), load_extended(fm + u, fe + u)),
                       next =
                           product(extended_exp(load(emitting_ + u)), load_extended(fm + u + 1, fe + u + 1)),
                       before = load_extended(am + u, ae + u);
        const auto share = [&](const Extended& x) {
          return before.m * x.m * power_of_two(before.e + x.e - exponent) * scale;
        };
        const f64x2 a = share(on), b = share(next);
        for (int64_t lane = 0; lane < 2 && u + lane <= hi; ++lane) {
          const int64_t t = d - u - lane;
          gblank.set(blank_at_ + t * (stride_ + 1) + u + lane, -a[lane]);
          if (u + lane < labels_) gemit.set(emit_at_ + t * stride_ + u + lane, -b[lane]);
        }
        store_extended(m(d % 2) + u, e(d % 2) + u, normalized(sum(on, next)));
      }
    }
  }

 private:
  double* m(int64_t row) const { return rows_ + row * 2 * width_ + kFront; }
  double* e(int64_t row) const { return m(row) + width_; }
  void fill(int64_t row) {
    for (int64_t u = -kFront; u < width_ - kFront; ++u) m(row)[u] = 0, e(row)[u] = kNothing;
  }
  // Labels of the first and the last cell of a diagonal.
  int64_t low(int64_t d) const { return std::max<int64_t>(0, d - time_ + 1); }
  int64_t high(int64_t d) const { return std::min(labels_, d); }

  // What leaves the cells of diagonal d, and the neighbours that vectors reach.
  void gather(int64_t d, int64_t lo, int64_t hi) {
    for (int64_t u = lo - 1; u <= hi + 2; ++u) {
      const int64_t t = d - u;
      const bool inside = u >= 0 && u <= labels_ && t >= 0 && t < time_;
      going_on_[u] = inside ? blank_[blank_at_ + t * (stride_ + 1) + u] : kNever;
      emitting_[u] = inside && u < labels_ ? emit_[emit_at_ + t * stride_ + u] : kNever;
    }
  }

  // The probability of the target, in lane 0. Keeps every diagonal, d in row d + 2, or two.
  Extended forward(bool keep) {
    const auto row = [&](int64_t d) { return keep ? d + 2 : d % 2; };
    fill(row(0));
    if (!keep) fill(1);
    m(row(0))[0] = 1, e(row(0))[0] = 0;
    const int64_t whole = time_ + labels_;
    for (int64_t d = 1; d <= whole; ++d) {
      const int64_t from = row(d - 1), to = row(d), lo = low(d), hi = high(d);
      // One cell more: the last diagonal has the end only, which a blank leads to.
      gather(d - 1, d == whole ? labels_ : lo, hi);
      if (d == whole) {
        return product(load_extended(m(from) + labels_, e(from) + labels_),
                       extended_exp(load(going_on_ + labels_)));
      }
      if (keep) fill(to);
      for (int64_t u = lo; u <= hi; u += 2) {
        const Extended on = product(load_extended(m(from) + u, e(from) + u),
                                    extended_exp(load(going_on_ + u))),
                       next = product(load_extended(m(from) + u - 1, e(from) + u - 1),
                                      extended_exp(load(emitting_ + u - 1)));
        store_extended(m(to) + u, e(to) + u, normalized(sum(on, next)));
      }
    }
    return {};
  }

  const Values blank_, emit_;
  const int64_t time_, labels_, blank_at_, emit_at_, stride_, width_;
  double *rows_, *going_on_, *emitting_;
};

template <class Body>
void each_sample(const TransducerBatch& b, const Layout& layout, void* workspace, const Body& body) {
  for (int64_t first = 0; first < b.batch; first += kWave) {
    parallel::parallel_for(std::min(kWave, b.batch - first), 1, [&](int64_t begin, int64_t end) noexcept {
      for (int64_t i = begin; i < end; ++i)
        body(first + i, static_cast<double*>(workspace) + i * layout.doubles());
    });
  }
}

}  // namespace

size_t transducer_workspace(const TransducerBatch& b, bool grad) {
  return static_cast<size_t>(Layout(b, grad).doubles() * std::min(b.batch, kWave)) * sizeof(double);
}

void transducer_loss(const TransducerBatch& b, Values blank, Values emit, Values loss,
                     void* workspace) noexcept {
  const Layout layout(b, false);
  each_sample(b, layout, workspace,
              [&](int64_t n, double* at) { loss.set(n, Sample(b, layout, n, blank, emit, at).loss()); });
}

void transducer_loss_grad(const TransducerBatch& b, Values blank, Values emit, Values g, Values gblank,
                          Values gemit, void* workspace) noexcept {
  const Layout layout(b, true);
  each_sample(b, layout, workspace, [&](int64_t n, double* at) {
    gblank.clear(n * b.time * (b.labels + 1), b.time * (b.labels + 1));
    gemit.clear(n * b.time * b.labels, b.time * b.labels);
    Sample(b, layout, n, blank, emit, at).gradient(g[n], gblank, gemit);
  });
}

}  // namespace omnigrad::kernels
