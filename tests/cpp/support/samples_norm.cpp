// Samples of normalisation, attention and dropout, and of the random ops beside the uniform ones.
#include "samples.h"

namespace omnigrad::test {
namespace {

Tensor maybe(Gen& g, const Tensor& t) { return g.chance(0.6) ? t : Tensor(); }
double eps(Gen& g) { return g.pick({1e-5, 1e-3, 0.1}); }
// No row of equal elements: a variance that is nearly 0 has no use for differences.
Tensor spread(Gen& g, const Dims& shape) { return g.distinct(shape); }

Call rows(Gen& g, const char* name, bool with_bias) {
  const Dims shape = g.shape(1, 4);
  const Dims normalized(shape.begin() + g.integer(0, static_cast<int64_t>(shape.size()) - 1), shape.end());
  Call c(name, {with_bias ? spread(g, shape) : g.away(shape, 0.3), maybe(g, g.tensor(normalized))});
  if (with_bias) c.inputs.push_back(maybe(g, g.tensor(normalized)));
  return c.set("normalizedShape", normalized).set("eps", eps(g));
}
Call layer_norm(Gen& g) { return rows(g, "layerNorm", true); }
Call rms_norm(Gen& g) {
  Call c = rows(g, "rmsNorm", false);
  return g.chance(0.3) && g.smooth ? c.set("eps", std::monostate()) : c;
}
Call group_norm(Gen& g) {
  const int64_t groups = g.integer(1, 3), channels = groups * g.integer(1, 3);
  Dims shape{g.size(3), channels};
  for (int64_t i = g.integer(0, 2); i > 0; --i) shape.push_back(g.size());
  return Call("groupNorm", {spread(g, shape), maybe(g, g.tensor({channels})), maybe(g, g.tensor({channels}))})
      .set("numGroups", groups)
      .set("eps", eps(g));
}
// Batch and instance norm; `own`: the option for the input's statistics.
Call with_running(Gen& g, const char* name, const char* own, const Dims& shape) {
  const Dims channels{shape[1]};
  const bool statistics = g.chance(0.7), running = !statistics || g.chance();
  Call c(name, {spread(g, shape), running ? g.tensor(channels) : Tensor(),
                running ? g.tensor(channels, 0.5, 2) : Tensor(), maybe(g, g.tensor(channels)),
                maybe(g, g.tensor(channels))});
  return c.set(own, statistics).set("eps", eps(g)).set("momentum", g.pick({0.1, 0.5}));
}
Call batch_norm(Gen& g) {
  Dims shape{g.integer(2, 4), g.integer(1, 3)};
  const Dims space = g.sizes(g.integer(0, 3), 1, 3);
  shape.append(space.begin(), space.end());
  // Long runs take another path.
  if (g.chance(0.2)) shape = {2, 2, g.integer(16, 19)};
  return with_running(g, "batchNorm", "training", shape);
}
Call instance_norm(Gen& g) {
  Dims shape{g.size(3), g.integer(1, 3), g.integer(2, 4)};
  if (g.chance()) shape.push_back(g.integer(1, 3));
  return with_running(g, "instanceNorm", "useInputStats", shape);
}
Call norm_groups(Gen& g, const char* name) {
  const bool batch = g.chance(0.4);
  const int64_t period = g.integer(1, 3), groups = period * g.integer(1, 2),
                per = batch ? 1 : g.integer(1, 3), inner = per * g.integer(1, 3),
                outer = batch ? g.integer(1, 3) : 1;
  const Dims shape{outer, groups, inner};
  Call c(name, {g.away(shape, 0.3), maybe(g, g.tensor({period, per}))});
  if (c.op().name == "normGroups") c.inputs.push_back(maybe(g, g.tensor({period, per})));
  if (c.op().name == "normGroupsGrad") {
    c.inputs.push_back(g.tensor(shape));
    c.inputs.resize(5);
  }
  return c.set("outer", outer)
      .set("groups", groups)
      .set("inner", inner)
      .set("period", period)
      .set("per", per)
      .set("centered", g.chance())
      .set("eps", 0.1);
}

Call local_response_norm(Gen& g) {
  Dims shape{g.size(3), g.integer(1, 5)};
  for (int64_t i = g.integer(0, 2); i > 0; --i) shape.push_back(g.size(3));
  return Call("localResponseNorm", {g.tensor(shape)})
      .set("size", g.integer(1, 6))
      .set("alpha", g.real(0, 1))
      .set("beta", g.pick({0.75, 0.5, 1.0}))
      .set("k", g.real(0.5, 2));
}
Call normalize(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 4);
  return Call("normalize", {g.distinct(shape, 0.03)})
      .set("p", g.pick({2.0, 1.0, 3.0}))
      .set("dim", Dims{g.dim_of(shape)});
}
Call weight_norm(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 3), 1, 4);
  const int64_t dim = g.dim_of(shape);
  const bool all = g.chance(0.3);
  Dims lengths(shape.size(), 1);
  if (!all) {
    const size_t at = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
    lengths[at] = shape[at];
  }
  Call c("weightNorm", {g.distinct(shape, 0.04), g.tensor(lengths)});
  return all ? c.set("dim", std::monostate()) : c.set("dim", dim);
}

