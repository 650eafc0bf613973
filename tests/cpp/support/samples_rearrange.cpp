// Samples of sorting, scatters, advanced indexing, embeddings, logic and rearrangements.
#include <algorithm>

#include "samples.h"

namespace omnigrad::test {
namespace {

size_t axis_of(int64_t dim, const Dims& shape) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
}
Tensor anything(Gen& g, const Dims& shape) { return g.tensor(shape, -2, 2, g.any_dtype()); }
// Without ties where the sample is to be smooth.
Tensor ordered(Gen& g, const Dims& shape) { return g.smooth ? g.distinct(shape) : g.number(shape); }

Sampler sorting(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(1, 3, 5);
    return Call(name, {ordered(g, shape)}).set("dim", g.dim_of(shape)).set("descending", g.chance());
  };
}
Call topk(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 5);
  const int64_t dim = g.dim_of(shape);
  return Call("topk", {ordered(g, shape)})
      .set("dim", dim)
      .set("k", g.integer(1, shape[axis_of(dim, shape)]))
      .set("largest", g.chance());
}
Call kthvalue(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 5);
  const int64_t dim = g.dim_of(shape);
  return Call("kthvalue", {ordered(g, shape)})
      .set("dim", dim)
      .set("k", g.integer(1, shape[axis_of(dim, shape)]))
      .set("keepdim", g.chance());
}
Call median(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 4);
  Call c("median", {ordered(g, shape)});
  if (g.chance(0.7)) c.set("dim", g.dim_of(shape));
  return c.set("keepdim", g.chance());
}

// x, an index of its rank, and a source at least as large.
struct Scattered {
  Dims x, index, source;
  int64_t dim, size;
  explicit Scattered(Gen& g) : x(g.sizes(g.integer(1, 3), 1, 4)), index(x), dim(g.dim_of(x)) {
    size = x[axis_of(dim, x)];
    for (int64_t& d : index) {
      if (d > 1 && g.chance(0.3)) --d;
    }
    index[axis_of(dim, x)] = g.integer(1, 4);
    source = index;
    for (int64_t& d : source) d += g.chance(0.2) ? 1 : 0;
  }
};
Call scatter(Gen& g) {
  const Scattered s(g);
  const DType t = g.any_dtype();
  return Call("scatter", {g.tensor(s.x, -2, 2, t), g.index(s.index, s.size), g.tensor(s.source, -2, 2, t)})
      .set("dim", s.dim);
}
Call scatter_reduce(Gen& g) {
  const Scattered s(g);
  return Call("scatterReduce", {g.distinct(s.x), g.index(s.index, s.size), g.distinct(s.source, 0.05)})
      .set("dim", s.dim)
      .set("reduce", g.pick<int64_t>({0, 1, 1, 1, 2, 3, 4}))  // products are the most curved
      .set("includeSelf", g.chance());
}
Call take_along_dim(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 4);
  const int64_t dim = g.dim_of(shape);
  Dims x = shape, index = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (g.chance(0.2)) x[i] = 1;
    if (g.chance(0.2)) index[i] = 1;
  }
  index[axis_of(dim, shape)] = g.integer(1, 4);
  return Call("takeAlongDim", {anything(g, x), g.index(index, x[axis_of(dim, shape)])}).set("dim", dim);
}

// Index tensors for some of the first axes of a shape.
struct Indices {
  Dims x = {}, shape, result;
  TensorList list;
  explicit Indices(Gen& g) : x(g.sizes(g.integer(1, 3), 1, 4)), shape(g.sizes(g.integer(0, 2), 1, 3)) {
    const auto axes = static_cast<size_t>(g.integer(1, static_cast<int64_t>(x.size())));
    const DType type = g.pick({DType::int32, DType::int64});
    for (size_t a = 0; a < axes; ++a) {
      const Tensor t = g.index(a == 0 ? shape : g.broadcasting(shape), x[a], type);
      list.push_back(t);
    }
    result = shape;
    result.append(x.begin() + axes, x.end());
  }
};
Call index(Gen& g) {
  const Indices i(g);
  Call c("index", {anything(g, i.x)});
  c.inputs.append(i.list.begin(), i.list.end());
  return c;
}
Call index_put(Gen& g) {
  const Indices i(g);
  const DType t = g.number_dtype();
  Call c("indexPut", {g.tensor(i.x, -2, 2, t), g.tensor(g.broadcasting(i.result), -2, 2, t)});
  c.inputs.append(i.list.begin(), i.list.end());
  return c.set("accumulate", g.chance());
}

