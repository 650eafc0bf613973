// Losses on distances between embeddings, and the distances.
#include <cmath>

#include "ops/loss_reduce.h"

namespace omnigrad {
namespace {

Tensor number(double value, const Tensor& like) { return Tensor::scalar(value, like.dtype()); }

void check_order(double p) {
  if (std::isnan(p)) fail(Code::option, "p must be a number");
}

// ||a - b + eps|| along the last axis, of order p.
Tensor distance(const Tensor& a, const Tensor& b, double p, double eps, bool keepdim = false) {
  return norm(a - b + eps, p, {-1}, keepdim);
}

struct PairwiseDistance {
  struct Options {
    double p = 2, eps = 1e-6;
    bool keepdim = false;
  };
  static constexpr Schema schema() {
    return op("pairwiseDistance", "The norm of x1 - x2 + eps along the last axis.")
        .in("x1", Kind::floating, "[..., D]")
        .in("x2", Kind::floating, "broadcasts with x1")
        .opt("p", &Options::p, "the norm's order")
        .opt("eps", &Options::eps, "added to differences")
        .opt("keepdim", &Options::keepdim, "keep the last axis with size 1")
        .out("y");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape = broadcast_shapes(in[0].shape(), in[1].shape());
    if (shape.empty()) fail("x1 and x2 need at least one axis");
    check_order(o.p);
    if (o.keepdim) {
      shape.back() = 1;
    } else {
      shape.pop_back();
    }
    return {{shape, in[0].dtype()}};
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {distance(in[0], in[1], o.p, o.eps, o.keepdim)};
  }
};
OMNIGRAD_OP(PairwiseDistance)

struct TripletMargin {
  struct Options : LossOptions {
    double margin = 1, p = 2, eps = 1e-6;
    bool swap = false;
  };
  static constexpr Schema schema() {
    return op("tripletMarginLoss", "max(0, d(anchor, positive) - d(anchor, negative) + margin).")
        .in("anchor", Kind::floating, "[..., D]")
        .in("positive", Kind::floating, "broadcasts with anchor")
        .in("negative", Kind::floating, "broadcasts with anchor")
        .opt("margin", &Options::margin, "by how much the negative should be farther")
        .opt("p", &Options::p, "the norm's order")
        .opt("eps", &Options::eps, "added to differences")
        .opt("swap", &Options::swap, "take the nearer of d(anchor, negative) and d(positive, negative)")
        .opt("reduction", &Options::reduction, "over rows", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    Dims shape = broadcast_shapes(broadcast_shapes(in[0].shape(), in[1].shape()), in[2].shape());
    if (shape.empty()) fail("embeddings need at least one axis");
    check_order(o.p);
    shape.pop_back();
    return loss_spec(shape, in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    const Tensor near = distance(in[0], in[1], o.p, o.eps);
    Tensor far = distance(in[0], in[2], o.p, o.eps);
    if (o.swap) far = minimum(far, distance(in[1], in[2], o.p, o.eps));
    return {reduce(relu(near - far + o.margin), o.reduction)};
  }
};
OMNIGRAD_OP(TripletMargin)

struct MarginRanking {
  struct Options : LossOptions {
    double margin = 0;
  };
  static constexpr Schema schema() {
    return op("marginRankingLoss",
              "max(0, margin - target (x1 - x2)), target 1 where x1 should be greater, else -1.")
        .in("x1", Kind::floating, "any shape")
        .in("x2", Kind::floating, "broadcasts with x1")
        .in("target", Kind::floating, "broadcasts with both")
        .opt("margin", &Options::margin, "by how much it should be greater")
        .opt("reduction", &Options::reduction, "over all elements", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    return loss_spec(broadcast_shapes(broadcast_shapes(in[0].shape(), in[1].shape()), in[2].shape()),
                     in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    return {reduce(relu(o.margin - in[2] * (in[0] - in[1])), o.reduction)};
  }
};
OMNIGRAD_OP(MarginRanking)

// 1 - cos(x1, x2) for target 1, max(0, cos - margin) for -1; PyTorch's 1e-12 keeps the roots from 0.
struct CosineEmbedding {
  struct Options : LossOptions {
    double margin = 0;
  };
  static constexpr Schema schema() {
    return op("cosineEmbeddingLoss",
              "1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1.")
        .in("x1", Kind::floating, "[N, D] or [D]")
        .in("x2", Kind::floating, "x1's shape")
        .in("target", Kind::free, "1 or -1, [N] or []")
        .nondiff()
        .opt("margin", &Options::margin, "cosine allowed of dissimilar pairs")
        .opt("reduction", &Options::reduction, "over rows", kReductions)
        .out("loss");
  }
  static OutSpecs shape(const Options& o, Inputs in) {
    if (in[0].rank() < 1 || in[0].rank() > 2)
      fail("x1 must have shape [N, D] or [D], it has ", in[0].shape());
    if (!(in[1].shape() == in[0].shape()))
      fail("x1 ", in[0].shape(), " and x2 ", in[1].shape(), " must have one shape");
    Dims rows = in[0].shape();
    rows.pop_back();
    if (!(in[2].shape() == rows)) fail("target ", in[2].shape(), " must have shape ", rows);
    return loss_spec(rows, in[0].dtype(), o.reduction);
  }
  static TensorList compose(const Options& o, Inputs in) {
    constexpr double kEps = 1e-12;
    const Tensor &a = in[0], &b = in[1];
    const Tensor cosine =
        sum(a * b, {-1}) / sqrt((sum(square(a), {-1}) + kEps) * (sum(square(b), {-1}) + kEps));
    const Tensor similar = eq(cast(in[2], a.dtype()), number(1, a));
    return {reduce(where(similar, 1 - cosine, relu(cosine - o.margin)), o.reduction)};
  }
};
OMNIGRAD_OP(CosineEmbedding)

}  // namespace
}  // namespace omnigrad
