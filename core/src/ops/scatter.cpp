// Scatters that do more than add, advanced indexing and embeddings: composites of gather, scatter_add and
// masks.
//
// Where two sources meet in one place of `scatter`, the last one wins, and it alone has a gradient. amax and
// amin share theirs equally among ties.
#include <algorithm>
#include <limits>

#include "kernels/index.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

struct DimOptions {
  int64_t dim = 0;
};

// For each element of index, its place in a running count of those that went to the same destination before
// it.
Tensor order_of_arrival(const Tensor& index, const Dims& target, int64_t dim) {
  const Tensor i = cast(index, DType::int64).contiguous();
  Tensor count = Tensor::zeros(target, DType::int64), rank = Tensor::empty(i.shape(), DType::int64);
  const Dims step = contiguous_strides(target), own = contiguous_strides(i.shape());
  for (int64_t k = 0; k < i.numel(); ++k) {
    int64_t place = 0;
    for (size_t a = 0; a < step.size(); ++a) {
      const int64_t at = static_cast<int64_t>(a) == dim ? i.data<int64_t>()[k] : k / own[a] % i.shape()[a];
      place += at * step[a];
    }
    rank.data<int64_t>()[k] = count.data<int64_t>()[place]++;
  }
  return rank;
}

// Those elements of source that index reaches: scatters allow source to be larger.
Tensor inside(const Tensor& source, const Dims& shape) {
  Tensor t = source;
  for (size_t a = 0; a < shape.size(); ++a) {
    if (t.shape()[a] != shape[a]) t = slice(t, static_cast<int64_t>(a), 0, shape[a]);
  }
  return t;
}

void check_scatter(const DimOptions& o, Inputs in) {
  // scatter_add's own rule, run without its forward.
  find_op("scatterAdd")->shape(&o, {in[0], in[1], in[2]});
}

struct Scatter {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("scatter",
              "x with y[index[i][j]][j] = source[i][j] for axis 0, likewise for others; the last one wins.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "x's rank")
        .in("source", Kind::any, "at least as large as index")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_scatter(o, in);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    const int64_t dim = normalize_dim(o.dim, x.rank());
    Tensor hit, wins;
    {
      GradMode off(false);
      const Tensor rank = order_of_arrival(in[1], x.shape(), dim);
      const Tensor total =
          scatter_add(zeros(x.shape(), DType::int64), in[1], ones(in[1].shape(), DType::int64), dim);
      hit = gt(total, number(0, total));
      wins = eq(rank + 1, gather(total, in[1], dim));
    }
    const DType work = x.dtype() == DType::boolean ? DType::uint8 : x.dtype();
    const Tensor source = cast(inside(in[2], in[1].shape()), work);
    const Tensor placed =
        scatter_add(zeros(x.shape(), work), in[1], where(wins, source, number(0, source)), dim);
    return {where(hit, cast(placed, x.dtype()), x)};
  }
};
OMNIGRAD_OP(Scatter)

