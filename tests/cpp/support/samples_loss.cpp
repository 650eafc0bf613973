// Samples of softmax and losses.
#include "samples.h"

namespace omnigrad::test {
namespace {

Sampler softmax(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(1, 4);
    return Call(name, {g.tensor(shape, -3, 3)}).set("dim", g.dim_of(shape));
  };
}

Sampler softmax_grad(const char* name) {
  return [=](Gen& g) {
    const Dims shape = g.shape(1, 4);
    return Call(name, {g.tensor(shape), g.tensor(shape)}).set("dim", g.dim_of(shape));
  };
}

Sampler cross_entropy_each(const char* name) {
  return [=](Gen& g) {
    const int64_t classes = g.integer(1, 6), axis = g.integer(0, 1);
    Dims x = axis == 0 ? Dims{classes} : Dims{g.size(3), classes}, rows = axis == 0 ? Dims{} : Dims{x[0]};
    for (int64_t i = g.integer(0, 2); i > 0; --i) {
      const int64_t n = g.size(3);
      x.push_back(n);
      rows.push_back(n);
    }
    Call c(name, {g.tensor(x), g.index(rows, classes)});
    if (c.op().name == "crossEntropyEachGrad") c.inputs.push_back(g.tensor(rows));
    return c.set("axis", axis).set("ignored", g.pick<int64_t>({-100, 0}));
  };
}

Call reduced(Gen& g, Call c) { return c.set("reduction", g.integer(0, 2)); }
Dims some_shape(Gen& g, int64_t least_rank = 0) { return g.sizes(g.integer(least_rank, 3), 1, 4); }

// input and target of one shape, never equal.
Sampler pair(const char* name) {
  return [=](Gen& g) {
    const Dims shape = some_shape(g);
    return reduced(g, Call(name, {g.distinct(shape), g.distinct(shape, 0.05)}));
  };
}
Call lp_loss(Gen& g) { return pair("lpLoss")(g).set("p", g.pick({1.0, 2.0, 2.5, 3.0})); }
// -1 or 1
Tensor signs(Gen& g, const Dims& shape) {
  const Tensor t = g.tensor(shape, -1, 1);
  visit_floating(t.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < t.numel(); ++i) t.data<T>()[i] = t.data<T>()[i] < 0 ? T(-1) : T(1);
  });
  return t;
}
Call hinge(Gen& g) {
  const Dims shape = some_shape(g);
  return reduced(g, Call("hingeEmbeddingLoss", {g.between_steps(shape), signs(g, shape)}));
}
Call poisson(Gen& g) {
  const Dims shape = some_shape(g);
  const bool log_input = g.chance();
  Tensor target = g.tensor(shape, 0.2, 0.9);
  if (g.chance()) target = g.tensor(shape, 1.1, 3);
  return reduced(g, Call("poissonNllLoss", {g.tensor(shape, log_input ? -1 : 0.3, 2), target})
                        .set("logInput", log_input)
                        .set("full", g.chance()));
}
Call kl_div(Gen& g) {
  const Dims shape = some_shape(g, 1);
  const bool log_target = g.chance();
  const Tensor target = log_target ? g.tensor(shape, -2, 0) : g.tensor(shape, 0.1, 1);
  return Call("klDiv", {g.tensor(shape, -2, 0), target})
      .set("logTarget", log_target)
      .set("reduction", g.integer(0, 3));
}
Call gaussian(Gen& g) {
  const Dims shape = some_shape(g);
  return reduced(
      g, Call("gaussianNllLoss", {g.tensor(shape), g.tensor(shape), g.tensor(g.broadcasting(shape), 0.4, 2)})
             .set("full", g.chance()));
}

Tensor maybe(Gen& g, const Tensor& t) { return g.chance() ? t : Tensor(); }
Call binary(Gen& g) {
  const Dims shape = some_shape(g);
  return reduced(g, Call("binaryCrossEntropy", {g.tensor(shape, 0.2, 0.8), g.tensor(shape, 0, 1),
                                                maybe(g, g.tensor(g.broadcasting(shape), 0.2, 2))}));
}
Call binary_with_logits(Gen& g) {
  const Dims shape = some_shape(g);
  return reduced(
      g, Call("binaryCrossEntropyWithLogits",
              {g.tensor(shape), g.tensor(shape, 0, 1), maybe(g, g.tensor(g.broadcasting(shape), 0.2, 2)),
               maybe(g, g.tensor(g.broadcasting(shape), 0.2, 2))}));
}
Call multilabel(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 2), 1, 4);
  return reduced(g, Call("multilabelSoftMarginLoss", {g.tensor(shape), g.tensor(shape, 0, 1),
                                                      maybe(g, g.tensor({shape.back()}, 0.2, 2))}));
}
Call multi_margin(Gen& g) {
  Dims shape = g.sizes(g.integer(1, 2), 1, 4), rows = shape;
  rows.pop_back();
  return reduced(g, Call("multiMarginLoss", {g.distinct(shape), g.index(rows, shape.back()),
                                             maybe(g, g.tensor({shape.back()}, 0.2, 2))})
                        .set("p", g.integer(1, 2))
                        .set("margin", 0.95));
}

