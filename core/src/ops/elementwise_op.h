// What elementwise ops share: one struct an op gives names, a kernel and a derivative; shapes, dtypes and the
// call are here.
#pragma once

#include "kernels/elementwise.h"
#include "omnigrad/ops.h"

namespace omnigrad {

using kernels::Binary;
using kernels::Compare;
using kernels::Unary;

inline kernels::Operand operand(const Tensor& t) { return {t.raw(), t.strides().data()}; }

// One input, one output of its shape and dtype. `Op` gives kName, kDoc, kKernel and `derivative(g, s)`.
template <class Op, Kind K = Kind::floating>
struct UnaryOp {
  static constexpr Schema schema() {
    Schema s = op(Op::kName, Op::kDoc).in("x", K, "any shape");
    if (Op::kSavesInput) s.saved();
    s.out("y");
    if (Op::kSavesOutput) s.saved();
    return s;
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    kernels::unary(Op::kKernel, in[0].dtype(), operand(in[0]), out[0].raw(), in[0].shape().data(),
                   static_cast<int>(in[0].rank()));
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need) { return {Op::derivative(g[0], s)}; }
  static constexpr bool kSavesInput = false, kSavesOutput = false;
};

#define UNARY_NAME(NAME, KERNEL, DOC)        \
  static constexpr const char* kName = NAME; \
  static constexpr Doc kDoc = DOC;           \
  static constexpr Unary kKernel = Unary::KERNEL

OutSpecs broadcast_spec(Inputs in, DType dtype);

// `Op` gives kName, kDoc, kKernel, kSavesInputs and `derivative(g, s, need)`.
template <class Op, Kind K = Kind::number>
struct BinaryOp {
  static constexpr Schema schema() {
    Schema s = op(Op::kName, Op::kDoc).in("x", K, "any shape");
    if (Op::kSavesInputs) s.saved();
    s.in("y", K, "broadcasts with x");
    if (Op::kSavesInputs) s.saved();
    return s.out("z");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return broadcast_spec(in, in[0].dtype()); }
  static void forward(const NoOptions&, Inputs in, TensorList& out) {
    const Dims& shape = out[0].shape();
    const Dims a = broadcast_strides(in[0], shape), b = broadcast_strides(in[1], shape);
    kernels::binary(Op::kKernel, in[0].dtype(), {in[0].raw(), a.data()}, {in[1].raw(), b.data()},
                    out[0].raw(), shape.data(), static_cast<int>(shape.size()));
  }
  static Grads vjp(const NoOptions&, const Saved& s, Cotangents g, Need need) {
    return Op::derivative(g[0], s, need);
  }
  static constexpr bool kSavesInputs = true;
};

#define BINARY_NAME(NAME, KERNEL, DOC)       \
  static constexpr const char* kName = NAME; \
  static constexpr Doc kDoc = DOC;           \
  static constexpr Binary kKernel = Binary::KERNEL

}  // namespace omnigrad
