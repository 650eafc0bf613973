// Random tensors, and the ops that add or multiply by one: pure functions of (seed, offset). Two elements
// come from one Philox block, whatever the dtype, so an op consumes ceil(numel / 2) blocks, by which the
// caller advances `offset`.
#include "kernels/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "omnigrad/ops.h"
#include "parallel/parallel.h"
#include "random/philox.h"

namespace omnigrad {
namespace {

constexpr Choices kFloatNames{"float32", "float64"};
constexpr int64_t kBlockGrain = 2048;

struct RandomOptions {
  Dims shape;
  int64_t seed = 0, offset = 0;
  DType dtype = DType::float32;
};

void check_shape(const Dims& shape) {
  for (int64_t d : shape) {
    if (d < 0) fail("shape ", shape, ": sizes are not negative");
  }
}

uint64_t block_at(const RandomOptions& o, int64_t i) {
  return static_cast<uint64_t>(o.offset) + static_cast<uint64_t>(i);
}

// y[2i], y[2i + 1] = draw(block i), each pair from one block: float32 and float64 runs see the same stream.
template <class T, class Draw>
void fill_pairs(const RandomOptions& o, T* y, int64_t n, const Draw& draw) {
  parallel::parallel_for((n + 1) / 2, kBlockGrain, [&](int64_t begin, int64_t end) noexcept {
    constexpr int64_t kBatch = 16;
    uint32_t words[4 * kBatch];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = (i - begin) % kBatch;
      if (at == 0)
        kernels::philox_blocks(static_cast<uint64_t>(o.seed), block_at(o, i), std::min(kBatch, end - i),
                               words);
      T a, b;
      draw(words + 4 * at, a, b);
      y[2 * i] = a;
      if (2 * i + 1 < n) y[2 * i + 1] = b;
    }
  });
}

constexpr Schema random_op(const char* name, Doc doc) {
  return op(name, doc)
      .arg("shape", &RandomOptions::shape, "its shape")
      .opt("seed", &RandomOptions::seed, "of the generator")
      .opt("offset", &RandomOptions::offset, "blocks that the generator has given out before");
}

struct Uniform {
  struct Options : RandomOptions {
    double low = 0, high = 1;
  };
  static constexpr Schema schema() {
    return random_op("uniform", "Uniform in [low, high).")
        .opt("low", &Options::low, "the least value")
        .opt("high", &Options::high, "the end, excluded")
        .opt("dtype", &Options::dtype, "float32 or float64", kFloatNames)
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    if (!(o.low <= o.high)) fail(Code::option, "low ", o.low, " must not exceed high ", o.high);
    return {{o.shape, o.dtype}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) {
    visit_floating(o.dtype, [&]<class T>() {
      const T low = static_cast<T>(o.low), width = static_cast<T>(o.high - o.low);
      fill_pairs(o, out[0].data<T>(), out[0].numel(), [=](const uint32_t* w, T& a, T& b) {
        a = low + width * static_cast<T>(unit<T>(w[0], w[1]));
        b = low + width * static_cast<T>(unit<T>(w[2], w[3]));
      });
    });
  }
  template <class T>
  static T unit(uint32_t high, uint32_t low) {
    if constexpr (sizeof(T) == 4) return random::uniform_float(high);
    return static_cast<T>(random::uniform_double(high, low));
  }
};
OMNIGRAD_OP(Uniform)

struct Normal {
  struct Options : RandomOptions {
    double mean = 0, std = 1;
  };
  static constexpr Schema schema() {
    return random_op("normal", "Normal with a mean and a standard deviation, by Box and Muller.")
        .opt("mean", &Options::mean, "of the distribution")
        .opt("std", &Options::std, "its standard deviation, not negative")
        .opt("dtype", &Options::dtype, "float32 or float64", kFloatNames)
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    if (!(o.std >= 0)) fail(Code::option, "std ", o.std, " must not be negative");
    return {{o.shape, o.dtype}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) {
    visit_floating(o.dtype, [&]<class T>() {
      fill_pairs(o, out[0].data<T>(), out[0].numel(), [&](const uint32_t* w, T& a, T& b) {
        const double u = 1 - random::uniform_double(w[0], w[1]), v = random::uniform_double(w[2], w[3]);
        const double radius = std::sqrt(-2 * std::log(u)), angle = 2 * 3.141592653589793 * v;
        a = static_cast<T>(o.mean + o.std * radius * std::cos(angle));
        b = static_cast<T>(o.mean + o.std * radius * std::sin(angle));
      });
    });
  }
};
OMNIGRAD_OP(Normal)

struct Randint {
  struct Options : RandomOptions {
    int64_t low = 0, high = 1;
    Options() { dtype = DType::int64; }
  };
  static constexpr Schema schema() {
    return random_op("randint", "Integers from low to high - 1, equally likely.")
        .arg("low", &Options::low, "the least value")
        .arg("high", &Options::high, "the end, excluded")
        .opt("dtype", &Options::dtype, "any dtype but bool",
             {"float32", "float64", "int32", "int64", "uint8"})
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    check_shape(o.shape);
    if (o.low >= o.high) fail(Code::option, "low ", o.low, " must be less than high ", o.high);
    return {{o.shape, o.dtype}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) {
    const auto range = static_cast<uint64_t>(o.high - o.low);
    visit_dtype(o.dtype, [&]<class T>() {
      fill_pairs(o, out[0].data<T>(), out[0].numel(), [&](const uint32_t* w, T& a, T& b) {
        a = static_cast<T>(o.low + static_cast<int64_t>(scale(w[0], w[1], range)));
        b = static_cast<T>(o.low + static_cast<int64_t>(scale(w[2], w[3], range)));
      });
    });
  }
  // floor(word / 2^64 * range), by halves: no remainder, a bias below range / 2^64.
  static uint64_t scale(uint32_t high, uint32_t low, uint64_t range) {
    const uint64_t r1 = range >> 32, r0 = range & 0xffffffff;
    const uint64_t mid = high * r0 + (low * r0 >> 32);
    const uint64_t cross = low * r1 + (mid & 0xffffffff);
    return high * r1 + (mid >> 32) + (cross >> 32);
  }
};
OMNIGRAD_OP(Randint)

struct Randperm {
  struct Options {
    int64_t n = 0, seed = 0, offset = 0;
  };
  static constexpr Schema schema() {
    return op("randperm", "The numbers from 0 to n - 1 in random order; int64.")
        .arg("n", &Options::n, "how many")
        .opt("seed", &Options::seed, "of the generator")
        .opt("offset", &Options::offset, "blocks that the generator has given out before")
        .out("y")
        .nondiff()
        .no_gradient("random");
  }
  static OutSpecs shape(const Options& o, Inputs) {
    if (o.n < 0) fail(Code::option, "n ", o.n, " must not be negative");
    return {{{o.n}, DType::int64}};
  }
  static void forward(const Options& o, Inputs, TensorList& out) {
    int64_t* y = out[0].data<int64_t>();
    std::iota(y, y + o.n, 0);
    // Fisher and Yates: one draw a step, two to a block.
    std::array<uint32_t, 4> w{};
    for (int64_t i = 0; i + 1 < o.n; ++i) {
      if (i % 2 == 0) {
        w = random::philox(static_cast<uint64_t>(o.seed),
                           static_cast<uint64_t>(o.offset) + static_cast<uint64_t>(i / 2));
      }
      const size_t k = static_cast<size_t>(i % 2 * 2);
      const auto j = i + static_cast<int64_t>(Randint::scale(w[k], w[k + 1], static_cast<uint64_t>(o.n - i)));
      std::swap(y[i], y[j]);
    }
  }
};
OMNIGRAD_OP(Randperm)

// What is random in training only, as dropout is: functions of x, each with its part of the stream.
struct Noisy {
  bool training = true;
  int64_t seed = 0, offset = 0;
};

template <class O>
constexpr Schema noisy_op(const char* name, Doc doc) {
  return op(name, doc)
      .in("x", Kind::floating, "any shape")
      .template opt<O, bool>("training", &O::training, "false: nothing is random")
      .template opt<O, int64_t>("seed", &O::seed, "of the generator")
      .template opt<O, int64_t>("offset", &O::offset, "blocks that the generator has given out before");
}

struct GaussianNoise {
  struct Options : Noisy {
    double std = 0.1;
  };
  static constexpr Schema schema() {
    return noisy_op<Options>("gaussianNoise", "x + normal noise of mean 0; x where not training.")
        .arg("std", &Options::std, "its standard deviation, not negative")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.std >= 0)) fail(Code::option, "std ", o.std, " must not be negative");
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    if (!o.training || o.std == 0) return {alias(in[0])};
    Normal::Options noise;
    noise.shape = in[0].shape(), noise.dtype = in[0].dtype(), noise.std = o.std;
    noise.seed = o.seed, noise.offset = o.offset;
    return {in[0] + apply1<Normal>({}, noise)};
  }
};
OMNIGRAD_OP(GaussianNoise)

struct Rrelu {
  struct Options : Noisy {
    double lower = 1.0 / 8, upper = 1.0 / 3;
  };
  static constexpr Schema schema() {
    return noisy_op<Options>("rrelu",
                             "x above 0, a x below, with a uniform in [lower, upper), their middle where not "
                             "training (Xu et al. 2015).")
        .opt("lower", &Options::lower, "the least slope")
        .opt("upper", &Options::upper, "the greatest slope")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (!(o.lower <= o.upper)) fail(Code::option, "lower ", o.lower, " must not exceed upper ", o.upper);
    return {{in[0].shape(), in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    const Tensor slope = o.training ? uniform(x.shape(), o.lower, o.upper, x.dtype(), o.seed, o.offset)
                                    : Tensor::scalar((o.lower + o.upper) / 2, x.dtype());
    return {where(gt(x, Tensor::scalar(0, x.dtype())), x, x * slope)};
  }
};
OMNIGRAD_OP(Rrelu)

}  // namespace

Tensor uniform(const Dims& shape, double low, double high, DType dtype, int64_t seed, int64_t offset) {
  Uniform::Options o;
  o.shape = shape, o.low = low, o.high = high, o.dtype = dtype, o.seed = seed, o.offset = offset;
  return apply1<Uniform>({}, o);
}

}  // namespace omnigrad