struct ScatterReduce {
  enum class Reduce { sum, prod, mean, amax, amin };
  struct Options {
    int64_t dim = 0;
    Reduce reduce = Reduce::sum;
    bool includeSelf = true;
  };
  static constexpr Schema schema() {
    return op("scatterReduce", "x combined with the sources that index sends to each place.")
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .in("index", Kind::index, "x's rank")
        .in("source", Kind::number, "at least as large as index")
        .arg("reduce", &Options::reduce, "how", {"sum", "prod", "mean", "amax", "amin"})
        .opt("includeSelf", &Options::includeSelf, "x's own element takes part")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_scatter({o.dim}, in);
    if (o.reduce == Reduce::mean && !is_floating(in[0].dtype())) {
      fail(Code::dtype, "the mean of integers is no integer: cast x and source to a floating dtype");
    }
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    const Tensor &index = in[1], source = inside(in[2], index.shape());
    Tensor count, rank;
    {
      GradMode off(false);
      count = scatter_add(zeros(in[0].shape(), DType::int64), index, ones(index.shape(), DType::int64), dim);
      rank = order_of_arrival(index, in[0].shape(), dim);
    }
    const Tensor hit = gt(count, number(0, count));
    const bool adds = o.reduce == Reduce::sum || o.reduce == Reduce::mean;
    if (adds) {
      const Tensor start = o.includeSelf ? in[0] : where(hit, number(0, in[0]), in[0]);
      const Tensor total = scatter_add(start, index, source, dim);
      if (o.reduce == Reduce::sum) return {total};
      const Tensor n = o.includeSelf ? count + 1 : where(hit, count, number(1, count));
      return {total / cast(n, total.dtype())};
    }
    // One source a place and round: each round sends distinct places, so a plain scatter brings its factors.
    const int64_t rounds = rank.numel() ? static_cast<int64_t>(amax(rank).item()) + 1 : 0;
    Tensor y = in[0];
    for (int64_t k = 0; k < rounds; ++k) {
      const Tensor now = eq(rank, number(static_cast<double>(k), rank));
      const Tensor here = gt(count, number(static_cast<double>(k), count));
      const Tensor brought =
          scatter_add(zeros(in[0].shape(), y.dtype()), index, where(now, source, number(0, source)), dim);
      Tensor next = k == 0 && !o.includeSelf ? brought : combine(o.reduce, y, brought);
      y = where(here, next, y);
    }
    return {alias(y)};
  }
  static Tensor combine(Reduce reduce, const Tensor& a, const Tensor& b) {
    if (reduce == Reduce::prod) return a * b;
    return reduce == Reduce::amax ? maximum(a, b) : minimum(a, b);
  }
};
OMNIGRAD_OP(ScatterReduce)

struct TakeAlongDim {
  using Options = DimOptions;
  static constexpr Schema schema() {
    return op("takeAlongDim", "gather, with x and index broadcast off the axis.")
        .in("x", Kind::any, "at least one axis")
        .in("index", Kind::index, "x's rank")
        .arg("dim", &Options::dim, "the axis")
        .out("y");
  }
  static Dims off_axis(const Tensor& a, const Tensor& b, int64_t dim) {
    Dims x = a.shape(), y = b.shape();
    if (x.size() != y.size()) fail("x ", x, " and index ", y, " must have one rank");
    x[static_cast<size_t>(dim)] = y[static_cast<size_t>(dim)] = 1;
    return broadcast_shapes(x, y);
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    Dims shape = off_axis(in[0], in[1], dim);
    shape[static_cast<size_t>(dim)] = in[1].size(dim);
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const int64_t dim = normalize_dim(o.dim, in[0].rank());
    Dims x = off_axis(in[0], in[1], dim), i = x;
    x[static_cast<size_t>(dim)] = in[0].size(dim);
    i[static_cast<size_t>(dim)] = in[1].size(dim);
    return {gather(expand(in[0], x), expand(in[1], i), dim)};
  }
};
OMNIGRAD_OP(TakeAlongDim)

// The shape that indices of x's first axes broadcast to, each in range; negative ones count from the end.
Dims check_indices(const Tensor& x, Inputs in, size_t first) {
  const size_t axes = in.size() - first;
  if (axes == 0 || axes > x.shape().size())
    fail(Code::argument, "needs one index tensor for each of up to ", x.rank(), " axes");
  Dims shape;
  for (size_t a = 0; a < axes; ++a) shape = broadcast_shapes(shape, in[first + a].shape());
  for (size_t a = 0; a < axes; ++a) {
    const Tensor& i = in[first + a];
    const int64_t size = x.shape()[a];
    const kernels::IndexRange r = kernels::index_range(i.dtype(), i.raw(), i.strides().data(),
                                                       i.shape().data(), static_cast<int>(i.rank()));
    if (r.min <= r.max && (r.min < -size || r.max >= size)) {
      fail(Code::index, "index ", r.min < -size ? r.min : r.max, " of axis ", a, " is out of range for size ",
           size);
    }
  }
  return shape;
}

// Checked indices as one index into their axes flattened.
Tensor flat_index(const Tensor& x, Inputs in, size_t first, const Dims& shape) {
  GradMode off(false);
  Tensor flat = zeros(shape, DType::int64);
  for (size_t a = 0; first + a < in.size(); ++a) {
    const auto size = static_cast<double>(x.shape()[a]);
    const Tensor i = cast(in[first + a], DType::int64);
    flat = flat * size + where(lt(i, number(0, i)), i + size, i);
  }
  return reshape(flat, {-1});
}