Call attention(Gen& g) {
  const bool shared = g.chance(0.2);
  const Dims lead = shared ? Dims{g.integer(1, 2), 4} : g.sizes(g.integer(0, 2), 1, 2);
  const int64_t queries = g.integer(1, 4), keys = g.integer(1, 4), features = g.integer(1, 3);
  Dims q = lead, k = lead, v = lead, mask = lead;
  if (shared) k[1] = v[1] = 2;
  const auto end = [](Dims& shape, int64_t length, int64_t width) {
    shape.push_back(length);
    shape.push_back(width);
  };
  end(q, queries, features);
  end(k, keys, features);
  end(v, keys, g.integer(1, 3));
  end(mask, queries, keys);
  Tensor m;
  if (g.chance()) m = g.chance() ? g.mask(g.broadcasting(mask)) : g.tensor(g.broadcasting(mask));
  return Call("scaledDotProductAttention", {g.tensor(q), g.tensor(k), g.tensor(v), m})
      .set("isCausal", g.chance(0.3))
      .set("enableGqa", shared)
      .set("dropoutP", g.pick({0.0, 0.0, 0.3}))
      .set("seed", g.integer(0, 100));
}
Sampler attention_core(const char* name) {
  return [=](Gen& g) {
    const Dims lead = g.sizes(g.integer(0, 2), 1, 2);
    const int64_t queries = g.integer(1, 6), keys = g.integer(1, 6), features = g.integer(1, 3),
                  values = g.integer(1, 3);
    const auto tensor = [&](int64_t length, int64_t width) {
      Dims shape = lead;
      shape.push_back(length);
      shape.push_back(width);
      return g.tensor(shape);
    };
    Call c(name, {tensor(queries, features), tensor(keys, features), tensor(keys, values)});
    c.set("scale", g.real(0.2, 1)).set("causal", g.chance());
    if (c.op().name == "attentionCore") return c.set("keep", g.chance());
    c.inputs.push_back(tensor(queries, values));
    c.inputs.push_back(Tensor());
    return c;
  };
}
Call rotary(Gen& g) {
  Dims shape = g.shape(1, 3);
  const int64_t half = g.integer(1, 3), length = shape.back();
  shape.push_back(2 * half);
  const bool table = g.chance();
  return Call("rotaryEmbedding", {g.tensor(shape), table ? g.tensor({length, half}) : Tensor(),
                                  table ? g.tensor({length, half}) : Tensor()})
      .set("offset", g.integer(0, 5))
      .set("interleaved", g.chance());
}

Sampler dropout(const char* name, int64_t least_rank) {
  return [=](Gen& g) {
    return Call(name, {g.tensor(g.shape(least_rank, 4))})
        .set("p", g.pick({0.0, 0.3, 0.5, 1.0}))
        .set("training", g.chance(0.9))
        .set("seed", g.integer(0, 1000))
        .set("offset", g.integer(0, 1000));
  };
}

Call stream(Gen& g, Call c) { return c.set("seed", g.integer(0, 1000)).set("offset", g.integer(0, 1000)); }
Call noise(Gen& g) {
  return stream(g, Call("gaussianNoise", {g.tensor(g.shape(0, 4))}))
      .set("std", g.pick({0.0, 0.5, 2.0}))
      .set("training", g.chance(0.8));
}
Call rrelu(Gen& g) {
  return stream(g, Call("rrelu", {g.away(g.shape(0, 4))}))
      .set("upper", g.pick({0.125, 0.3, 1.0}))
      .set("training", g.chance(0.8));
}
Call multinomial(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 2), 2, 5);
  const bool again = g.chance();
  return stream(g, Call("multinomial", {g.tensor(shape, 0.1, 2)}))
      .set("numSamples", g.integer(1, again ? 9 : shape.back()))
      .set("replacement", again);
}
Call drawn(Gen& g, const char* name) {
  return stream(g, Call(name).set("shape", g.shape(0, 3, 6)).set("dtype", static_cast<int64_t>(g.dtype)));
}

}  // namespace

void add_norm_samples(SampleTable& t) {
  t["layerNorm"] = layer_norm;
  t["rmsNorm"] = rms_norm;
  t["groupNorm"] = group_norm;
  t["batchNorm"] = batch_norm;
  t["instanceNorm"] = instance_norm;
  t["normGroups"] = [](Gen& g) { return norm_groups(g, "normGroups"); };
  t["normGroupsGrad"] = [](Gen& g) { return norm_groups(g, "normGroupsGrad"); };
  t["localResponseNorm"] = local_response_norm;
  t["normalize"] = normalize;
  t["weightNorm"] = weight_norm;
  t["scaledDotProductAttention"] = attention;
  t["attentionCore"] = attention_core("attentionCore");
  t["attentionGrad"] = attention_core("attentionGrad");
  t["rotaryEmbedding"] = rotary;
  t["dropout"] = dropout("dropout", 0);
  t["dropoutMap"] = dropout("dropoutMap", 0);
  t["alphaDropout"] = dropout("alphaDropout", 0);
  t["featureDropout"] = dropout("featureDropout", 2);
  t["gaussianNoise"] = noise;
  t["rrelu"] = rrelu;
  t["bernoulli"] = [](Gen& g) { return stream(g, Call("bernoulli", {g.tensor(g.shape(0, 3), 0, 1)})); };
  t["multinomial"] = multinomial;
  t["exponential"] = [](Gen& g) { return drawn(g, "exponential").set("rate", g.real(0.5, 2)); };
  t["truncNormal"] = [](Gen& g) {
    return drawn(g, "truncNormal").set("mean", g.real(-1, 1)).set("std", g.real(0.5, 2));
  };
}

}  // namespace omnigrad::test
