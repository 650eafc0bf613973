// Making tensors, casting, copying, and the in-place writes.
#include <cmath>

#include "kernels/copy.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

constexpr Choices kDTypeNames{"float32", "float64", "int32", "int64", "uint8", "bool", "float16", "bfloat16"};

void check_shape(const Dims& shape) {
  if (shape.size() > kMaxRank) fail("rank ", shape.size(), " is above the limit of ", kMaxRank);
  for (int64_t d : shape) {
    if (d < 0) fail("shape ", shape, ": sizes are not negative");
  }
}

void fill(const Tensor& t, double value) {
  kernels::fill({t.raw(), t.dtype(), t.strides().data()}, value, t.shape().data(),
                static_cast<int>(t.rank()));
}

struct Full {
  struct Options {
    Dims shape;
    double value = 0;
    DType dtype = DType::float32;
  };
  static constexpr Schema schema() {
    return op("full", "A tensor of one value.")
        .arg("shape", &Options::shape, "its shape")
        .arg("value", &Options::value, "the value")
        .opt("dtype", &Options::dtype, "its dtype", kDTypeNames)
        .out("y")
        .nondiff()
        .no_gradient("a constant");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    return {{o.shape, o.dtype}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) { fill(out[0], o.value); }
};
OMNIGRAD_OP(Full)

struct Arange {
  struct Options {
    double start = 0, stop = 0, step = 1;
    DType dtype = DType::float32;
  };
  static constexpr Schema schema() {
    return op("arange", "start, start + step, ... before stop.")
        .arg("start", &Options::start, "the first value")
        .arg("stop", &Options::stop, "the end, excluded")
        .arg("step", &Options::step, "not 0")
        .opt("dtype", &Options::dtype, "its dtype", kDTypeNames)
        .out("y")
        .nondiff()
        .no_gradient("a constant");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    if (o.step == 0 || !std::isfinite(o.step))
      fail(Code::option, "step ", o.step, " must be finite and not 0");
    const double n = std::ceil((o.stop - o.start) / o.step);
    if (!(n < 9e15))
      fail(Code::option, "start ", o.start, ", stop ", o.stop, ", step ", o.step, " are no finite range");
    return {{{n > 0 ? static_cast<int64_t>(n) : 0}, o.dtype}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) {
    const bool wide = o.dtype == DType::float64;
    const Tensor y = wide ? out[0] : Tensor::empty(out[0].shape(), DType::float64);
    for (int64_t i = 0; i < y.numel(); ++i) y.data<double>()[i] = o.start + static_cast<double>(i) * o.step;
    if (!wide) out[0].assign(y);
  }
};
OMNIGRAD_OP(Arange)

struct Cast {
  struct Options {
    DType dtype = DType::float32;
  };
  static constexpr Schema schema() {
    return op("cast",
              "x in another dtype. Floating to integer truncates and saturates, NaN to 0; to bool: not 0; to "
              "a half: nearest even.")
        .in("x", Kind::storage, "any shape")
        .arg("dtype", &Options::dtype, "the new dtype", kDTypeNames)
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (is_half(o.dtype) && grad_enabled() && in[0].requires_grad()) {
      fail(Code::graph, "x requires a gradient, which ", o.dtype,
           " cannot carry on: it is storage; detach() first");
    }
    return {{in[0].shape(), o.dtype}};
  }
  static void forward(const Options&, Inputs in, TensorList& out) { out[0].assign(in[0]); }
  static Grads vjp(const Options&, const Saved& s, Cotangents g, Need) { return {cast(g[0], s.dtype(0))}; }
};
OMNIGRAD_OP(Cast)

struct Clone {
  static constexpr Schema schema() {
    return op("clone", "A contiguous copy.").in("x", Kind::any, "any shape").out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), in[0].dtype()}}; }
  static void forward(const NoOptions&, Inputs in, TensorList& out) { out[0].assign(in[0]); }
  static Grads vjp(const NoOptions&, const Saved&, Cotangents g, Need) { return {g[0]}; }
};
OMNIGRAD_OP(Clone)

// The elements of a view may lie at one address only where they are not written.
void check_writable(const Tensor& t) {
  for (size_t i = 0; i < t.shape().size(); ++i) {
    if (t.shape()[i] > 1 && t.strides()[i] == 0)
      fail("an expanded tensor cannot be written: clone() it first");
  }
}

struct CopyInto {
  static constexpr Schema schema() {
    return op("copy_",
              "Writes source into x, casting. x is a leaf or buffer, under noGrad if it requires a gradient.")
        .in("x", Kind::storage, "any shape")
        .mutated()
        .in("source", Kind::storage, "broadcasts to x")
        .nondiff()
        .no_gradient("in place");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    check_writable(in[0]);
    if (grad_enabled() && in[1].requires_grad()) {
      fail(Code::graph,
           "source requires a gradient, which a write in place does not record: detach() it, or write under "
           "noGrad");
    }
    if (!(broadcast_shapes(in[0].shape(), in[1].shape()) == in[0].shape())) {
      fail("source ", in[1].shape(), " does not broadcast to ", in[0].shape());
    }
    return {};
  }
  static void forward(const NoOptions&, Inputs in, TensorList&) {
    // A source that shares x's storage is read before it is written.
    Tensor source = in[1];
    if (source.storage() == in[0].storage()) {
      source = Tensor::empty(in[1].shape(), in[1].dtype());
      source.assign(in[1]);
    }
    const Dims& shape = in[0].shape();
    in[0].assign(source.as_strided(shape, broadcast_strides(source, shape), source.offset()));
  }
};
OMNIGRAD_OP(CopyInto)

struct FillInto {
  struct Options {
    double value = 0;
  };
  static constexpr Schema schema() {
    return op("fill_",
              "Writes a number into all of x. x is a leaf or buffer, under noGrad if it requires a gradient.")
        .in("x", Kind::free, "any shape")
        .mutated()
        .arg("value", &Options::value, "the number")
        .no_gradient("in place");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    check_writable(in[0]);
    return {};
  }
  static void forward(const Options& o, Inputs in, TensorList&) { fill(in[0], o.value); }
};
OMNIGRAD_OP(FillInto)

}  // namespace

Tensor full(const Dims& shape, double value, DType dtype) { return apply1<Full>({}, {shape, value, dtype}); }
Tensor zeros(const Dims& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Dims& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor arange(double start, double stop, double step, DType dtype) {
  return apply1<Arange>({}, {start, stop, step, dtype});
}
Tensor cast(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : apply1<Cast>({x}, {dtype}); }
Tensor clone(const Tensor& x) { return apply1<Clone>({x}); }

}  // namespace omnigrad
