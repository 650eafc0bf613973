#include "kernels/strided.h"

namespace omnigrad::kernels {

void dense_strides(const int64_t* shape, int rank, int64_t (&out)[kMaxAxes]) noexcept {
  int64_t step = 1;
  for (int a = rank - 1; a >= 0; --a) {
    out[a] = step;
    step *= shape[a];
  }
}

Strided::Strided(const int64_t* dims, int axes, std::initializer_list<const int64_t*> operands) noexcept
    : operands_(static_cast<int>(operands.size())) {
  const int64_t* const* given = operands.begin();
  for (int a = 0; a < axes; ++a) {
    if (dims[a] == 1) continue;
    bool merges = rank_ > 0;
    for (int k = 0; merges && k < operands_; ++k) merges = strides_[k][rank_ - 1] == given[k][a] * dims[a];
    const int at = merges ? rank_ - 1 : rank_++;
    shape_[at] = merges ? shape_[at] * dims[a] : dims[a];
    for (int k = 0; k < operands_; ++k) strides_[k][at] = given[k][a];
  }
  if (rank_ == 0) {
    rank_ = 1;
    shape_[0] = 1;
    for (int k = 0; k < operands_; ++k) strides_[k][0] = 0;
  }
}

int64_t Strided::count() const noexcept {
  int64_t n = 1;
  for (int a = 0; a < rank_; ++a) n *= shape_[a];
  return n;
}

void Strided::run(int64_t grain, RowFunction function, const void* row) const noexcept {
  parallel::parallel_for(count(), grain,
                         [=, this](int64_t begin, int64_t end) noexcept { walk(begin, end, function, row); });
}

void Strided::walk(int64_t begin, int64_t end, RowFunction function, const void* row) const noexcept {
  int64_t index[kMaxAxes], offset[kMaxOperands] = {};
  int64_t rest = begin;
  for (int a = rank_ - 1; a >= 0; --a) {
    index[a] = rest % shape_[a];
    rest /= shape_[a];
    for (int k = 0; k < operands_; ++k) offset[k] += index[a] * strides_[k][a];
  }
  const int last = rank_ - 1;
  while (begin < end) {
    const int64_t n = std::min(end - begin, shape_[last] - index[last]);
    function(row, offset, n);
    begin += n;
    index[last] += n;
    for (int k = 0; k < operands_; ++k) offset[k] += n * strides_[k][last];
    for (int a = last; a > 0 && index[a] == shape_[a]; --a) {
      index[a] = 0;
      ++index[a - 1];
      for (int k = 0; k < operands_; ++k) offset[k] += strides_[k][a - 1] - shape_[a] * strides_[k][a];
    }
  }
}

}  // namespace omnigrad::kernels