// x with its first `axes` axes flattened.
Dims leading_flat(const Tensor& x, size_t axes) {
  Dims flat{1};
  for (size_t a = 0; a < x.shape().size(); ++a) {
    if (a < axes) {
      flat[0] *= x.shape()[a];
    } else {
      flat.push_back(x.shape()[a]);
    }
  }
  return flat;
}

Dims indexed_shape(const Dims& index, const Tensor& x, size_t axes) {
  Dims out = index;
  out.append(x.shape().begin() + axes, x.shape().end());
  return out;
}

struct Index {
  static constexpr Schema schema() {
    return op("index", "x[i, j, ...]: advanced indexing of the first axes by broadcast index tensors.")
        .in("x", Kind::any, "at least as many axes as indices")
        .in("indices", Kind::index, "broadcast with each other; negative ones count from the end")
        .variadic()
        .out("y");
  }
  static OutSpecs shape(const NoOptions&, Inputs in) {
    return {{indexed_shape(check_indices(in[0], in, 1), in[0], in.size() - 1), in[0].dtype()}};
  }
  static TensorList compose(const NoOptions&, Inputs in) {
    const Dims shape = check_indices(in[0], in, 1);
    const size_t axes = in.size() - 1;
    const Tensor flat = flat_index(in[0], in, 1, shape);
    return {reshape(index_select(reshape(in[0], leading_flat(in[0], axes)), flat, 0),
                    indexed_shape(shape, in[0], axes))};
  }
};
OMNIGRAD_OP(Index)

struct IndexPut {
  struct Options {
    bool accumulate = false;
  };
  static constexpr Schema schema() {
    return op("indexPut", "x with x[i, j, ...] replaced by values, or added to.")
        .in("x", Kind::number, "at least as many axes as indices")
        .in("values", Kind::number, "broadcasts to the indexed shape")
        .in("indices", Kind::index, "broadcast with each other; negative ones count from the end")
        .variadic()
        .opt("accumulate", &Options::accumulate, "add instead; without it the last of equal indices wins")
        .out("y");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    const Dims target = indexed_shape(check_indices(in[0], in, 2), in[0], in.size() - 2);
    if (!(broadcast_shapes(target, in[1].shape()) == target)) {
      fail("values ", in[1].shape(), " do not broadcast to the indexed shape ", target);
    }
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims shape = check_indices(in[0], in, 2);
    const size_t axes = in.size() - 2;
    const Tensor flat = flat_index(in[0], in, 2, shape);
    const Tensor x = reshape(in[0], leading_flat(in[0], axes));
    Dims rows = x.shape();
    rows[0] = flat.numel();
    const Tensor values = reshape(expand(in[1], indexed_shape(shape, in[0], axes)), rows);
    if (o.accumulate) return {reshape(index_add(x, flat, values, 0), in[0].shape())};
    Dims thin(rows.size(), 1);
    thin[0] = rows[0];
    const Tensor index = expand(reshape(flat, thin), rows);
    return {reshape(apply1<Scatter>({x, index, values}, {0}), in[0].shape())};
  }
};
OMNIGRAD_OP(IndexPut)

