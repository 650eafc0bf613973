// slice and its adjoint: each is the other's gradient.
#include "ops/slice.h"

#include <algorithm>

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

// start and stop as numbers in [0, size], as Python slices resolve them.
struct Range {
  int64_t start, count;
};
Range resolve(const SliceOptions& o, int64_t size) {
  if (o.step < 1) fail(Code::option, "step ", o.step, " must be at least 1; flip() reverses an axis");
  const auto clamp = [size](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t start = clamp(o.start), stop = o.stop ? clamp(*o.stop) : size;
  return {start, stop > start ? (stop - start + o.step - 1) / o.step : 0};
}

}  // namespace

Tensor slice_view(const SliceOptions& o, const Tensor& x) {
  const auto d = static_cast<size_t>(normalize_dim(o.dim, x.rank()));
  const Range r = resolve(o, x.shape()[d]);
  Dims shape = x.shape(), strides = x.strides();
  shape[d] = r.count;
  const int64_t offset = x.offset() + (r.count ? r.start * strides[d] : 0);
  strides[d] *= o.step;
  return x.as_strided(shape, strides, offset);
}

namespace {

struct Slice {
  using Options = SliceOptions;
  static constexpr Schema schema() {
    return op("slice",
              "Elements start, start + step, ... before stop along an axis, as Python slices; a view.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("start", &Options::start, "the first index; negative counts from the end")
        .opt("stop", &Options::stop, "the index to stop before; none: the end")
        .opt("step", &Options::step, "at least 1")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    shape[d] = resolve(o, shape[d]).count;
    return {{shape, in[0].dtype()}};
  }
  static Tensor view(const Options& o, Inputs in) { return slice_view(o, in[0]); }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need);
};
OMNIGRAD_OP(Slice)

// The adjoint of slice: x in its place, zeros around it.
struct SliceScatter {
  struct Options : SliceOptions {
    int64_t size = 0;  // of the axis
  };
  static constexpr Schema schema() {
    return op("sliceScatter", "Zeros, but for x at start, start + step, ... along an axis: slice's adjoint.")
        .in("x", Kind::any, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("start", &Options::start)
        .opt("stop", &Options::stop)
        .opt("step", &Options::step)
        .arg("size", &Options::size, "the axis' size in the result")
        .out("y")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const auto d = static_cast<size_t>(normalize_dim(o.dim, in[0].rank()));
    Dims shape = in[0].shape();
    if (o.size < 0 || resolve(o, o.size).count != shape[d]) {
      fail("a slice of an axis of size ", o.size, " has ", o.size < 0 ? 0 : resolve(o, o.size).count,
           " elements, the input ", shape[d]);
    }
    shape[d] = o.size;
    return {{shape, in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    out[0].assign(
        Tensor::scalar(0, out[0].dtype()).as_strided(out[0].shape(), Dims(out[0].shape().size()), 0));
    slice_view(o, out[0]).assign(in[0]);
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<Slice>({g[0]}, static_cast<const SliceOptions&>(o))};
  }
};
OMNIGRAD_OP(SliceScatter)

Grads Slice::vjp(const Options& o, const Saved& s, Cotangents g, Need) {
  const int64_t size =
      s.shape(0)[static_cast<size_t>(normalize_dim(o.dim, static_cast<int64_t>(s.shape(0).size())))];
  return {apply1<SliceScatter>({g[0]}, {o, size})};
}

}  // namespace

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t stop, int64_t step) {
  return apply1<Slice>({x}, {dim, start, stop, step});
}

}  // namespace omnigrad
