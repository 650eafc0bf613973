// Log-space lattices over all samples at once, one step of time (or anti-diagonal) after another. States that
// cannot be reached hold a finite -1e30: its exponential is 0, and so is its gradient, of any order.
#include <cmath>

#include "ops/alignment.h"

namespace omnigrad {
namespace {

constexpr double kUnreachable = -1e30;

Tensor number(double x) { return Tensor::scalar(x, DType::float64); }
Tensor bounded(const Tensor& log_p) {
  const Tensor p = cast(log_p, DType::float64), least = number(kUnreachable);
  return where(gt(p, least), p, least);
}

// log(sum(exp)): the shift is a constant, since the result does not depend on it.
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c = {}) {
  Tensor top = maximum(a.detach(), b.detach());
  if (c) top = maximum(top, c.detach());
  Tensor total = exp(a - top) + exp(b - top);
  if (c) total = total + exp(c - top);
  return log(total) + top;
}

// x moved to the right by n along its last axis.
Tensor moved(const Tensor& x, int64_t n) {
  Dims front = x.shape();
  front.back() = n;
  return slice(cat({full(front, kUnreachable, DType::float64), x}, -1), -1, 0, x.size(-1));
}

TensorList steps(const Tensor& x, int64_t dim) {
  TensorList parts = split(x, Dims(static_cast<size_t>(x.size(dim)), 1), dim);
  for (Tensor& t : parts) t = squeeze(t, dim);
  return parts;
}

// Entries of x, flattened, by index.
Tensor entries(const Tensor& x, const Integers& index) {
  const auto n = static_cast<int64_t>(index.size());
  return index_select(reshape(x, {-1}), Tensor::from({n}, index.data()), 0);
}

// Minus log-probabilities; where there is none, a constant infinity.
Tensor losses(const Tensor& log_p) {
  return where(gt(log_p, number(kUnreachable / 1e10)), -log_p, number(INFINITY));
}

}  // namespace

Tensor ctc_composite(const Tensor& log_probs, const CtcTargets& targets, int64_t blank) {
  const int64_t time = log_probs.size(0), batch = log_probs.size(1), states = 2 * targets.longest + 1;
  if (batch == 0) return reshape(sum(cast(log_probs, DType::float64), {0, 2}), {0});
  // The class of each state, and whether it may be reached from the state two before.
  Tensor classes = full({batch, states}, static_cast<double>(blank), DType::int64),
         skips = Tensor::zeros({batch, states}, DType::boolean);
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t* label = targets.labels.data() + targets.start[static_cast<size_t>(n)];
    for (int64_t j = 0; j < targets.target_lengths[static_cast<size_t>(n)]; ++j) {
      const int64_t at = n * states + 2 * j + 1;
      classes.data<int64_t>()[at] = label[j];
      skips.data<bool>()[at] = j > 0 && label[j] != label[j - 1];
    }
  }
  // Before the first step: as if a blank had been seen.
  Tensor start = full({batch, states}, kUnreachable, DType::float64);
  for (int64_t n = 0; n < batch; ++n) start.data<double>()[n * states] = 0;

  TensorList columns{start};
  if (time > 0) {
    const Tensor emissions = gather(bounded(log_probs), expand(classes, {time, batch, states}), 2);
    for (const Tensor& emission : steps(emissions, 0)) {
      const Tensor& last = columns.back();
      const Tensor skip = where(skips, moved(last, 2), number(kUnreachable));
      columns.push_back(log_sum(last, moved(last, 1), skip) + emission);
    }
  }
  const Tensor all = cat(columns, 0);
  Integers end, before;
  Tensor empty = Tensor::empty({batch}, DType::boolean);
  for (int64_t n = 0; n < batch; ++n) {
    const auto i = static_cast<size_t>(n);
    const int64_t labels = targets.target_lengths[i];
    end.push_back((targets.input_lengths[i] * batch + n) * states + 2 * labels);
    before.push_back(end.back() - (labels > 0 ? 1 : 0));
    empty.data<bool>()[n] = labels == 0;
  }
  return losses(log_sum(entries(all, end), where(empty, number(kUnreachable), entries(all, before))));
}

Tensor transducer_composite(const Tensor& blank, const Tensor& emit, const Integers& input_lengths,
                            const Integers& target_lengths) {
  const int64_t batch = blank.size(0), time = blank.size(1), cells = blank.size(2),
                diagonals = time + cells - 1;
  if (batch == 0) return reshape(sum(cast(blank, DType::float64), {1, 2}), {0});
  // Diagonal d of a sample holds its cells (d - u, u); what is outside reads a last entry, unreachable.
  const auto by_diagonal = [&](const Tensor& x) {
    Integers index;
    for (int64_t d = 0; d < diagonals; ++d)
      for (int64_t n = 0; n < batch; ++n)
        for (int64_t u = 0; u < cells; ++u) {
          const int64_t t = d - u;
          const bool inside = t >= 0 && t < time && u < x.size(2);
          index.push_back(inside ? (n * time + t) * x.size(2) + u : x.numel());
        }
    const Tensor padded = cat({reshape(bounded(x), {-1}), full({1}, kUnreachable, DType::float64)}, 0);
    return steps(reshape(entries(padded, index), {diagonals, batch, cells}), 0);
  };
  const TensorList on = by_diagonal(blank), next = by_diagonal(emit);
  Tensor column = full({batch, cells}, kUnreachable, DType::float64);
  for (int64_t n = 0; n < batch; ++n) column.data<double>()[n * cells] = 0;
  TensorList left;  // each diagonal's cells, left by a blank
  for (size_t d = 0; d < on.size(); ++d) {
    left.push_back(column + on[d]);
    column = log_sum(left.back(), moved(column + next[d], 1));
  }
  Integers end;
  for (int64_t n = 0; n < batch; ++n) {
    const auto i = static_cast<size_t>(n);
    const int64_t labels = target_lengths[i];
    end.push_back(((input_lengths[i] - 1 + labels) * batch + n) * cells + labels);
  }
  return losses(entries(cat(left, 0), end));
}

}  // namespace omnigrad
