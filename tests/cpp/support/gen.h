// Random shapes, numbers and tensors, from which samples of calls are built. The same seed gives the same
// structure and values in float32 and float64: every value is one that float32 has.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "omnigrad/tensor.h"

namespace omnigrad::test {

class Gen {
 public:
  // smooth: the sample is for differences, away from points without a derivative, and never empty.
  Gen(uint64_t seed, DType dtype, bool smooth) : dtype(dtype), smooth(smooth), state_(seed * 2 + 1) {}

  const DType dtype;
  const bool smooth;

  uint64_t bits();
  int64_t integer(int64_t low, int64_t high);  // both included
  double real(double low, double high);
  bool chance(double p = 0.5) { return real(0, 1) < p; }
  template <class T>
  T pick(std::initializer_list<T> of) {
    return of.begin()[integer(0, static_cast<int64_t>(of.size()) - 1)];
  }

  // Sizes from 1 to `largest`; where samples need not be smooth, 0 now and then.
  int64_t size(int64_t largest = 4);
  Dims shape(int64_t min_rank, int64_t max_rank, int64_t largest = 4);
  Dims sizes(int64_t count, int64_t low, int64_t high);
  // A shape that broadcasts to `shape`.
  Dims broadcasting(const Dims& shape);
  int64_t dim_of(const Dims& shape);  // a number of an axis, negative ones too

  Tensor tensor(const Dims& shape, double low = -2, double high = 2) {
    return tensor(shape, low, high, dtype);
  }
  Tensor tensor(const Dims& shape, double low, double high, DType dtype);
  // |x| at least `gap`, of either sign, where samples are smooth; else any, 0 now and then.
  Tensor away(const Dims& shape, double gap = 0.2);
  // Between -2 and 2, at least 0.1 from whole numbers and halves where samples are smooth.
  Tensor between_steps(const Dims& shape);
  // No two elements closer than 0.1; two tensors with offsets 0 and 0.05 share no value.
  Tensor distinct(const Dims& shape, double offset = 0);
  // Another dtype of the kind now and then, where samples need not be smooth.
  Tensor number(const Dims& shape, double low = -2, double high = 2);
  DType number_dtype();
  DType any_dtype();
  // Integers in [0, n); shapes with elements need n > 0.
  Tensor index(const Dims& shape, int64_t n);
  Tensor index(const Dims& shape, int64_t n, DType dtype);
  Tensor mask(const Dims& shape);

 private:
  uint64_t state_;
};

}  // namespace omnigrad::test
