// Local response norm, unit vectors, weight norm: composites.
#include <cmath>

#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct LocalResponseNorm {
  struct Options {
    int64_t size = 5;
    double alpha = 1e-4, beta = 0.75, k = 1;
  };
  static constexpr Schema schema() {
    return op("localResponseNorm",
              "x / (k + alpha * mean of x^2 over neighbouring channels)^beta; channels beyond the ends count "
              "as 0.")
        .in("x", Kind::floating, "[N, C, *S]")
        .arg("size", &Options::size, "how many channels")
        .opt("alpha", &Options::alpha, "factor of the mean square")
        .opt("beta", &Options::beta, "exponent")
        .opt("k", &Options::k, "added to the mean square")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() < 2) fail("x ", in[0].shape(), " needs [N, C, *S]");
    if (o.size < 1 || o.size > INT32_MAX)
      fail(Code::option, "size ", o.size, " must be from 1 to ", INT32_MAX);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    if (x.numel() == 0) return {alias(x)};
    const int64_t n = x.size(0), channels = x.size(1);
    AvgPoolOptions pool;
    pool.kernel_size = {o.size, 1};
    pool.stride = Dims{1, 1};
    pool.padding = {{o.size / 2, (o.size - 1) / 2, 0, 0}, true};
    const Tensor square_mean =
        avg_pool(reshape(square(x), {n, 1, channels, x.numel() / (n * channels)}), pool);
    const Tensor scale = reshape(square_mean, x.shape()) * o.alpha + o.k;
    return {x / pow(scale, Tensor::scalar(o.beta, x.dtype()))};
  }
};
OMNIGRAD_OP(LocalResponseNorm)

struct Normalize {
  struct Options {
    double p = 2;
    Dims dim{1};
    double eps = 1e-12;
  };
  static constexpr Schema schema() {
    return op("normalize",
              "x / max(norm of order p, eps) along axes; where the norm is below eps it counts as constant.")
        .in("x", Kind::floating, "any shape")
        .opt("p", &Options::p, "order of the norm")
        .opt("dim", &Options::dim, "the axes")
        .opt("eps", &Options::eps, "the least divisor")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    for (int64_t d : normalize_dims(o.dim, in[0].rank())) {
      if (std::isinf(o.p) && in[0].size(d) == 0) fail("an extreme of no elements does not exist");
    }
    if (std::isnan(o.p)) fail(Code::option, "p must be a number");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor size = norm(in[0], o.p, o.dim, true), least = Tensor::scalar(o.eps, in[0].dtype());
    return {in[0] / where(lt(size, least), least, size)};
  }
};
OMNIGRAD_OP(Normalize)

struct WeightNorm {
  struct Options {
    std::optional<int64_t> dim = 0;
  };
  static constexpr Schema schema() {
    return op("weightNorm",
              "g * v / |v|, the 2-norm over all axes but one: a weight as direction and length.")
        .in("v", Kind::floating, "the direction, any shape")
        .in("g", Kind::floating, "the length: of v's size at dim and 1 elsewhere, or what broadcasts to it")
        .opt("dim", &Options::dim, "the axis that keeps norms of its own; null: one norm of all")
        .out("weight");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims lengths(in[0].shape().size(), 1);
    if (o.dim) {
      const auto d = static_cast<size_t>(normalize_dim(*o.dim, in[0].rank()));
      lengths[d] = in[0].shape()[d];
    }
    if (!(broadcast_shapes(in[1].shape(), lengths) == lengths))
      fail("g ", in[1].shape(), " does not broadcast to ", lengths);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& v = in[0];
    Dims others;
    for (int64_t i = 0; i < v.rank(); ++i) {
      if (!o.dim || i != normalize_dim(*o.dim, v.rank())) others.push_back(i);
    }
    // No axes would mean all of them.
    const Tensor size = others.empty() ? abs(v) : norm(v, 2, others, true);
    return {v * (in[1] / size)};
  }
};
OMNIGRAD_OP(WeightNorm)

}  // namespace
}  // namespace omnigrad
