// One direction of one recurrent layer, as rnn, lstm and gru are made of it. Private to ops.
#pragma once

#include "kernels/recurrent.h"
#include "omnigrad/ops.h"

namespace omnigrad {

struct RecurrenceOptions {
  kernels::Cell cell = kernels::Cell::tanh;
  bool reverse = false;  // from the last step to the first
};

// The state after a step, h and for lstm c, from the inputs' and the state's share of the gates.
TensorList cell_step(kernels::Cell cell, const Tensor& x, const Tensor& h, const TensorList& state);

// a [time, batch, gates * hidden] is the inputs' share, with its bias; `bias` the state's, where it has one
// of its own (gru). state: h and for lstm c, [batch, hidden]; it becomes the last one. Gives all h, [time,
// batch, hidden]. Fused.
Tensor recurrence(const RecurrenceOptions& o, const Tensor& a, const Tensor& weight, const Tensor& bias,
                  TensorList& state);

}  // namespace omnigrad
