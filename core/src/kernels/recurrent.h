// The recurrence of one direction of a recurrent layer, fused: at each step the product of the state with the
// hidden weights and the cell's gates, while they are in registers; and its gradients. The inputs' product is
// made for all steps at once by the op. Gates are those of PyTorch, in its order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omnigrad::kernels {

enum class Cell {
  tanh,  // h' = tanh(a + U h)
  relu,
  lstm,  // i, f, g, o: c' = f c + i g, h' = o tanh(c')
  gru,   // r, z, n: n = tanh(a_n + r (U_n h + b_n)), h' = (1 - z) n + z h
};

struct RecurrentSizes {
  Cell cell = Cell::tanh;
  int64_t time = 0, batch = 0, hidden = 0;
  bool reverse = false;  // from the last step to the first

  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  // Numbers that forward leaves for the gradient, for each hidden unit of each step.
  int64_t kept() const { return cell == Cell::lstm ? 5 : cell == Cell::gru ? 4 : 0; }
};

// a [time, batch, gates * hidden]: the inputs' share of the gates, biases included. h0 [batch, hidden], c0
// the same (lstm). weight [gates * hidden, hidden], bias [gates * hidden] of the state's share (gru, or
// null).
template <class T>
struct RecurrentInputs {
  const T *a, *h0, *c0, *weight, *bias;
};

// y [time, batch, hidden]; c [batch, hidden], the last one (lstm); kept [time, batch, kept() * hidden] or
// null. Workspaces in bytes, 16-byte aligned.
template <class T>
size_t recurrent_workspace(const RecurrentSizes& s);
template <class T>
void recurrent(const RecurrentSizes& s, const RecurrentInputs<T>& in, T* y, T* c, T* kept,
               void* workspace) noexcept;

// gy of y and gc of the last c, each may be null. To the gradients of a, h0 and c0, and, for gru, of
// the state's share of the gate n, [time, batch, hidden]; elsewhere that is a's. The weights' are products of
// those with the states before each step.
template <class T>
struct RecurrentGrads {
  const T *gy, *gc;
  T *a, *h0, *c0, *state_n;
};
template <class T>
size_t recurrent_grad_workspace(const RecurrentSizes& s);
template <class T>
void recurrent_grad(const RecurrentSizes& s, const RecurrentInputs<T>& in, const T* y, const T* kept,
                    const RecurrentGrads<T>& g, void* workspace) noexcept;

}  // namespace omnigrad::kernels
