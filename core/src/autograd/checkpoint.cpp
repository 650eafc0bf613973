#include "autograd/checkpoint.h"

#include "omnigrad/autograd.h"

namespace omnigrad {
namespace {
Checkpoint* active = nullptr;
}

void retain(Checkpoint* c) noexcept { ++c->refs; }
void release(Checkpoint* c) noexcept {
  if (--c->refs == 0) delete c;
}

Checkpoint* Checkpoint::current() { return active; }

Checkpoint::Recording::Recording(Checkpoint* checkpoint) : outer_(std::exchange(active, checkpoint)) {}
Checkpoint::Recording::~Recording() { active = outer_; }

int Checkpoint::save(const Tensor& t) {
  if (!recomputing_) return recorded_++;
  if (filled_ >= recorded_) {
    fail(Code::graph,
         "checkpoint: the function saved more tensors when it ran again: it must do the same each time");
  }
  slots_[static_cast<size_t>(filled_)] = t.detach();
  return filled_++;
}

Tensor Checkpoint::load(int slot) {
  if (active == this && !recomputing_) {
    fail(Code::graph,
         "checkpoint: a backward inside the function needs tensors that the checkpoint does not keep");
  }
  if (slots_.empty()) {
    slots_.resize(static_cast<size_t>(recorded_));
    filled_ = 0;
    recomputing_ = true;
    struct Done {
      Checkpoint& c;
      ~Done() { c.recomputing_ = false; }
    } done{*this};
    Ref<Checkpoint> alive(this);
    try {
      Recording recording(this);
      GradMode on(true);
      recompute_();
    } catch (...) {
      slots_.clear();
      throw;
    }
    if (filled_ != recorded_) {
      slots_.clear();
      fail(Code::graph, "checkpoint: the function saved ", filled_, " tensors when it ran again, ", recorded_,
           " before: it must do the same each time");
    }
  }
  return slots_[static_cast<size_t>(slot)];
}

bool recomputing() { return active && active->recomputing(); }

TensorList checkpoint(const std::function<TensorList(const TensorList&, bool)>& f, const TensorList& x) {
  Ref<Checkpoint> c(new Checkpoint([f, x] { f(x, true); }));
  Checkpoint::Recording recording(c.get());
  return f(x, false);
}

}  // namespace omnigrad
