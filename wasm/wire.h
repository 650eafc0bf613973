// What crosses in the scratch area: arguments on their way in, as the schema says, and results on their way
// out. The layout of each call is told in binding.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "handles.h"
#include "omnigrad/op.h"

namespace omnigrad::binding {

inline constexpr int kScratch = 16384;
inline double scratch_area[kScratch];

class Reader {
 public:
  double number() {
    if (at_ >= kScratch) fail(Code::argument, "more arguments than fit");
    return scratch_area[at_++];
  }
  int64_t integer() { return static_cast<int64_t>(number()); }
  int handle() { return static_cast<int>(number()); }
  size_t count() {
    const double n = number();
    if (!(n >= 0 && n <= kScratch)) fail(Code::argument, "a list of ", n, " arguments does not fit");
    return static_cast<size_t>(n);
  }
  Dims dims() {
    Dims d;
    for (size_t n = count(); n > 0; --n) d.push_back(integer());
    return d;
  }

 private:
  int at_ = 0;
};

class Writer {
 public:
  void put(double x) { scratch_area[at_++] = x; }

 private:
  int at_ = 0;
};

inline OptionValue read_option(const OptionInfo& o, Reader& r) {
  if (o.nullable && r.number() == 0) return {};
  switch (o.type) {
    case OptionType::boolean:
      return r.number() != 0;
    case OptionType::integer:
      return r.integer();
    case OptionType::number:
      return r.number();
    case OptionType::choice: {
      const int64_t i = r.integer();
      if (i < 0 || i >= static_cast<int64_t>(o.choices.size()))
        fail(Code::option, o.name, " has no choice ", i);
      return i;
    }
    case OptionType::dims:
      return r.dims();
    case OptionType::padding: {
      Padding p;
      p.pairs = r.number() != 0;
      p.values = r.dims();
      return p;
    }
    case OptionType::text:
      break;
  }
  std::string s;
  for (size_t n = r.count(); n > 0; --n) s += static_cast<char>(r.integer());
  return s;
}

// A number among the inputs takes the dtype of the first tensor of its kind: where's condition says nothing
// of the values, which are float32 if both are numbers.
inline Tensor weak_scalar(double value, const OpInfo& op, const InputInfo& info, const TensorList& inputs) {
  bool alone = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (!t) continue;
    alone = false;
    if (op.input_at(i, inputs.size()).kind != info.kind) continue;
    if (is_integer(t.dtype()) && value != std::floor(value)) {
      fail(Code::dtype, "number ", value, " beside a tensor of ", t.dtype(),
           ": cast the tensor to a floating dtype first");
    }
    return Tensor::scalar(value, t.dtype());
  }
  if (alone)
    fail(Code::argument, info.name, " is a number, and so are all other inputs: one must be a tensor");
  return Tensor::scalar(value, DType::float32);
}

inline TensorList read_inputs(const OpInfo& op, Reader& r) {
  TensorList inputs;
  struct Weak {
    size_t place;
    double value;
    const InputInfo* info;
  };
  SmallVec<Weak, 2> weak;
  for (const InputInfo& info : op.inputs) {
    const size_t n = info.variadic ? r.count() : 1;
    for (size_t i = 0; i < n; ++i) {
      const int handle = r.handle();
      if (handle == -1) weak.push_back({inputs.size(), r.number(), &info});
      inputs.push_back(handle == -1 ? Tensor() : tensor_or_none(handle));
    }
  }
  for (const Weak& w : weak) inputs[w.place] = weak_scalar(w.value, op, *w.info, inputs);
  return inputs;
}

}  // namespace omnigrad::binding
