// Dropout and its kin. Which elements stay is a pure function of (seed, offset), so that no mask is kept: the
// gradient draws it again.
#include <cmath>

#include "kernels/random.h"
#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct DropoutOptions {
  double p = 0.5;
  bool training = true;
  int64_t seed = 0, offset = 0;
};

constexpr Schema dropout_op(const char* name, Doc doc, Doc x) {
  return op(name, doc)
      .in("x", Kind::floating, x)
      .arg("p", &DropoutOptions::p, "in [0, 1]: the probability to be dropped")
      .opt("training", &DropoutOptions::training, "else y is x")
      .opt("seed", &DropoutOptions::seed, "of the generator")
      .opt("offset", &DropoutOptions::offset, "blocks that the generator has given out before")
      .out("y");
}
void check_probability(double p) {
  if (!(p >= 0 && p <= 1)) fail(Code::option, "p ", p, " must be in [0, 1]");
}

// The linear map x -> x * kept / (1 - p), its own adjoint. An element takes one of a block's four words.
struct DropoutMap {
  using Options = DropoutOptions;
  static constexpr Schema schema() {
    return dropout_op("dropoutMap", "dropout in training.", "any shape").internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_probability(o.p);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor x = in[0].contiguous();
    const int64_t n = x.numel();
    const auto dropped = static_cast<uint64_t>(std::ldexp(o.p, 32));  // words below this
    const double scale = o.p < 1 ? 1 / (1 - o.p) : 0;
    const auto seed = static_cast<uint64_t>(o.seed), first = static_cast<uint64_t>(o.offset);
    visit_floating(x.dtype(), [&]<class T>() {
      kernels::dropout<T>(seed, first, dropped, static_cast<T>(scale), n, x.data<T>(), out[0].data<T>());
    });
  }
  static Grads vjp(const Options& o, const Saved&, Cotangents g, Need) {
    return {apply1<DropoutMap>({g[0]}, o)};
  }
};
OMNIGRAD_OP(DropoutMap)

struct Dropout {
  using Options = DropoutOptions;
  static constexpr Schema schema() {
    return dropout_op("dropout", "Sets each element to 0 with probability p and divides the others by 1 - p.",
                      "any shape");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return DropoutMap::shape(o, in); }
  static TensorList compose(const Options& o, Inputs in) {
    if (!o.training || o.p == 0) return {alias(in[0])};
    return {apply1<DropoutMap>({in[0]}, o)};
  }
};
OMNIGRAD_OP(Dropout)

struct FeatureDropout {
  using Options = DropoutOptions;
  static constexpr Schema schema() {
    return dropout_op("featureDropout",
                      "Sets whole channels to 0 with probability p and divides the others by 1 - p.",
                      "[N, C, *S]");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    check_probability(o.p);
    if (in[0].rank() < 2) fail("x ", in[0].shape(), " needs [N, C, *S]");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    if (!o.training || o.p == 0) return {alias(x)};
    Dims shape(x.shape().size(), 1);
    shape[0] = x.size(0), shape[1] = x.size(1);
    // A channel that is dropped is 0 whatever was in it.
    const Tensor kept = dropout(ones(shape, x.dtype()), o.p, o.seed, o.offset),
                 zero = Tensor::scalar(0, x.dtype());
    return {where(eq(kept, zero), zero, x * kept)};
  }
};
OMNIGRAD_OP(FeatureDropout)

// Klambauer et al., "Self-normalizing neural networks", 2017: dropped elements take selu's least value, and
// an affine map keeps mean 0 and variance 1.
struct AlphaDropout {
  using Options = DropoutOptions;
  static constexpr Schema schema() {
    return dropout_op("alphaDropout", "Dropout for selu: keeps mean 0 and variance 1.", "any shape");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return DropoutMap::shape(o, in); }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    if (!o.training || o.p == 0) return {alias(x)};
    const auto number = [&](double v) { return Tensor::scalar(v, x.dtype()); };
    constexpr double least = -1.7580993408473766;
    const double a = o.p < 1 ? 1 / std::sqrt((1 - o.p) * (1 + o.p * least * least)) : 0, b = -a * o.p * least;
    const Tensor dropped = eq(dropout(ones(x.shape(), x.dtype()), o.p, o.seed, o.offset), number(0));
    return {where(dropped, number(least * a + b), x * a + b)};
  }
};
OMNIGRAD_OP(AlphaDropout)

}  // namespace

Tensor dropout(const Tensor& x, double p, int64_t seed, int64_t offset) {
  return apply1<DropoutMap>({x}, {p, true, seed, offset});
}

}  // namespace omnigrad
