// Random tensors of further distributions, pure functions of (seed, offset): bernoulli, multinomial,
// exponential, truncated normal. As uniform they take ceil(numel / 2) blocks, multinomial one block for each
// draw or weight.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "random/philox.h"

namespace omnigrad {
namespace {

template <class O>
constexpr Schema stream(Schema s) {
  s.opt<O, int64_t>("seed", &O::seed, "of the generator")
      .template opt<O, int64_t>("offset", &O::offset, "blocks that the generator has given out before");
  return s;
}

struct Bernoulli {
  struct Options {
    int64_t seed = 0, offset = 0;
  };
  static constexpr Schema schema() {
    return stream<Options>(op("bernoulli", "1 with probability p, else 0.")
                               .in("p", Kind::floating, "probabilities, any shape")
                               .nondiff())
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options&, Inputs in) {
    const Tensor p = in[0].contiguous();
    visit_floating(p.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < p.numel(); ++i) {
        const T v = p.data<T>()[i];
        if (!(v >= 0 && v <= 1)) fail(Code::argument, "p holds ", static_cast<double>(v), ", not in [0, 1]");
      }
    });
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    GradMode off(false);
    return {cast(lt(uniform(in[0].shape(), 0, 1, in[0].dtype(), o.seed, o.offset), in[0]), in[0].dtype())};
  }
};
OMNIGRAD_OP(Bernoulli)

struct Multinomial {
  struct Options {
    int64_t numSamples = 1;
    bool replacement = false;
    int64_t seed = 0, offset = 0;
  };
  static constexpr Schema schema() {
    return stream<Options>(op("multinomial",
                              "Indices drawn with the probabilities that weights, of any sum, give; int64.")
                               .in("weights", Kind::floating, "[n] or [rows, n], not negative")
                               .nondiff()
                               .arg("numSamples", &Options::numSamples, "how many from each row")
                               .opt("replacement", &Options::replacement, "an index may come again"))
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Tensor& w = in[0];
    if (w.rank() != 1 && w.rank() != 2) fail("weights ", w.shape(), " must be [n] or [rows, n]");
    if (o.numSamples < 1) fail(Code::option, "numSamples ", o.numSamples, " must be 1 or more");
    Dims out = w.shape();
    const int64_t n = out.back(), rows = w.rank() == 2 ? w.size(0) : 1;
    out.back() = o.numSamples;
    const Tensor t = w.contiguous();
    visit_floating(t.dtype(), [&]<class T>() {
      for (int64_t r = 0; r < rows; ++r) {
        int64_t positive = 0;
        double total = 0;
        for (int64_t i = 0; i < n; ++i) {
          const auto v = static_cast<double>(t.data<T>()[r * n + i]);
          if (!(v >= 0 && std::isfinite(v)))
            fail(Code::argument, "weights hold ", v, ": they must be finite and not negative");
          positive += v > 0;
          total += v;
        }
        if (positive == 0 || !std::isfinite(total))
          fail(Code::argument, "row ", r, " has no weight or an infinite sum");
        if (!o.replacement && positive < o.numSamples) {
          fail(Code::argument, "numSamples ", o.numSamples, " without replacement, but only ", positive,
               " weights of row ", r, " are positive");
        }
      }
    });
    return {{out, DType::int64}};
  }
  static double draw(const Options& o, int64_t i) {
    const auto w = random::philox(static_cast<uint64_t>(o.seed),
                                  static_cast<uint64_t>(o.offset) + static_cast<uint64_t>(i));
    return random::uniform_double(w[0], w[1]);
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const Tensor t = cast(in[0].detach(), DType::float64).contiguous();
    const int64_t n = t.size(-1), rows = n == 0 ? 0 : t.numel() / n;
    std::vector<double> key(static_cast<size_t>(n));
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      const double* w = t.data<double>() + r * n;
      int64_t* y = out[0].data<int64_t>() + r * o.numSamples;
      if (o.replacement) {
        std::partial_sum(w, w + n, key.begin());
        for (int64_t i = 0; i < o.numSamples; ++i) {
          const double u = draw(o, r * o.numSamples + i) * key.back();
          const auto at = std::upper_bound(key.begin(), key.end(), u);
          y[i] = std::min<int64_t>(at - key.begin(), n - 1);
          while (w[y[i]] == 0) --y[i];  // u rounded up to the whole sum
        }
        continue;
      }
      // The order of exponential waiting times is that of draws without replacement.
      std::iota(order.begin(), order.end(), 0);
      for (int64_t i = 0; i < n; ++i) key[static_cast<size_t>(i)] = -std::log(1 - draw(o, r * n + i)) / w[i];
      for (int64_t i = 0; i < n; ++i) {
        if (w[i] == 0) key[static_cast<size_t>(i)] = HUGE_VAL;
      }
      const auto before = [&](int64_t a, int64_t b) {
        const double x = key[static_cast<size_t>(a)], y = key[static_cast<size_t>(b)];
        return x < y || (x == y && a < b);
      };
      std::partial_sort(order.begin(), order.begin() + o.numSamples, order.end(), before);
      std::copy_n(order.begin(), o.numSamples, y);
    }
  }
};
OMNIGRAD_OP(Multinomial)

