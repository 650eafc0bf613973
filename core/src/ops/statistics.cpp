// Reductions built from others: variance, norms, log-sum-exp, products, any and all.
//
// Points without a derivative: a norm and a standard deviation of 0 have derivative 0, log-sum-exp of a row
// of -Infinity too. A product is a tree of multiplications, so that its derivatives are right where factors
// are 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"

namespace omnigrad {
namespace {

struct ReduceOptions {
  Dims dim;
  bool keepdim = false;
};

constexpr Schema reduction(const char* name, Doc doc, Kind kind, bool differentiable = true) {
  Schema s = op(name, doc).in("x", kind, "any shape");
  if (!differentiable) s.nondiff();
  return s.arg("dim", &ReduceOptions::dim, "axes to reduce, one or several; none: all")
      .opt("keepdim", &ReduceOptions::keepdim, "keep reduced axes with size 1");
}

OutSpecs reduced(const Dims& dim, bool keepdim, Inputs in, DType dtype) {
  const Dims dims = normalize_dims(dim, in[0].rank());
  Dims out;
  for (int64_t i = 0; i < in[0].rank(); ++i) {
    const bool gone = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (!gone) out.push_back(in[0].size(i));
    if (gone && keepdim) out.push_back(1);
  }
  return {{out, dtype}};
}

double count_of(const Tensor& x, const Dims& dim) {
  double n = 1;
  for (int64_t d : normalize_dims(dim, x.rank())) n *= static_cast<double>(x.size(d));
  return n;
}

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

// f(s) where s is not 0, else 0 with derivative 0.
template <class F>
Tensor zero_at_zero(const Tensor& s, const F& f) {
  const Tensor zero = number(0, s), at_zero = eq(s, zero);
  return where(at_zero, zero, f(where(at_zero, number(1, s), s)));
}

struct Var {
  struct Options : ReduceOptions {
    double correction = 1;
  };
  static constexpr Schema schema() {
    return reduction("var", "Variance: squared deviations from the mean, summed, over n - correction.",
                     Kind::floating)
        .opt("correction", &Options::correction, "1: unbiased; 0: of the population")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return reduced(o.dim, o.keepdim, in, in[0].dtype()); }
  static Tensor of(const Options& o, const Tensor& x) {
    const double n = std::max(count_of(x, o.dim) - o.correction, 0.0);
    return sum(square(x - mean(x, o.dim, true)), o.dim, o.keepdim) / n;
  }
  static TensorList compose(const Options& o, Inputs in) { return {of(o, in[0])}; }
};
OMNIGRAD_OP(Var)

struct Std {
  using Options = Var::Options;
  static constexpr Schema schema() {
    return reduction("std", "Standard deviation, the root of var.", Kind::floating)
        .opt("correction", &Options::correction, "1: unbiased; 0: of the population")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return reduced(o.dim, o.keepdim, in, in[0].dtype()); }
  static TensorList compose(const Options& o, Inputs in) {
    return {zero_at_zero(Var::of(o, in[0]), [](const Tensor& v) { return sqrt(v); })};
  }
};
OMNIGRAD_OP(Std)

struct Norm {
  struct Options : ReduceOptions {
    double p = 2;
  };
  static constexpr Schema schema() {
    return reduction(
               "norm",
               "(sum |x|^p)^(1/p); the greatest |x| for p Infinity, the least for -Infinity, the count of "
               "elements that are not 0 for p 0.",
               Kind::floating)
        .opt("p", &Options::p, "the order")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (std::isnan(o.p)) fail(Code::option, "p must be a number");
    if (std::isinf(o.p) && count_of(in[0], o.dim) == 0) fail("an extreme of no elements does not exist");
    return reduced(o.dim, o.keepdim, in, in[0].dtype());
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    if (o.p == 2) {
      return {zero_at_zero(sum(square(x), o.dim, o.keepdim), [](const Tensor& s) { return sqrt(s); })};
    }
    const Tensor a = abs(x);
    if (o.p == 1) return {sum(a, o.dim, o.keepdim)};
    if (std::isinf(o.p)) return {o.p > 0 ? amax(a, o.dim, o.keepdim) : amin(a, o.dim, o.keepdim)};
    if (o.p == 0) return {sum(cast(ne(x, number(0, x)), x.dtype()), o.dim, o.keepdim)};
    // |x|^p by way of 1 where x is 0: the power's derivatives are infinite there for p < 1, or for a later
    // order.
    const Tensor power = number(o.p, x), root = number(1 / o.p, x);
    const Tensor powers =
        o.p > 0 ? zero_at_zero(a, [&](const Tensor& t) { return pow(t, power); }) : pow(a, power);
    return {zero_at_zero(sum(powers, o.dim, o.keepdim), [&](const Tensor& s) { return pow(s, root); })};
  }
};
OMNIGRAD_OP(Norm)

struct Logsumexp {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction("logsumexp", "log(sum(exp(x))), without overflow.", Kind::floating).out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (count_of(in[0], o.dim) == 0) fail("needs at least one element in each sum");
    return reduced(o.dim, o.keepdim, in, in[0].dtype());
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    // The shift cancels: whatever it is, value and derivatives of every order are the same, so it may be a
    // constant.
    Tensor shift, infinite;
    {
      GradMode off(false);
      shift = amax(x, o.dim, true);
      const Tensor inf = number(std::numeric_limits<double>::infinity(), x);
      shift = where(eq(abs(shift), inf), number(0, x), shift);
    }
    const Tensor s = sum(exp(x - shift), o.dim, o.keepdim);
    const Tensor none = eq(s, number(0, x)), back = o.keepdim ? shift : reshape(shift, s.shape());
    return {where(none, number(-std::numeric_limits<double>::infinity(), x),
                  log(where(none, number(1, x), s)) + back)};
  }
};
OMNIGRAD_OP(Logsumexp)

struct Prod {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction("prod", "Product over axes; 1 of no elements. Integers wrap around.", Kind::number)
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return reduced(o.dim, o.keepdim, in, in[0].dtype()); }
  static TensorList compose(const Options& o, Inputs in) {
    Tensor t = in[0];
    for (int64_t d : normalize_dims(o.dim, t.rank())) {
      if (t.size(d) == 0) {
        Dims shape = t.shape();
        shape[static_cast<size_t>(d)] = 1;
        t = ones(shape, t.dtype());
      }
      while (t.size(d) > 1) {
        const int64_t n = t.size(d), half = n / 2;
        const Tensor pairs = slice(t, d, 0, half) * slice(t, d, half, 2 * half);
        t = n % 2 ? cat({pairs, slice(t, d, n - 1, n)}, d) : pairs;
      }
    }
    const Dims shape = Prod::shape(o, in)[0].shape;
    return {t.impl() == in[0].impl() ? alias(reshape(t, shape)) : reshape(t, shape)};
  }
};
OMNIGRAD_OP(Prod)

