// Tables of (index, weight) rows for kernels/resample.h: interpolation and average pooling along one axis, as
// pure functions of sizes. Positions are computed in integers where sizes alone decide them, so no rounding
// moves an index. No tensors here.
#pragma once

#include <cstdint>
#include <vector>

#include "../kernels/resample.h"

namespace omnigrad {

enum class ResampleMode { nearest, nearest_exact, linear, cubic, lanczos3, average, adaptive };

struct AxisOptions {
  ResampleMode mode = ResampleMode::nearest;
  int64_t in = 1;
  int64_t out = 1;
  // Interpolation. A scale above 0 is used in coordinates in place of out / in.
  double scale = 0;
  bool align_corners = false;
  bool antialias = false;
  // Average pooling.
  int64_t kernel = 1, stride = 1, pad_lo = 0, pad_hi = 0;
  bool count_include_pad = true;
  double divisor = 0;  // above 0: what this axis divides by
};

// Rows have ascending indices without repetition.
struct ResampleTable {
  int64_t in = 0, out = 0;
  bool identity = false;
  std::vector<int32_t> start, index;
  std::vector<double> weight;
};

ResampleTable resample_table(const AxisOptions& o);
ResampleTable transposed(const ResampleTable& t);

// The table in a kernel's form, weights rounded to T.
template <class T>
class KernelTable {
 public:
  explicit KernelTable(ResampleTable t)
      : table_(std::move(t)), weight_(table_.weight.begin(), table_.weight.end()) {}
  kernels::AxisRows<T> rows() const {
    return {table_.in, table_.out, table_.identity, table_.start.data(), table_.index.data(), weight_.data()};
  }

 private:
  ResampleTable table_;
  std::vector<T> weight_;
};

// Windows of a pooling axis (PyTorch's rule: with ceil_mode a window starts inside the input or its left
// padding).
int64_t pooled_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad_lo, int64_t pad_hi,
                    int64_t dilation, bool ceil_mode);

}  // namespace omnigrad
