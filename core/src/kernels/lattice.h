// The sums over alignments of connectionist temporal classification (Graves 2006) and of the transducer
// (Graves 2012), and their first-order gradients. Inputs and outputs are float or double; the lattice is
// always double with an exponent of its own in each cell (extended.h), so log-probabilities of any size and
// sequences of any length are exact. Samples run in parallel. Sizes, lengths and labels were checked by the
// op; nothing is allocated here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace omnigrad::kernels {

// float or double values, read and written as double: only the edge of these kernels touches them.
struct Values {
  void* data = nullptr;
  bool wide = false;  // double
  double operator[](int64_t i) const {
    return wide ? static_cast<const double*>(data)[i]
                : static_cast<double>(static_cast<const float*>(data)[i]);
  }
  void set(int64_t i, double x) const {
    if (wide) {
      static_cast<double*>(data)[i] = x;
    } else {
      static_cast<float*>(data)[i] = static_cast<float>(x);
    }
  }
  void clear(int64_t from, int64_t count) const {
    const int64_t size = wide ? 8 : 4;
    if (count > 0) std::memset(static_cast<char*>(data) + from * size, 0, static_cast<size_t>(count * size));
  }
};

struct CtcBatch {
  int64_t time = 0, batch = 0, classes = 0, blank = 0;
  int64_t longest = 0;              // of the targets
  const int64_t* labels = nullptr;  // of all targets
  const int64_t* start = nullptr;   // [batch], of a target among them
  const int64_t* target_lengths = nullptr;
  const int64_t* input_lengths = nullptr;
};
// log_probs and grad [time, batch, classes]; loss and g [batch]. A target that cannot be aligned has loss
// infinity and gradient 0. Workspaces in bytes, 16-byte aligned.
size_t ctc_workspace(const CtcBatch& batch, bool grad);
void ctc_loss(const CtcBatch& batch, Values log_probs, Values loss, void* workspace) noexcept;
void ctc_loss_grad(const CtcBatch& batch, Values log_probs, Values g, Values grad, void* workspace) noexcept;

struct TransducerBatch {
  int64_t batch = 0, time = 0, labels = 0;
  const int64_t* input_lengths = nullptr;  // [batch], at least 1
  const int64_t* target_lengths = nullptr;
};
// blank [batch, time, labels + 1] and emit [batch, time, labels]: log-probabilities of going on in time and
// of the next label; loss and g [batch].
size_t transducer_workspace(const TransducerBatch& batch, bool grad);
void transducer_loss(const TransducerBatch& batch, Values blank, Values emit, Values loss,
                     void* workspace) noexcept;
void transducer_loss_grad(const TransducerBatch& batch, Values blank, Values emit, Values g, Values gblank,
                          Values gemit, void* workspace) noexcept;

}  // namespace omnigrad::kernels
