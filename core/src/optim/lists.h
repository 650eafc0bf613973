// The parameters, gradients and states that an optimizer's step is given: lists of equal length.
#pragma once

#include "omnigrad/op.h"

namespace omnigrad {

// The lists of a step, `group` of them of equal length.
class Lists {
 public:
  Lists(Inputs in, size_t groups) : in_(in), count_(in.size() / groups) {}
  size_t count() const { return count_; }
  const Tensor& operator()(size_t group, size_t i) const { return in_[group * count_ + i]; }

 private:
  Inputs in_;
  size_t count_;
};

// Every list matches the parameters in shape, and all that is written is contiguous.
inline void check_lists(const Lists& lists, size_t groups) {
  for (size_t i = 0; i < lists.count(); ++i) {
    for (size_t k = 0; k < groups; ++k) {
      if (!lists(k, i)) continue;
      if (!(lists(k, i).shape() == lists(0, i).shape())) {
        fail("parameter ", i, " has shape ", lists(0, i).shape(), ", a gradient or state of it ",
             lists(k, i).shape());
      }
      if (k != 1 && !lists(k, i).is_contiguous()) fail("parameter ", i, " or its state is not contiguous");
    }
  }
}

}  // namespace omnigrad
