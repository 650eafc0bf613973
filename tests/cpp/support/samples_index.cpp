// Samples of ops that read or add by indices along an axis.
#include "samples.h"

namespace omnigrad::test {
namespace {

// A shape with an axis that is not empty.
struct Axis {
  Dims shape;
  int64_t dim, size;
  Dims with(int64_t n) const {
    Dims s = shape;
    s[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(s.size()) : dim)] = n;
    return s;
  }
  explicit Axis(Gen& g) : shape(g.shape(1, 3)), dim(g.dim_of(shape)), size(g.integer(1, 5)) {
    shape = with(size);
  }
};

Call index_select(Gen& g) {
  const Axis a(g);
  return Call("indexSelect", {g.tensor(a.shape, -2, 2, g.any_dtype()), g.index({g.size(6)}, a.size)})
      .set("dim", a.dim);
}

Call index_add(Gen& g) {
  const Axis a(g);
  const int64_t count = g.size(6);
  const DType t = g.number_dtype();
  return Call("indexAdd",
              {g.tensor(a.shape, -2, 2, t), g.index({count}, a.size), g.tensor(a.with(count), -2, 2, t)})
      .set("dim", a.dim);
}

// No larger than `shape` off the axis.
Dims within(Gen& g, const Axis& a, int64_t along) {
  Dims s = a.shape;
  for (int64_t& d : s) {
    if (d > 1 && g.chance(0.3)) --d;
  }
  const auto d = static_cast<size_t>(a.dim < 0 ? a.dim + static_cast<int64_t>(s.size()) : a.dim);
  s[d] = along;
  return s;
}

Call gather(Gen& g) {
  const Axis a(g);
  return Call("gather", {g.tensor(a.shape, -2, 2, g.any_dtype()), g.index(within(g, a, g.size(5)), a.size)})
      .set("dim", a.dim);
}

Call scatter_add(Gen& g) {
  const Axis a(g);
  const Dims index = within(g, a, g.size(5));
  Dims source = index;
  for (int64_t& d : source) d += g.chance(0.2) ? 1 : 0;
  const DType t = g.number_dtype();
  return Call("scatterAdd", {g.tensor(a.shape, -2, 2, t), g.index(index, a.size), g.tensor(source, -2, 2, t)})
      .set("dim", a.dim);
}

}  // namespace

void add_index_samples(SampleTable& t) {
  t["indexSelect"] = index_select;
  t["indexAdd"] = index_add;
  t["gather"] = gather;
  t["scatterAdd"] = scatter_add;
}

}  // namespace omnigrad::test
