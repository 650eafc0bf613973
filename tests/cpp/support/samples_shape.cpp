// Samples of ops that move elements.
#include <algorithm>

#include "samples.h"

namespace omnigrad::test {
namespace {

Tensor anything(Gen& g, const Dims& shape) { return g.tensor(shape, -2, 2, g.any_dtype()); }
size_t from_front(int64_t dim, const Dims& shape) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
}

Call reshape(Gen& g) {
  const Dims shape = g.shape(0, 4);
  // Some of the axes merged, and one inferred.
  Dims to;
  for (int64_t d : shape) {
    if (!to.empty() && g.chance()) {
      to.back() *= d;
    } else {
      to.push_back(d);
    }
  }
  if (g.chance(0.3)) to.push_back(1);
  if (!to.empty() && product(shape) > 0 && g.chance(0.4)) {
    to[static_cast<size_t>(g.integer(0, static_cast<int64_t>(to.size()) - 1))] = -1;
  }
  return Call("reshape", {anything(g, shape)}).set("shape", to);
}

Call permute(Gen& g) {
  const Dims shape = g.shape(0, 4);
  Dims dims;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    dims.insert(static_cast<size_t>(g.integer(0, static_cast<int64_t>(dims.size()))), i);
  }
  return Call("permute", {anything(g, shape)}).set("dims", dims);
}

Call expand(Gen& g) {
  const Dims to = g.shape(0, 4);
  Dims given = to;
  const Dims from = g.broadcasting(to);
  for (size_t i = to.size() - from.size(); i < to.size(); ++i) {
    if (from[i - (to.size() - from.size())] == to[i] && g.chance(0.3)) given[i] = -1;
  }
  return Call("expand", {anything(g, from)}).set("shape", given);
}

void set_range(Gen& g, Call& c, int64_t size) {
  c.set("start", g.integer(-size - 1, size + 1)).set("step", g.integer(1, 3));
  if (g.chance(0.7)) c.set("stop", g.integer(-size - 1, size + 1));
}

Call slice(Gen& g) {
  const Dims shape = g.shape(1, 4, 5);
  Call c("slice", {anything(g, shape)});
  const int64_t dim = g.dim_of(shape);
  set_range(g, c.set("dim", dim), shape[from_front(dim, shape)]);
  return c;
}

// The slice that it is the adjoint of says what it takes.
Call slice_scatter(Gen& g) {
  const Dims shape = g.shape(1, 3, 5);
  const int64_t dim = g.dim_of(shape), size = shape[from_front(dim, shape)];
  Call cut("slice", {g.tensor(shape)}), c("sliceScatter");
  set_range(g, cut.set("dim", dim), size);
  for (const char* name : {"dim", "start", "stop", "step"}) c.set(name, cut.get(name));
  c.inputs.push_back(cut.run()[0].contiguous());
  return c.set("size", size);
}

Call flip(Gen& g) {
  const Dims shape = g.shape(0, 4);
  Dims dims;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    if (g.chance()) dims.push_back(i);
  }
  return Call("flip", {anything(g, shape)}).set("dims", dims);
}

Call split(Gen& g) {
  Dims shape = g.shape(1, 3);
  const int64_t dim = g.dim_of(shape);
  const Dims sizes = g.sizes(g.integer(1, 3), g.smooth ? 1 : 0, 3);
  int64_t total = 0;
  for (int64_t n : sizes) total += n;
  shape[from_front(dim, shape)] = total;
  return Call("split", {anything(g, shape)}).set("sizes", sizes).set("dim", dim);
}

Call cat(Gen& g) {
  Dims shape = g.shape(1, 3);
  const int64_t dim = g.dim_of(shape);
  const DType type = g.any_dtype();
  Call c("cat");
  for (int64_t n = g.integer(1, 4); n > 0; --n) {
    shape[from_front(dim, shape)] = g.size(3);
    c.inputs.push_back(g.tensor(shape, -2, 2, type));
  }
  return c.set("dim", dim);
}

Call stack(Gen& g) {
  const Dims shape = g.shape(0, 3);
  const DType type = g.any_dtype();
  Call c("stack");
  for (int64_t n = g.integer(1, 3); n > 0; --n) c.inputs.push_back(g.tensor(shape, -2, 2, type));
  const auto rank = static_cast<int64_t>(shape.size());
  return c.set("dim", g.integer(-rank - 1, rank));
}

Call pad_constant(Gen& g) {
  const Dims shape = g.shape(0, 3);
  return Call("padConstant", {anything(g, shape)})
      .set("pairs", g.sizes(2 * g.integer(0, static_cast<int64_t>(shape.size())), 0, 2))
      .set("value", 1.0);
}

Call pad(Gen& g) {
  const Dims shape = g.shape(1, 3);
  const int64_t mode = g.integer(0, 3);
  Dims pairs;
  const int64_t count = g.integer(0, static_cast<int64_t>(shape.size()));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = shape[shape.size() - static_cast<size_t>(count - i)];
    const int64_t most =
        mode == 1 ? std::min<int64_t>(2, std::max<int64_t>(size - 1, 0)) : std::min<int64_t>(2, size);
    const int64_t least = mode == 0 && size > 1 && g.chance(0.3) ? -(size - 1) / 2 : 0;
    pairs.push_back(g.integer(least, most));
    pairs.push_back(g.integer(least, most));
  }
  return Call("pad", {anything(g, shape)})
      .set("padding", Padding{pairs, true})
      .set("mode", mode)
      .set("value", g.real(-1, 1));
}

}  // namespace

void add_shape_samples(SampleTable& t) {
  t["alias"] = [](Gen& g) { return Call("alias", {anything(g, g.shape(0, 3))}); };
  t["reshape"] = reshape;
  t["permute"] = permute;
  t["expand"] = expand;
  t["slice"] = slice;
  t["sliceScatter"] = slice_scatter;
  t["flip"] = flip;
  t["split"] = split;
  t["cat"] = cat;
  t["stack"] = stack;
  t["padConstant"] = pad_constant;
  t["pad"] = pad;
}

}  // namespace omnigrad::test