struct Embedding {
  struct Options {
    std::optional<int64_t> paddingIdx;
  };
  static constexpr Schema schema() {
    return op("embedding", "Rows of a table by index.")
        .in("index", Kind::index, "any shape, from 0 to the table's rows less 1")
        .in("weight", Kind::floating, "[rows, D]")
        .opt("paddingIdx", &Options::paddingIdx, "a row that gets no gradient; negative counts from the end")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[1].rank() != 2) fail("weight must have shape [rows, D], it has ", in[1].shape());
    if (o.paddingIdx && (*o.paddingIdx < -in[1].size(0) || *o.paddingIdx >= in[1].size(0))) {
      fail(Code::option, "paddingIdx ", *o.paddingIdx, " is out of range for ", in[1].size(0), " rows");
    }
    const Tensor flat = in[0].contiguous();
    const DimOptions axis{0};
    find_op("indexSelect")->shape(&axis, {in[1], flat.as_strided({flat.numel()}, {1}, flat.offset())});
    Dims shape = in[0].shape();
    shape.push_back(in[1].size(1));
    return {{shape, in[1].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    Tensor rows = index_select(in[1], reshape(in[0], {-1}), 0);
    rows = reshape(rows, Embedding::shape(o, in)[0].shape);
    if (!o.paddingIdx) return {rows};
    const int64_t row = *o.paddingIdx < 0 ? *o.paddingIdx + in[1].size(0) : *o.paddingIdx;
    const Tensor padding =
        eq(cast(in[0], DType::int64), Tensor::scalar(static_cast<double>(row), DType::int64));
    return {where(unsqueeze(padding, -1), rows.detach(), rows)};
  }
};
OMNIGRAD_OP(Embedding)

struct EmbeddingBag {
  enum class Mode { sum, mean, max };
  struct Options {
    Mode mode = Mode::mean;
  };
  static constexpr Schema schema() {
    return op("embeddingBag", "Sums, means or maxima of rows of a table, bag by bag; an empty bag gives 0.")
        .in("index", Kind::index, "[B, L], a bag a row; or [L], cut into bags by offsets")
        .in("weight", Kind::floating, "[rows, D]")
        .in("offsets", Kind::index, "[B], where each bag begins; ascending from 0")
        .optional()
        .in("perSampleWeights", Kind::floating, "index's shape, mode sum only")
        .optional()
        .opt("mode", &Options::mode, "how a bag is combined", {"sum", "mean", "max"})
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() != (in[2] ? 1 : 2))
      fail("index must have shape [B, L], or [L] with offsets; it has ", in[0].shape());
    if (in[3] && o.mode != Mode::sum) fail(Code::option, "perSampleWeights need mode sum");
    if (in[3] && !(in[3].shape() == in[0].shape()))
      fail("perSampleWeights must have index's shape ", in[0].shape());
    if (in[2]) check_offsets(in[2], in[0].numel());
    Embedding::shape({}, {in[0], in[1]});
    return {{{in[2] ? in[2].numel() : in[0].size(0), in[1].size(1)}, in[1].dtype()}};
  }
  static void check_offsets(const Tensor& offsets, int64_t count) {
    if (offsets.rank() != 1) fail("offsets must have one axis, they have shape ", offsets.shape());
    if (offsets.numel() == 0 && count > 0) fail("offsets are empty: each index must be in a bag");
    visit_index(offsets.dtype(), [&]<class I>() {
      int64_t last = 0;
      for (int64_t i = 0; i < offsets.numel(); ++i) {
        const auto at = static_cast<int64_t>(offsets.data<I>()[i * offsets.strides()[0]]);
        if ((i == 0 && at != 0) || at < last || at > count)
          fail(Code::index, "offsets must ascend from 0 to at most ", count);
        last = at;
      }
    });
  }
  // Which bag each index is in.
  static Tensor bags(Inputs in, int64_t count) {
    Tensor out = Tensor::empty({in[0].numel()}, DType::int64);
    const Tensor offsets = in[2] ? cast(in[2], DType::int64).contiguous() : Tensor();
    for (int64_t i = 0, bag = 0; i < out.numel(); ++i) {
      while (offsets && bag + 1 < count && offsets.data<int64_t>()[bag + 1] <= i) ++bag;
      out.data<int64_t>()[i] = offsets ? bag : i / in[0].size(1);
    }
    return out;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Dims shape = EmbeddingBag::shape(o, in)[0].shape;
    Tensor rows = index_select(in[1], reshape(in[0], {-1}), 0);
    if (in[3]) rows = rows * reshape(in[3], {-1, 1});
    const Tensor bag = bags(in, shape[0]);
    if (o.mode == Mode::max) {
      ScatterReduce::Options reduce{0, ScatterReduce::Reduce::amax, false};
      return {apply1<ScatterReduce>(
          {zeros(shape, rows.dtype()), expand(unsqueeze(bag, 1), rows.shape()), rows}, reduce)};
    }
    const Tensor total = index_add(zeros(shape, rows.dtype()), bag, rows, 0);
    if (o.mode == Mode::sum) return {total};
    const Tensor count =
        index_add(zeros({shape[0]}, DType::int64), bag, ones({bag.numel()}, DType::int64), 0);
    return {total / unsqueeze(cast(maximum(count, number(1, count)), rows.dtype()), 1)};
  }
};
OMNIGRAD_OP(EmbeddingBag)

}  // namespace
}  // namespace omnigrad