Call embedding(Gen& g) {
  const int64_t rows = g.integer(1, 5);
  Call c("embedding", {g.index(g.shape(0, 3, 3), rows), g.tensor({rows, g.size(3)})});
  // That row's gradient is 0 by decree: nothing for differences.
  if (!g.smooth && g.chance(0.3)) c.set("paddingIdx", g.integer(-rows, rows - 1));
  return c;
}
Call embedding_bag(Gen& g) {
  const int64_t rows = g.integer(1, 5), count = g.integer(1, 4), bags = g.integer(1, 3);
  const int64_t mode = g.integer(0, 2);
  const bool cut = g.chance();
  const Dims shape = cut ? Dims{count} : Dims{bags, count};
  Tensor offsets;
  if (cut) {
    offsets = Tensor::zeros({bags}, DType::int64);
    for (int64_t i = 1; i < bags; ++i)
      offsets.data<int64_t>()[i] = std::min(count, offsets.data<int64_t>()[i - 1] + g.integer(0, 2));
  }
  const Tensor weights = mode == 0 && g.chance() ? g.tensor(shape) : Tensor();
  const DType type = cut ? DType::int64 : DType::int32;
  return Call("embeddingBag",
              {g.index(shape, rows, type), g.distinct({rows, g.integer(1, 3)}), offsets, weights})
      .set("mode", mode);
}

Sampler logical(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(0, 3);
    return Call(name, {anything(g, shape), anything(g, g.broadcasting(shape))});
  };
}
Sampler test(const char* name) {
  return [=](Gen& g) { return Call(name, {anything(g, g.shape(0, 3))}); };
}
Call masked_fill(Gen& g) {
  const Dims shape = g.shape(0, 3);
  return Call("maskedFill", {anything(g, shape), g.mask(g.broadcasting(shape))}).set("value", g.real(-2, 2));
}
Call masked_select(Gen& g) {
  const Dims shape = g.shape(0, 3);
  return Call("maskedSelect", {anything(g, shape), g.mask(g.broadcasting(shape))});
}
Call one_hot(Gen& g) {
  const int64_t classes = g.integer(1, 5);
  Call c("oneHot", {g.index(g.sizes(g.integer(0, 2), 1, 4), classes)});
  return g.chance() ? c.set("numClasses", classes) : c;
}

