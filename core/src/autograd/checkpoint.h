// Checkpointing: nodes recorded inside a checkpoint keep no tensors. The first that is read runs the function
// once more, and the tensors that its ops would have saved fill every slot, in the order of recording. The
// graph stays the one that was recorded first: a filled slot is given back its place in it, so that gradients
// of any order come as without.
#pragma once

#include <functional>
#include <vector>

#include "autograd/node.h"

namespace omnigrad {

class Checkpoint {
 public:
  explicit Checkpoint(std::function<void()> recompute) : recompute_(std::move(recompute)) {}

  int refs = 0;
  // The slot for the tensor that an op just recorded would save; while recomputing, its next one is filled.
  int save(const Tensor& t);
  // The tensor of a slot, recomputed if it must be. Without history.
  Tensor load(int slot);
  bool recomputing() const { return recomputing_; }

  // The checkpoint that is being recorded or recomputed, if any.
  static Checkpoint* current();

  // Records into this checkpoint while it lives.
  class Recording {
   public:
    explicit Recording(Checkpoint* checkpoint);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    Checkpoint* outer_;
  };

 private:
  std::function<void()> recompute_;
  std::vector<Tensor> slots_;
  int recorded_ = 0, filled_ = 0;
  bool recomputing_ = false;
};

}  // namespace omnigrad
