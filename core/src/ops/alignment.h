// What the losses over alignments, ctcLoss and rnntLoss, share: sequence lengths as numbers, checked; and the
// same functions in differentiable ops, which higher orders run through and tests hold the fused kernels
// against.
#pragma once

#include <vector>

#include "kernels/lattice.h"
#include "omnigrad/ops.h"

namespace omnigrad {

using Integers = std::vector<int64_t>;

Integers integers_of(const Tensor& t);
// One length in [least, most] for each sample; all `most` where none are given.
Integers lengths_of(const Tensor& given, int64_t batch, int64_t least, int64_t most, const char* name);

inline kernels::Values values_of(const Tensor& t) { return {t.raw(), t.dtype() == DType::float64}; }

// Targets and lengths of ctcLoss, checked.
struct CtcTargets {
  Integers labels, start, target_lengths, input_lengths;
  int64_t longest = 0;
  // in: log-probabilities [time, batch, classes], targets, input lengths, target lengths.
  CtcTargets(Inputs in, int64_t blank);
};

// [batch] losses of log-probabilities in float64; infinity, with gradient 0, where there is no alignment.
Tensor ctc_composite(const Tensor& log_probs, const CtcTargets& targets, int64_t blank);
// blank [batch, time, labels + 1], emit [batch, time, labels].
Tensor transducer_composite(const Tensor& blank, const Tensor& emit, const Integers& input_lengths,
                            const Integers& target_lengths);

}  // namespace omnigrad
