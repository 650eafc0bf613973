// Truth values: logical ops, tests of floating values, masks.
#include <limits>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }
Tensor truth(const Tensor& x) { return x.dtype() == DType::boolean ? x : ne(x, number(0, x)); }

// `Op` gives kName, kDoc and `of(a, b)` over bool tensors.
template <class Op>
struct Logical {
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::free, "any shape; not 0 is true")
        .nondiff()
        .in("y", Kind::free, "broadcasts with x")
        .nondiff()
        .out("z")
        .nondiff()
        .no_gradient("a truth value");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    return {{broadcast_shapes(in[0].shape(), in[1].shape()), DType::boolean}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    GradMode off(false);
    return {Op::of(truth(in[0]), truth(in[1]))};
  }
};

#define LOGICAL_OP(CLASS, NAME, DOC, VALUE)                              \
  struct CLASS : Logical<CLASS> {                                        \
    static constexpr const char* kName = NAME;                           \
    static constexpr Doc kDoc = DOC;                                     \
    static Tensor of(const Tensor& a, const Tensor& b) { return VALUE; } \
  };                                                                     \
  OMNIGRAD_OP(CLASS)

LOGICAL_OP(LogicalAnd, "logicalAnd", "Are both not 0?", where(a, b, number(0, b)))
LOGICAL_OP(LogicalOr, "logicalOr", "Is one of them not 0?", where(a, number(1, a), b))
LOGICAL_OP(LogicalXor, "logicalXor", "Is exactly one of them not 0?", ne(a, b))

// `Op` gives kName, kDoc and `of(x)`.
template <class Op>
struct Test {
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::free, "any shape")
        .nondiff()
        .out("y")
        .nondiff()
        .no_gradient("a truth value");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{in[0].shape(), DType::boolean}}; }
  static TensorList compose(const NoOptions&, Inputs in) {
    GradMode off(false);
    return {Op::of(in[0])};
  }
};

#define TEST_OP(CLASS, NAME, DOC, VALUE)                \
  struct CLASS : Test<CLASS> {                          \
    static constexpr const char* kName = NAME;          \
    static constexpr Doc kDoc = DOC;                    \
    static Tensor of(const Tensor& x) { return VALUE; } \
  };                                                    \
  OMNIGRAD_OP(CLASS)

Tensor size_of_floating(const Tensor& x) {
  return is_floating(x.dtype()) ? abs(x) : zeros({}, DType::float32);
}
Tensor infinity(const Tensor& x) {
  return Tensor::scalar(std::numeric_limits<double>::infinity(),
                        is_floating(x.dtype()) ? x.dtype() : DType::float32);
}
Tensor spread(const Tensor& t, const Tensor& x) { return expand(t, x.shape()); }

TEST_OP(LogicalNot, "logicalNot", "Is it 0?", eq(x, number(0, x)))
TEST_OP(Isnan, "isnan", "Is it NaN?", ne(x, x))
TEST_OP(Isinf, "isinf", "Is it Infinity or -Infinity?", spread(eq(size_of_floating(x), infinity(x)), x))
TEST_OP(Isfinite, "isfinite", "Is it neither infinite nor NaN?",
        spread(lt(size_of_floating(x), infinity(x)), x))

struct MaskedFill {
  struct Options {
    double value = 0;
  };
  static constexpr Schema schema() {
    return op("maskedFill", "A number where the mask is true, x elsewhere.")
        .in("x", Kind::any, "any shape")
        .in("mask", Kind::boolean, "broadcasts to x")
        .arg("value", &Options::value, "the number")
        .out("y");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    if (!(broadcast_shapes(in[0].shape(), in[1].shape()) == in[0].shape())) {
      fail("mask ", in[1].shape(), " does not broadcast to x ", in[0].shape());
    }
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {where(in[1], number(o.value, in[0]), in[0])};
  }
};
OMNIGRAD_OP(MaskedFill)

