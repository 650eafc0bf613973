// Scaled dot-product attention and rotary position embedding.
//
// A query that no key is allowed for gives a row of zeros, with gradient 0, as PyTorch has it since 2.5.
#include "kernels/attention.h"

#include <cmath>
#include <limits>

#include "omnigrad/autograd.h"
#include "omnigrad/ops.h"
#include "tensor/pool.h"

namespace omnigrad {
namespace {

// true where query i may see key j <= i.
Tensor causal_mask(int64_t queries, int64_t keys) {
  const auto count = [](int64_t n) { return arange(0, static_cast<double>(n), 1, DType::int32); };
  return ge(reshape(count(queries), {queries, 1}), count(keys));
}

// softmax(q k^T scale) v for q [*, L, E], k [*, S, E], v [*, S, F] with the same leading axes, fused.
struct CoreOptions {
  double scale = 1;
  bool causal = false;
};
struct KeepingOptions : CoreOptions {
  bool keep = false;
};

kernels::AttentionSizes core_sizes(const CoreOptions& o, Inputs in) {
  const Dims &q = in[0].shape(), &k = in[1].shape(), &v = in[2].shape();
  const size_t r = q.size();
  bool fits = r >= 2 && k.size() == r && v.size() == r && q[r - 1] == k[r - 1] && k[r - 2] == v[r - 2];
  int64_t heads = 1;
  for (size_t i = 0; fits && i + 2 < r; ++i) {
    fits = q[i] == k[i] && q[i] == v[i];
    heads *= q[i];
  }
  if (!fits) fail("q ", q, ", k ", k, " and v ", v, " must be [*, L, E], [*, S, E] and [*, S, F]");
  return {heads, q[r - 2], k[r - 2], q[r - 1], v[r - 1], o.scale, o.causal};
}
Dims core_shape(Inputs in) {
  Dims y = in[0].shape();
  y.back() = in[2].shape().back();
  return y;
}
Tensor core_composite(const CoreOptions& o, const TensorList& in) {
  Tensor s = matmul(in[0] * o.scale, transpose(in[1], -1, -2));
  if (o.causal) {
    const Tensor nothing = Tensor::scalar(-std::numeric_limits<double>::infinity(), s.dtype());
    s = where(causal_mask(in[0].size(-2), in[1].size(-2)), s, nothing);
  }
  return matmul(softmax(s, -1), in[2]);
}

struct AttentionGrad {
  struct Options : CoreOptions {
    bool want_q = true, want_k = true, want_v = true;
  };
  static constexpr Schema schema() {
    return op("attentionGrad", "The gradients of attentionCore, fused; those not wanted are empty.")
        .in("q", Kind::floating, "as attentionCore's")
        .saved()
        .in("k", Kind::floating, "as attentionCore's")
        .saved()
        .in("v", Kind::floating, "as attentionCore's")
        .saved()
        .in("g", Kind::floating, "the cotangent of y")
        .saved()
        .in("weights", Kind::floating, "attentionCore's, saving the time to make them again")
        .nondiff()
        .optional()
        .opt<CoreOptions, double>("scale", &Options::scale)
        .opt<CoreOptions, bool>("causal", &Options::causal)
        .opt("wantQ", &Options::want_q)
        .opt("wantK", &Options::want_k)
        .opt("wantV", &Options::want_v)
        .out("gq")
        .when("wantQ")
        .out("gk")
        .when("wantK")
        .out("gv")
        .when("wantV")
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const kernels::AttentionSizes sizes = core_sizes(o, in);
    if (!(in[3].shape() == core_shape(in))) fail("g ", in[3].shape(), " must have shape ", core_shape(in));
    if (in[4] && in[4].numel() != kernels::attention_weights(sizes))
      fail("weights ", in[4].shape(), " must have ", kernels::attention_weights(sizes), " elements");
    const DType t = in[0].dtype();
    const auto spec = [&](bool wanted, const Tensor& x) { return OutSpec{wanted ? x.shape() : Dims{0}, t}; };
    return {spec(o.want_q, in[0]), spec(o.want_k, in[1]), spec(o.want_v, in[2])};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::AttentionSizes sizes = core_sizes(o, in);
    const Tensor q = in[0].contiguous(), k = in[1].contiguous(), v = in[2].contiguous(),
                 g = in[3].contiguous(), weights = in[4] ? in[4].contiguous() : in[4];
    visit_floating(q.dtype(), [&]<class T>() {
      Workspace ws(kernels::attention_grad_workspace<T>(sizes));
      kernels::attention_grad<T>(sizes, q.data<T>(), k.data<T>(), v.data<T>(), g.data<T>(),
                                 weights ? weights.data<T>() : nullptr, o.want_q ? out[0].data<T>() : nullptr,
                                 o.want_k ? out[1].data<T>() : nullptr, o.want_v ? out[2].data<T>() : nullptr,
                                 ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents v, Need need) {
    TensorList wanted(3);
    if (o.want_q) wanted[0] = v[0];
    if (o.want_k) wanted[1] = v[1];
    if (o.want_v) wanted[2] = v[2];
    Grads grads = double_backward([&o](const TensorList& in) { return TensorList{core_composite(o, in)}; },
                                  {s.in(0), s.in(1), s.in(2)}, {s.in(3)}, wanted, need);
    grads.resize(5);
    return grads;
  }
};
OMNIGRAD_OP(AttentionGrad)

struct AttentionCore {
  using Options = KeepingOptions;
  // More of them are made again in the gradient rather than kept.
  static constexpr int64_t kKeptWeights = int64_t{1} << 22;

  static constexpr Schema schema() {
    return op("attentionCore", "softmax(q k^T scale) v over the last two axes.")
        .in("q", Kind::floating, "[*, L, E]")
        .saved()
        .in("k", Kind::floating, "[*, S, E]")
        .saved()
        .in("v", Kind::floating, "[*, S, F]")
        .saved()
        .opt<CoreOptions, double>("scale", &Options::scale)
        .opt<CoreOptions, bool>("causal", &Options::causal)
        .opt("keep", &Options::keep, "leave the weights for the gradient, where they are few")
        .out("y")
        // A cache: the gradient is a function of q, k, v and g, and its own vjp makes them of q and k.
        .out("weights")
        .nondiff()
        .saved()
        .internal();
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const int64_t weights = kernels::attention_weights(core_sizes(o, in));
    const DType t = in[0].dtype();
    return {{core_shape(in), t}, {Dims{o.keep && weights <= kKeptWeights ? weights : 0}, t}};
  }
  static void forward(const Options& o, Inputs in, TensorList& out) {
    const kernels::AttentionSizes sizes = core_sizes(o, in);
    const Tensor q = in[0].contiguous(), k = in[1].contiguous(), v = in[2].contiguous();
    visit_floating(q.dtype(), [&]<class T>() {
      Workspace ws(kernels::attention_workspace<T>(sizes));
      kernels::attention<T>(sizes, q.data<T>(), k.data<T>(), v.data<T>(), out[0].data<T>(),
                            out[1].numel() > 0 ? out[1].data<T>() : nullptr, ws.as());
    });
  }
  static Grads vjp(const Options& o, const Saved& s, Cotangents g, Need need) {
    AttentionGrad::Options options;
    static_cast<CoreOptions&>(options) = o;
    options.want_q = need[0], options.want_k = need[1], options.want_v = need[2];
    const Tensor weights = s.out(1);
    const TensorList t = apply<AttentionGrad>(
        {s.in(0), s.in(1), s.in(2), g[0], weights.numel() > 0 ? weights : Tensor()}, options);
    Grads grads(3);
    for (size_t i = 0; i < 3; ++i)
      if (need[i]) grads[i] = t[i];
    return grads;
  }
};
OMNIGRAD_OP(AttentionCore)

struct ScaledDotProductAttention {
  struct Options {
    bool isCausal = false, enableGqa = false;
    std::optional<double> scale;
    double dropoutP = 0;
    int64_t seed = 0, offset = 0;
  };
  static constexpr Schema schema() {
    return op("scaledDotProductAttention",
              "softmax(q k^T * scale + mask) v over the last two axes; a query without any key gives 0.")
        .in("q", Kind::floating, "[*, L, E]")
        .in("k", Kind::floating, "[*, S, E]; leading axes broadcast")
        .in("v", Kind::floating, "[*, S, F]")
        .in("attnMask", Kind::free, "broadcasts to [*, L, S]; bool: true where a key counts; floating: added")
        .optional()
        .opt("isCausal", &Options::isCausal, "query i sees keys 0 to i only")
        .opt("scale", &Options::scale, "null: 1 / sqrt(E)")
        .opt("enableGqa", &Options::enableGqa, "q has a multiple of the heads of k and v, that share them")
        .opt("dropoutP", &Options::dropoutP, "share of the weights that dropout sets to 0")
        .opt("seed", &Options::seed, "of dropout's generator")
        .opt("offset", &Options::offset, "blocks that the generator has given out before")
        .out("y");
  }
  static Dims leading(const Tensor& t) { return Dims(t.shape().begin(), t.shape().end() - 2); }
  // k and v with q's number of heads.
  static Dims shared_heads(const Options& o, const Tensor& q, const Tensor& k, const char* name) {
    Dims lead = leading(k);
    if (!o.enableGqa) return lead;
    if (q.rank() < 3 || k.rank() < 3 || k.size(-3) < 1 || q.size(-3) % k.size(-3) != 0)
      fail("enableGqa: the heads of ", name, " ", k.shape(), " must divide those of q ", q.shape());
    lead.back() = q.size(-3);
    return lead;
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Tensor &q = in[0], &k = in[1], &v = in[2];
    if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2)
      fail("q, k and v need two axes or more: [*, length, features]");
    if (q.size(-1) != k.size(-1)) fail("q has ", q.size(-1), " features but k ", k.size(-1));
    if (k.size(-2) != v.size(-2)) fail("k has ", k.size(-2), " positions but v ", v.size(-2));
    if (!(o.dropoutP >= 0 && o.dropoutP <= 1))
      fail(Code::option, "dropoutP ", o.dropoutP, " must be in [0, 1]");
    if (o.scale && !std::isfinite(*o.scale)) fail(Code::option, "scale ", *o.scale, " must be finite");
    Dims scores = broadcast_shapes(leading(q), shared_heads(o, q, k, "k"));
    scores.push_back(q.size(-2));
    scores.push_back(k.size(-2));
    if (in[3]) {
      const DType t = in[3].dtype();
      if (t != DType::boolean && t != q.dtype())
        fail(Code::dtype, "attnMask has dtype ", t, ", it must be bool or ", q.dtype());
      if (!(broadcast_shapes(in[3].shape(), scores) == scores))
        fail("attnMask ", in[3].shape(), " does not broadcast to ", scores);
    }
    Dims out = broadcast_shapes(Dims(scores.begin(), scores.end() - 2), shared_heads(o, q, v, "v"));
    out.push_back(q.size(-2));
    out.push_back(v.size(-1));
    return {{out, q.dtype()}};
  }
  static Tensor with_heads(const Options& o, const Tensor& t, int64_t heads) {
    if (!o.enableGqa || t.size(-3) == heads) return t;
    const int64_t axis = t.rank() - 2, own = t.size(-3);
    Dims spread = t.shape(), merged = t.shape();
    spread.insert(static_cast<size_t>(axis), heads / own);
    merged[static_cast<size_t>(axis - 1)] = heads;
    return reshape(expand(unsqueeze(t, axis), spread), merged);
  }
  // No mask, no dropout: the fused core, over leading axes that are written out.
  static Tensor fused(const Options& o, double scale, const TensorList& in) {
    Dims lead = broadcast_shapes(broadcast_shapes(leading(in[0]), leading(in[1])), leading(in[2]));
    const auto spread = [&](const Tensor& t) {
      Dims shape = lead;
      shape.push_back(t.size(-2));
      shape.push_back(t.size(-1));
      return t.shape() == shape ? t : expand(t, shape);
    };
    AttentionCore::Options core;
    core.scale = scale;
    core.causal = o.isCausal;
    for (const Tensor& t : in) core.keep |= grad_enabled() && t.requires_grad();
    return apply<AttentionCore>({spread(in[0]), spread(in[1]), spread(in[2])}, core)[0];
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& q = in[0];
    const int64_t heads = o.enableGqa ? q.size(-3) : 0;
    const Tensor k = with_heads(o, in[1], heads), v = with_heads(o, in[2], heads);
    const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
    if (!in[3] && o.dropoutP == 0) return {fused(o, scale, {q, k, v})};
    Tensor s = matmul(q * scale, transpose(k, -1, -2));
    const Tensor nothing = Tensor::scalar(-std::numeric_limits<double>::infinity(), q.dtype());
    if (o.isCausal) s = where(causal_mask(q.size(-2), k.size(-2)), s, nothing);
    if (in[3]) s = in[3].dtype() == DType::boolean ? where(in[3], s, nothing) : s + in[3];
    Tensor p;
    if (in[3] && k.size(-2) > 0) {
      Tensor blind;
      {
        GradMode off(false);
        blind = eq(amax(s, {-1}, true), nothing);
      }
      const Tensor zero = Tensor::scalar(0, q.dtype());
      p = where(blind, zero, softmax(where(blind, zero, s), -1));
    } else {
      p = softmax(s, -1);
    }
    if (o.dropoutP > 0) p = dropout(p, o.dropoutP, o.seed, o.offset);
    return {matmul(p, v)};
  }
};
OMNIGRAD_OP(ScaledDotProductAttention)

// Su et al., "RoFormer", 2021: each pair of features turns by its position times a frequency of its own.
struct RotaryEmbedding {
  struct Options {
    double base = 10000;
    int64_t offset = 0;
    bool interleaved = true;
  };
  static constexpr Schema schema() {
    return op("rotaryEmbedding",
              "Turns each pair of features (a, b) by an angle: (a cos - b sin, a sin + b cos).")
        .in("x", Kind::floating, "[*, length, features], an even number of features")
        .in("cos", Kind::floating, "broadcasts to [*, length, features / 2]; absent: from base and offset")
        .optional()
        .in("sin", Kind::floating, "as cos")
        .optional()
        .opt("base", &Options::base, "pair i turns by base^(-2 i / features) radians a position")
        .opt("offset", &Options::offset, "the first position")
        .opt("interleaved", &Options::interleaved,
             "pairs are neighbours; else features i and i + features / 2")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    if (x.rank() < 2 || x.size(-1) % 2 != 0)
      fail("x ", x.shape(), " needs [*, length, features], features even");
    if (in[1].defined() != in[2].defined())
      fail(Code::argument, "cos and sin come together: one of them is missing");
    if (!(o.base > 0)) fail(Code::option, "base ", o.base, " must be positive");
    Dims half = x.shape();
    half.back() /= 2;
    for (size_t i = 1; i < 3 && in[i]; ++i) {
      if (!(broadcast_shapes(in[i].shape(), half) == half))
        fail(i == 1 ? "cos " : "sin ", in[i].shape(), " does not broadcast to ", half);
    }
    return {{x.shape(), x.dtype()}};
  }
  // cos or sin of every position's angles, [length, half].
  static Tensor table(const Options& o, const Tensor& x, double (*f)(double)) {
    const int64_t length = x.size(-2), half = x.size(-1) / 2;
    const Tensor t = Tensor::empty({length, half}, x.dtype());
    visit_floating(x.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < half; ++i) {
        const double speed = std::pow(o.base, -static_cast<double>(i) / static_cast<double>(half));
        for (int64_t p = 0; p < length; ++p) {
          t.data<T>()[p * half + i] =
              static_cast<T>(f((static_cast<double>(o.offset) + static_cast<double>(p)) * speed));
        }
      }
    });
    return t;
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor& x = in[0];
    const Tensor c = in[1] ? in[1] : table(o, x, [](double a) { return std::cos(a); }),
                 s = in[2] ? in[2] : table(o, x, [](double a) { return std::sin(a); });
    const int64_t half = x.size(-1) / 2, axis = x.rank() - 1;
    if (!o.interleaved) {
      const Tensor a = slice(x, axis, 0, half), b = slice(x, axis, half, 2 * half);
      return {cat({a * c - b * s, a * s + b * c}, axis)};
    }
    Dims pairs = x.shape();
    pairs.back() = half;
    pairs.push_back(2);
    const Tensor t = reshape(x, pairs);
    const auto part = [&](int64_t i) { return squeeze(slice(t, axis + 1, i, i + 1), axis + 1); };
    const Tensor a = part(0), b = part(1);
    const auto last = [&](const Tensor& y) { return unsqueeze(y, axis + 1); };
    return {reshape(cat({last(a * c - b * s), last(a * s + b * c)}, axis + 1), x.shape())};
  }
};
OMNIGRAD_OP(RotaryEmbedding)

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    bool is_causal, std::optional<double> scale) {
  ScaledDotProductAttention::Options o;
  o.isCausal = is_causal;
  o.scale = scale;
  return apply1<ScaledDotProductAttention>({q, k, v, mask}, o);
}

}  // namespace omnigrad