Call pairwise_distance(Gen& g) {
  const Dims shape = some_shape(g, 1);
  return Call("pairwiseDistance", {g.tensor(shape), g.tensor(shape)})
      .set("p", g.pick({1.0, 2.0, 3.0}))
      .set("keepdim", g.chance());
}
Call triplet(Gen& g) {
  const Dims shape = g.sizes(g.integer(1, 2), 1, 4);
  return reduced(g, Call("tripletMarginLoss", {g.tensor(shape), g.tensor(shape), g.tensor(shape)})
                        .set("p", g.pick({1.0, 2.0}))
                        .set("swap", g.chance()));
}
Call margin_ranking(Gen& g) {
  const Dims shape = some_shape(g);
  return reduced(
      g, Call("marginRankingLoss", {g.tensor(shape), g.tensor(g.broadcasting(shape)), signs(g, shape)})
             .set("margin", g.pick({0.0, 0.5})));
}
Call cosine_embedding(Gen& g) {
  Dims shape = g.sizes(g.integer(1, 2), 2, 4), rows = shape;
  rows.pop_back();
  return reduced(
      g, Call("cosineEmbeddingLoss", {g.tensor(shape), g.tensor(shape), signs(g, rows)}).set("margin", 0.1));
}
Call nll_loss(Gen& g) {
  const int64_t classes = g.integer(1, 5);
  Dims rows = g.sizes(g.integer(0, 3), 1, 3), input = rows;
  input.insert(rows.empty() ? 0 : 1, classes);
  return reduced(g, Call("nllLoss", {g.tensor(input, -3, 0), g.index(rows, classes),
                                     maybe(g, g.tensor({classes}, 0.2, 2))}));
}

Call cross_entropy(Gen& g) {
  const int64_t classes = g.integer(1, 5), batch = g.integer(1, 4);
  const Dims extra = g.sizes(g.integer(0, 2), 1, 2);
  Dims input, rows;
  if (g.chance(0.8)) {
    input = {batch, classes};
    rows = {batch};
    input.append(extra.begin(), extra.end());
    rows.append(extra.begin(), extra.end());
  } else {
    input = {classes};
  }
  const bool probabilities = g.chance(0.3);
  const Tensor target = probabilities ? g.tensor(input, 0, 1) : g.index(rows, classes);
  Call c("crossEntropy", {g.tensor(input), target, g.chance(0.4) ? g.tensor({classes}, 0.2, 2) : Tensor()});
  c.set("reduction", g.integer(0, 2));
  if (g.chance(0.4)) c.set("labelSmoothing", g.real(0, 0.9));
  // A class that is ignored, but never the only row's.
  if (!probabilities && classes > 1 && g.chance(0.3)) {
    if (target.numel() > 1) {
      visit_index(target.dtype(), [&]<class I>() {
        target.data<I>()[0] = 0;
        target.data<I>()[1] = 1;
      });
      c.set("ignoreIndex", int64_t{1});
    }
  }
  return c;
}

}  // namespace

void add_loss_samples(SampleTable& t) {
  t["softmax"] = softmax("softmax");
  t["logSoftmax"] = softmax("logSoftmax");
  t["crossEntropyEach"] = cross_entropy_each("crossEntropyEach");
  t["crossEntropyEachGrad"] = cross_entropy_each("crossEntropyEachGrad");
  t["softmaxGrad"] = softmax_grad("softmaxGrad");
  t["logSoftmaxGrad"] = softmax_grad("logSoftmaxGrad");
  for (const char* name : {"mseLoss", "l1Loss", "smoothL1Loss", "huberLoss", "softMarginLoss"})
    t[name] = pair(name);
  t["lpLoss"] = lp_loss;
  t["hingeEmbeddingLoss"] = hinge;
  t["poissonNllLoss"] = poisson;
  t["klDiv"] = kl_div;
  t["gaussianNllLoss"] = gaussian;
  t["binaryCrossEntropy"] = binary;
  t["binaryCrossEntropyWithLogits"] = binary_with_logits;
  t["multilabelSoftMarginLoss"] = multilabel;
  t["multiMarginLoss"] = multi_margin;
  t["pairwiseDistance"] = pairwise_distance;
  t["tripletMarginLoss"] = triplet;
  t["marginRankingLoss"] = margin_ranking;
  t["cosineEmbeddingLoss"] = cosine_embedding;
  t["nllLoss"] = nll_loss;
  t["crossEntropy"] = cross_entropy;
}

}  // namespace omnigrad::test