// Flat positions of what is true. The result's size depends on the data: found here, outside any shape rule.
Tensor positions(const Tensor& mask) {
  const Tensor m = truth(mask).contiguous();
  int64_t count = 0;
  for (int64_t i = 0; i < m.numel(); ++i) count += m.data<bool>()[i];
  Tensor out = Tensor::empty({count}, DType::int64);
  for (int64_t i = 0, k = 0; i < m.numel(); ++i) {
    if (m.data<bool>()[i]) out.data<int64_t>()[k++] = i;
  }
  return out;
}

struct MaskedSelect {
  static constexpr Schema schema() {
    return op("maskedSelect", "The elements where the mask is true, in order, as one axis.")
        .in("x", Kind::any, "any shape")
        .in("mask", Kind::boolean, "broadcasts with x")
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    broadcast_shapes(in[0].shape(), in[1].shape());
    return {{{0}, in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    const Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
    return {index_select(reshape(expand(in[0], shape), {-1}), positions(expand(in[1], shape)), 0)};
  }
};
OMNIGRAD_OP(MaskedSelect)

struct Nonzero {
  static constexpr Schema schema() {
    return op("nonzero", "Indices of elements that are not 0, a row each; int64.")
        .in("x", Kind::any, "any shape")
        .nondiff()
        .out("y")
        .nondiff()
        .no_gradient("indices");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) { return {{{0, in[0].rank()}, DType::int64}}; }
  static TensorList compose(const NoOptions&, Inputs in) {
    GradMode off(false);
    const Tensor flat = positions(in[0]);
    const int64_t rank = in[0].rank();
    Tensor out = Tensor::empty({flat.numel(), rank}, DType::int64);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      int64_t rest = flat.data<int64_t>()[i];
      for (int64_t d = rank - 1; d >= 0; --d) {
        out.data<int64_t>()[i * rank + d] = rest % in[0].size(d);
        rest /= in[0].size(d);
      }
    }
    return {out};
  }
};
OMNIGRAD_OP(Nonzero)

struct OneHot {
  struct Options {
    std::optional<int64_t> classes;
  };
  static constexpr Schema schema() {
    return op("oneHot", "Rows with a 1 at each index; int64.")
        .in("index", Kind::index, "any shape, from 0")
        .arg("numClasses", &Options::classes, "the new axis' size; none: the greatest index plus 1")
        .out("y")
        .nondiff()
        .no_gradient("a constant of indices");
  }
  static int64_t classes(const Options& o, const Tensor& index) {
    const Tensor t = index.contiguous();
    int64_t least = 0, greatest = -1;
    visit_index(t.dtype(), [&]<class I>() {
      for (int64_t i = 0; i < t.numel(); ++i) {
        least = std::min<int64_t>(least, t.data<I>()[i]);
        greatest = std::max<int64_t>(greatest, t.data<I>()[i]);
      }
    });
    if (least < 0) fail(Code::index, "index ", least, " is negative");
    if (!o.classes && t.numel() == 0) fail(Code::option, "numClasses cannot be found from no indices");
    if (o.classes && (*o.classes < 0 || *o.classes > INT32_MAX)) {
      fail(Code::option, "numClasses ", *o.classes, " must be from 0 to ", INT32_MAX);
    }
    if (o.classes && greatest >= *o.classes) {
      fail(Code::index, "index ", greatest, " is out of range for ", *o.classes, " classes");
    }
    return o.classes.value_or(greatest + 1);
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape = in[0].shape();
    shape.push_back(classes(o, in[0]));
    return {{shape, DType::int64}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor index = cast(in[0], DType::int64);
    const Tensor all = arange(0, static_cast<double>(classes(o, in[0])), 1, DType::int64);
    return {cast(eq(unsqueeze(index, -1), all), DType::int64)};
  }
};
OMNIGRAD_OP(OneHot)

}  // namespace
}  // namespace omnigrad
