// Padding of the last axes: by a constant, or by the tensor's own elements. Negative padding crops.
#include <algorithm>

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

// The axis that pair i of `count` pairs pads.
int64_t axis_of(size_t i, size_t count, int64_t rank) {
  return rank - static_cast<int64_t>(count) + static_cast<int64_t>(i);
}

struct PadConstant {
  struct Options {
    Dims pairs;  // [before, after] for the last axes, not negative
    double value = 0;
  };
  static constexpr Schema schema() {
    return op("padConstant", "Surrounds x with a value.")
        .in("x", Kind::any)
        .arg("pairs", &Options::pairs)
        .opt("value", &Options::value)
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape = in[0].shape();
    const size_t count = o.pairs.size() / 2;
    if (o.pairs.size() % 2 || count > shape.size())
      fail("pairs ", o.pairs, " need [before, after] for ", shape.size(), " axes at most");
    for (size_t i = 0; i < count; ++i) {
      if (o.pairs[2 * i] < 0 || o.pairs[2 * i + 1] < 0) fail("pairs ", o.pairs, " are not negative");
      shape[static_cast<size_t>(axis_of(i, count, in[0].rank()))] += o.pairs[2 * i] + o.pairs[2 * i + 1];
    }
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor value = Tensor::scalar(o.value, out[0].dtype());
    out[0].assign(value.as_strided(out[0].shape(), Dims(out[0].shape().size()), 0));
    int64_t offset = out[0].offset();
    const size_t count = o.pairs.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      offset += o.pairs[2 * i] * out[0].strides()[static_cast<size_t>(axis_of(i, count, in[0].rank()))];
    }
    out[0].as_strided(in[0].shape(), out[0].strides(), offset).assign(in[0]);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    Tensor t = g[0];
    const size_t count = o.pairs.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      const int64_t axis = axis_of(i, count, t.rank()), before = o.pairs[2 * i];
      if (before || o.pairs[2 * i + 1])
        t = slice(t, axis, before, before + s.shape(0)[static_cast<size_t>(axis)]);
    }
    return {t};
  }
};
OMNIGRAD_OP(PadConstant)

struct Pad {
  enum class Mode { constant, reflect, replicate, circular };
  struct Options {
    Padding padding;
    Mode mode = Mode::constant;
    double value = 0;
  };
  static constexpr Schema schema() {
    return op("pad",
              "Pads the last axes by a constant, by reflection (the edge not repeated), by repeating the "
              "edge, or periodically.")
        .in("x", Kind::any, "any shape")
        .arg("padding", &Options::padding,
             "[before, after] for each of the last axes; negative numbers crop (constant only)")
        .opt("mode", &Options::mode, "where the new elements come from",
             {"constant", "reflect", "replicate", "circular"})
        .opt("value", &Options::value, "the constant")
        .out("y");
  }
  // A bare list of numbers is one pair for the last axis.
  static Dims pairs(const Options& o) { return o.padding.values; }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Dims p = pairs(o);
    Dims shape = in[0].shape();
    const size_t count = p.size() / 2;
    if (p.size() % 2) fail(Code::option, "padding needs [before, after] for each axis, got ", p);
    if (count > shape.size()) fail("padding for ", count, " axes, the input has ", shape.size());
    for (size_t i = 0; i < count; ++i) {
      const auto axis = static_cast<size_t>(axis_of(i, count, in[0].rank()));
      const int64_t before = p[2 * i], after = p[2 * i + 1], size = shape[axis];
      const int64_t limit = o.mode == Mode::reflect ? std::max<int64_t>(size - 1, 0) : size;
      if (o.mode != Mode::constant) {
        if (before < 0 || after < 0) fail("negative padding ", p, " is for constant mode");
        if (o.mode == Mode::replicate ? size == 0 && before + after > 0 : before > limit || after > limit) {
          fail("axis ", axis, " of size ", size, " is too short for padding [", before, ", ", after, "] by ",
               o.mode == Mode::reflect ? "reflection: it must be less than the size"
                                       : "its own elements: at most the size");
        }
      }
      shape[axis] += before + after;
      if (shape[axis] < 0)
        fail("padding [", before, ", ", after, "] crops more than axis ", axis, " of size ", size, " has");
    }
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims p = pairs(o);
    const size_t count = p.size() / 2;
    Tensor t = in[0];
    if (o.mode == Mode::constant) {
      Dims grow = p;
      for (size_t i = 0; i < count; ++i) {
        const int64_t axis = axis_of(i, count, t.rank()), size = t.size(axis);
        const int64_t from = std::max<int64_t>(-p[2 * i], 0), to = size - std::max<int64_t>(-p[2 * i + 1], 0);
        // One side may crop into what the other adds: crop after growing then.
        if (from > size || to < 0 || from > to) {
          Dims only(grow.size());
          only[2 * i] = std::max<int64_t>(p[2 * i], 0);
          only[2 * i + 1] = std::max<int64_t>(p[2 * i + 1], 0);
          t = apply1<PadConstant>({t}, {only, o.value});
          t = slice(t, axis, from, t.size(axis) - std::max<int64_t>(-p[2 * i + 1], 0));
          grow[2 * i] = grow[2 * i + 1] = 0;
          continue;
        }
        if (from > 0 || to < size) t = slice(t, axis, from, to);
        grow[2 * i] = std::max<int64_t>(p[2 * i], 0);
        grow[2 * i + 1] = std::max<int64_t>(p[2 * i + 1], 0);
      }
      return {apply1<PadConstant>({t}, {grow, o.value})};
    }
    for (size_t i = 0; i < count; ++i) {
      const int64_t axis = axis_of(i, count, t.rank()), size = t.size(axis), before = p[2 * i];
      if (before == 0 && p[2 * i + 1] == 0) continue;
      Tensor index = Tensor::empty({size + before + p[2 * i + 1]}, DType::int64);
      for (int64_t k = 0; k < index.numel(); ++k) index.data<int64_t>()[k] = source(o.mode, k - before, size);
      t = index_select(t, index, axis);
    }
    return {t.impl() == in[0].impl() ? alias(t) : t};
  }
  static int64_t source(Mode mode, int64_t i, int64_t size) {
    if (mode == Mode::replicate) return i < 0 ? 0 : i >= size ? size - 1 : i;
    if (mode == Mode::circular) return (i + size) % size;
    return i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
  }
};
OMNIGRAD_OP(Pad)

}  // namespace

Tensor pad(const Tensor& x, const Dims& pairs) { return apply1<Pad>({x}, {.padding = {pairs, true}}); }

}  // namespace omnigrad