// any and all: count what decides.
template <class Op>
struct Decision {
  using Options = ReduceOptions;
  static constexpr Schema schema() {
    return reduction(Op::kName, Op::kDoc, Kind::any, false).out("y").nondiff().no_gradient("a truth value");
  }
  static OutSpecs shape(const Options& o, Inputs in) { return reduced(o.dim, o.keepdim, in, DType::boolean); }
  static TensorList compose(const Options& o, Inputs in) {
    GradMode off(false);
    const Tensor zero = Tensor::scalar(0, DType::int64), none = number(0, in[0]);
    if (Op::kAny) return {gt(sum(ne(in[0], none), o.dim, o.keepdim), zero)};
    return {eq(sum(eq(in[0], none), o.dim, o.keepdim), zero)};
  }
};

struct Any : Decision<Any> {
  static constexpr const char* kName = "any";
  static constexpr Doc kDoc = "Is any element not 0? false of no elements.";
  static constexpr bool kAny = true;
};
OMNIGRAD_OP(Any)

struct All : Decision<All> {
  static constexpr const char* kName = "all";
  static constexpr Doc kDoc = "Are all elements not 0? true of no elements.";
  static constexpr bool kAny = false;
};
OMNIGRAD_OP(All)

}  // namespace

Tensor norm(const Tensor& x, double p, const Dims& dims, bool keepdim) {
  Norm::Options o;
  o.dim = dims;
  o.keepdim = keepdim;
  o.p = p;
  return apply1<Norm>({x}, o);
}

}  // namespace omnigrad