Call roll(Gen& g) {
  const Dims shape = g.shape(1, 3);
  Call c("roll", {anything(g, shape)});
  if (g.chance(0.3)) return c.set("shifts", Dims{g.integer(-5, 5)});
  Dims dims;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i) {
    if (i == 0 || g.chance()) dims.push_back(i);
  }
  return c.set("dims", dims).set("shifts", g.sizes(static_cast<int64_t>(dims.size()), -5, 5));
}
Call repeat(Gen& g) {
  const Dims shape = g.shape(0, 3, 3);
  return Call("repeat", {anything(g, shape)})
      .set("repeats", g.sizes(static_cast<int64_t>(shape.size()) + g.integer(0, 1), g.smooth ? 1 : 0, 3));
}
Call tile(Gen& g) {
  const Dims shape = g.shape(0, 3, 3);
  return Call("tile", {anything(g, shape)}).set("repeats", g.sizes(g.integer(0, 4), g.smooth ? 1 : 0, 2));
}
Sampler triangle(const char* name) {
  return [=](Gen& g) { return Call(name, {anything(g, g.shape(2, 4))}).set("diagonal", g.integer(-2, 2)); };
}
Call diagonal(Gen& g) {
  const Dims shape = g.sizes(g.integer(2, 4), 1, 4);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t a = g.integer(0, rank - 1), b = (a + g.integer(1, rank - 1)) % rank;
  return Call("diagonal", {anything(g, shape)})
      .set("dim1", a)
      .set("dim2", g.chance() ? b : b - rank)
      .set("offset", g.integer(-1, 1));
}
Call meshgrid(Gen& g) {
  Call c("meshgrid");
  const DType t = g.any_dtype();
  for (int64_t n = g.integer(1, 3); n > 0; --n) c.inputs.push_back(g.tensor({g.size(3)}, -2, 2, t));
  return c.set("indexing", g.integer(0, 1));
}
Call pixel_shuffle(Gen& g) {
  const int64_t r = g.integer(1, 2);
  Dims shape = g.shape(0, 2, 2);
  for (int64_t d : {r * r * g.size(2), g.size(3), g.size(3)}) shape.push_back(d);
  return Call("pixelShuffle", {anything(g, shape)}).set("upscaleFactor", r);
}
Call pixel_unshuffle(Gen& g) {
  const int64_t r = g.integer(1, 2);
  Dims shape = g.shape(0, 2, 2);
  for (int64_t d : {g.size(2), r * g.size(2), r * g.size(2)}) shape.push_back(d);
  return Call("pixelUnshuffle", {anything(g, shape)}).set("downscaleFactor", r);
}

// Windows that fit, and how many there are.
struct Windows {
  Dims size, kernel, stride, padding, dilation;
  int64_t count = 1;
  explicit Windows(Gen& g) {
    const int64_t axes = g.integer(1, 2);
    kernel = g.sizes(axes, 1, 3), stride = g.sizes(axes, 1, 2), padding = g.sizes(axes, 0, 1),
    dilation = g.sizes(axes, 1, 2);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t reach = dilation[i] * (kernel[i] - 1) + 1;
      size.push_back(std::max<int64_t>(reach - 2 * padding[i], 1) + g.integer(0, 2));
      count *= (size[i] + 2 * padding[i] - reach) / stride[i] + 1;
    }
  }
  Call& set(Call& c) const {
    return c.set("kernelSize", kernel)
        .set("stride", stride)
        .set("padding", padding)
        .set("dilation", dilation);
  }
};
Call unfold(Gen& g) {
  const Windows w(g);
  Dims shape{g.size(2), g.size(2)};
  shape.append(w.size.begin(), w.size.end());
  Call c("unfold", {g.number(shape)});
  return w.set(c);
}
Call fold(Gen& g) {
  const Windows w(g);
  Call c("fold", {g.number({g.size(2), g.size(2) * product(w.kernel), w.count})});
  return w.set(c).set("outputSize", w.size);
}

}  // namespace

void add_rearrange_samples(SampleTable& t) {
  for (const char* name : {"sort", "argsort"}) t[name] = sorting(name);
  t["topk"] = topk;
  t["kthvalue"] = kthvalue;
  t["median"] = median;
  t["scatter"] = scatter;
  t["scatterReduce"] = scatter_reduce;
  t["takeAlongDim"] = take_along_dim;
  t["index"] = index;
  t["indexPut"] = index_put;
  t["embedding"] = embedding;
  t["embeddingBag"] = embedding_bag;
  for (const char* name : {"logicalAnd", "logicalOr", "logicalXor"}) t[name] = logical(name);
  for (const char* name : {"logicalNot", "isnan", "isinf", "isfinite", "nonzero"}) t[name] = test(name);
  t["maskedFill"] = masked_fill;
  t["maskedSelect"] = masked_select;
  t["oneHot"] = one_hot;
  t["roll"] = roll;
  t["repeat"] = repeat;
  t["tile"] = tile;
  for (const char* name : {"tril", "triu"}) t[name] = triangle(name);
  t["diagonal"] = diagonal;
  t["meshgrid"] = meshgrid;
  t["pixelShuffle"] = pixel_shuffle;
  t["pixelUnshuffle"] = pixel_unshuffle;
  t["unfold"] = unfold;
  t["fold"] = fold;
}

}  // namespace omnigrad::test
