// Scans along one axis: cumsum, cumprod, cummax, cummin.
#include "kernels/scan.h"

#include "omnigrad/ops.h"
#include "ops/axis.h"

namespace omnigrad {
namespace {

struct Cumsum {
  struct Options {
    int64_t dim = 0;
    bool reverse = false;
  };
  static constexpr Schema schema() {
    return op("cumsum", "Running sum along an axis. Integers are summed as int64.")
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .opt("reverse", &Options::reverse, "from the end")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    return {{in[0].shape(), is_floating(in[0].dtype()) ? in[0].dtype() : DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = cast(in[0], out[0].dtype()).contiguous();
    const AxisView v(x.shape(), o.dim);
    kernels::running_sum(x.dtype(), x.raw(), out[0].raw(), v.outer, v.n, v.inner, o.reverse);
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<Cumsum>({g[0]}, {o.dim, !o.reverse})};
  }
};
OMNIGRAD_OP(Cumsum)

// By doubling: y[i] takes in y[i - 1], then y[i - 2], y[i - 4], ... Only products, so derivatives hold at
// zeros too.
struct Cumprod {
  struct Options {
    int64_t dim = 0;
  };
  static constexpr Schema schema() {
    return op("cumprod", "Running product along an axis.")
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    Tensor y = in[0];
    const int64_t n = y.size(normalize_dim(o.dim, y.rank()));
    if (n < 2) return {alias(y)};
    for (int64_t d = 1; d < n; d *= 2) {
      y = cat({slice(y, o.dim, 0, d), slice(y, o.dim, d, n) * slice(y, o.dim, 0, n - d)}, o.dim);
    }
    return {y};
  }
};
OMNIGRAD_OP(Cumprod)

template <class Op>
struct RunningExtreme {
  struct Options {
    int64_t dim = 0;
  };
  static constexpr Schema schema() {
    return op(Op::kName, Op::kDoc)
        .in("x", Kind::number, "at least one axis")
        .arg("dim", &Options::dim, "the axis")
        .out("values")
        .out("indices")
        .nondiff()
        .saved();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    normalize_dim(o.dim, in[0].rank());
    return {{in[0].shape(), in[0].dtype()}, {in[0].shape(), DType::int64}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const AxisView v(x.shape(), o.dim);
    kernels::running_extreme(Op::kExtreme, x.dtype(), x.raw(), out[0].raw(), out[1].data<int64_t>(), v.outer,
                             v.n, v.inner);
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need) {
    if (!g[0]) return {{}};
    return {scatter_add(zeros_like(g[0]), s.out(1), g[0], o.dim)};
  }
};

struct Cummax : RunningExtreme<Cummax> {
  static constexpr const char* kName = "cummax";
  static constexpr Doc kDoc = "The greatest element so far and its index, the last of equals.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::max;
};
OMNIGRAD_OP(Cummax)

struct Cummin : RunningExtreme<Cummin> {
  static constexpr const char* kName = "cummin";
  static constexpr Doc kDoc = "The least element so far and its index, the last of equals.";
  static constexpr kernels::Extreme kExtreme = kernels::Extreme::min;
};
OMNIGRAD_OP(Cummin)

}  // namespace
}  // namespace omnigrad