constexpr Choices kFloatNames{"float32", "float64"};

void check_shape(const Dims& shape) {
  if (shape.size() > kMaxRank) fail("rank ", shape.size(), " is above the limit of ", kMaxRank);
  for (int64_t d : shape) {
    if (d < 0) fail("shape ", shape, ": sizes are not negative");
  }
}

struct Exponential {
  struct Options {
    Dims shape;
    double rate = 1;
    int64_t seed = 0, offset = 0;
    DType dtype = DType::float32;
  };
  static constexpr Schema schema() {
    return stream<Options>(op("exponential", "Exponential with a rate: -log(1 - u) / rate, u uniform.")
                               .arg("shape", &Options::shape, "its shape")
                               .opt("rate", &Options::rate, "1 / mean, positive")
                               .opt("dtype", &Options::dtype, "float32 or float64", kFloatNames))
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    if (!(o.rate > 0)) fail(Code::option, "rate ", o.rate, " must be positive");
    return {{o.shape, o.dtype}};
  }
  static TensorList compose(const Options& o, Inputs) {
    return {call("log1p", {-uniform(o.shape, 0, 1, o.dtype, o.seed, o.offset)}) / -o.rate};
  }
};
OMNIGRAD_OP(Exponential)

struct TruncNormal {
  struct Options {
    Dims shape;
    double mean = 0, std = 1, low = -2, high = 2;
    int64_t seed = 0, offset = 0;
    DType dtype = DType::float32;
  };
  static constexpr Schema schema() {
    return stream<Options>(
               op("truncNormal", "Normal with a mean and a standard deviation, within [low, high].")
                   .arg("shape", &Options::shape, "its shape")
                   .opt("mean", &Options::mean, "of the whole distribution")
                   .opt("std", &Options::std, "its standard deviation, positive")
                   .opt("low", &Options::low, "the least value")
                   .opt("high", &Options::high, "the greatest value")
                   .opt("dtype", &Options::dtype, "float32 or float64", kFloatNames))
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    if (!std::isfinite(o.mean)) fail(Code::option, "mean ", o.mean, " must be finite");
    if (!(o.std > 0 && std::isfinite(o.std)))
      fail(Code::option, "std ", o.std, " must be positive and finite");
    if (!(o.low <= o.high)) fail(Code::option, "low ", o.low, " must not exceed high ", o.high);
    return {{o.shape, o.dtype}};
  }
  // By the inverse of the distribution function, in double: the tails of a float's would be coarse.
  static TensorList compose(const Options& o, Inputs) {
    const double root = std::sqrt(2.0);
    const Tensor low = Tensor::scalar(o.low, DType::float64), high = Tensor::scalar(o.high, DType::float64);
    const double from = std::erf((o.low - o.mean) / (o.std * root)),
                 to = std::erf((o.high - o.mean) / (o.std * root));
    const Tensor u = uniform(o.shape, from, to, DType::float64, o.seed, o.offset);
    const Tensor y = call("erfinv", {u}) * (o.std * root) + o.mean;
    return {cast(minimum(maximum(y, low), high), o.dtype)};
  }
};
OMNIGRAD_OP(TruncNormal)

}  // namespace
}  // namespace omnigrad
