// Losses of more than an input and a target: of pairs and triplets, with variances, over alignments.

import { failure } from '../errors.js';
import {
  cosineEmbeddingLoss,
  ctcLoss,
  gaussianNllLoss,
  marginRankingLoss,
  oneHot,
  rnntLoss,
  tripletMarginLoss,
} from '../ops.generated.js';
import type {
  CosineEmbeddingLossOptions,
  CtcLossOptions,
  GaussianNllLossOptions,
  MarginRankingLossOptions,
  RnntLossOptions,
  TripletMarginLossOptions,
} from '../ops.generated.js';
import {
  aTensor,
  boolean,
  checkOptions,
  checkValue,
  finite,
  func,
  integer,
  notNegative,
  positive,
  whole,
} from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, shapeOf } from './checks.js';
import { type Lengths, lengthsOf } from './lengths.js';
import { reductionRules } from './loss.js';
import { Module } from './module.js';

/** max(0, margin - target (x1 - x2)): target 1 where x1 should be greater, else -1. */
export class MarginRankingLoss extends Module<[x1: Tensor, x2: Tensor, target: Tensor]> {
  readonly #options: MarginRankingLossOptions;
  constructor(options: MarginRankingLossOptions = {}) {
    super();
    checkOptions('MarginRankingLoss', options, { ...reductionRules, margin: finite });
    this.#options = options;
  }
  forward(x1: Tensor, x2: Tensor, target: Tensor): Tensor {
    return marginRankingLoss(x1, x2, target, this.#options);
  }
}

/**
 * By how much classes that are none of a sample's come within 1 of those that are: of scores [N, C] (or [C]) and targets
 * of the same shape, a sample's classes first and -1 after them. The sum is divided by C.
 */
export class MultiLabelMarginLoss extends Module<[input: Tensor, target: Tensor]> {
  readonly #reduction: 'none' | 'mean' | 'sum';
  constructor(options: Pick<MarginRankingLossOptions, 'reduction'> = {}) {
    super();
    checkOptions('MultiLabelMarginLoss', options, reductionRules);
    this.#reduction = options.reduction ?? 'mean';
  }
  forward(input: Tensor, target: Tensor): Tensor {
    checkInput('MultiLabelMarginLoss', input);
    checkInput('MultiLabelMarginLoss', target, 'target');
    if (input.ndim < 1 || input.ndim > 2 || input.shape.join() !== target.shape.join()) {
      const shapes = `the input is ${shapeOf(input)}, the target ${shapeOf(target)}`;
      throw failure('MultiLabelMarginLoss', 'shape', `${shapes}; both must be [N, C] or [C]`);
    }
    const classes = input.shape.at(-1) ?? 0;
    const [x, index] = [input.reshape([-1, classes]), target.reshape([-1, classes])];
    const dtype = x.dtype;
    const wanted = index.ge(0).cast(dtype).cumprod(1); // up to the first -1
    const at = index.maximum(0);
    const isTarget = oneHot(at, classes)
      .cast(dtype)
      .mul(wanted.reshape([-1, classes, 1]))
      .sum(1)
      .gt(0);
    const scores = x.gather(1, at).reshape([-1, classes, 1]);
    const margins = x.reshape([-1, 1, classes]).sub(scores).add(1).maximum(0);
    const counted = wanted
      .reshape([-1, classes, 1])
      .mul(isTarget.eq(0).cast(dtype).reshape([-1, 1, classes]));
    const loss = margins.mul(counted).sum([1, 2]).div(classes);
    if (this.#reduction === 'none') return input.ndim === 1 ? loss.reshape([]) : loss;
    return this.#reduction === 'sum' ? loss.sum() : loss.mean();
  }
}

/** 1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1. */
export class CosineEmbeddingLoss extends Module<[x1: Tensor, x2: Tensor, target: Tensor]> {
  readonly #options: CosineEmbeddingLossOptions;
  constructor(options: CosineEmbeddingLossOptions = {}) {
    super();
    checkOptions('CosineEmbeddingLoss', options, { ...reductionRules, margin: finite });
    this.#options = options;
  }
  forward(x1: Tensor, x2: Tensor, target: Tensor): Tensor {
    return cosineEmbeddingLoss(x1, x2, target, this.#options);
  }
}

/** max(0, d(anchor, positive) - d(anchor, negative) + margin) with p-norms. */
export class TripletMarginLoss extends Module<[anchor: Tensor, positive: Tensor, negative: Tensor]> {
  readonly #options: TripletMarginLossOptions;
  constructor(options: TripletMarginLossOptions = {}) {
    super();
    const own = { margin: finite, p: positive, eps: notNegative, swap: boolean };
    checkOptions('TripletMarginLoss', options, { ...reductionRules, ...own });
    this.#options = options;
  }
  forward(anchor: Tensor, positive_: Tensor, negative: Tensor): Tensor {
    return tripletMarginLoss(anchor, positive_, negative, this.#options);
  }
}

export interface TripletDistanceOptions extends Pick<TripletMarginLossOptions, 'reduction'> {
  /** By how much the negative should be farther; default 1. */
  readonly margin?: number;
  /** Take the nearer of d(anchor, negative) and d(positive, negative); default false. */
  readonly swap?: boolean;
}

/** TripletMarginLoss with a distance of the caller's, from two tensors to one. */
export class TripletMarginWithDistanceLoss extends Module<
  [anchor: Tensor, positive: Tensor, negative: Tensor]
> {
  readonly #distance: (x: Tensor, y: Tensor) => Tensor;
  readonly #options: TripletDistanceOptions;
  constructor(distance: (x: Tensor, y: Tensor) => Tensor, options: TripletDistanceOptions = {}) {
    super();
    const name = 'TripletMarginWithDistanceLoss';
    checkValue(name, 'distance', distance, func);
    checkOptions(name, options, { ...reductionRules, margin: finite, swap: boolean });
    this.#distance = distance;
    this.#options = options;
  }
  forward(anchor: Tensor, positive_: Tensor, negative: Tensor): Tensor {
    const { margin = 1, swap = false, reduction = 'mean' } = this.#options;
    const distance = this.#distance;
    const near = distance(anchor, positive_);
    checkValue('TripletMarginWithDistanceLoss', 'what distance gave', near, aTensor);
    const far = distance(anchor, negative);
    const farther = swap ? far.minimum(distance(positive_, negative)) : far;
    const loss = near.sub(farther).add(margin).maximum(0);
    if (reduction === 'none') return loss;
    return reduction === 'sum' ? loss.sum() : loss.mean();
  }
}

/** Negative log-likelihood of a target under means and variances. */
export class GaussianNLLLoss extends Module<[input: Tensor, target: Tensor, variance: Tensor]> {
  readonly #options: GaussianNllLossOptions;
  constructor(options: GaussianNllLossOptions = {}) {
    super();
    checkOptions('GaussianNLLLoss', options, { ...reductionRules, full: boolean, eps: positive });
    this.#options = options;
  }
  forward(input: Tensor, target: Tensor, variance: Tensor): Tensor {
    return gaussianNllLoss(input, target, variance, this.#options);
  }
}

/** Connectionist temporal classification, over [time, batch, classes] of log-probabilities. */
export class CTCLoss extends Module<
  [logProbs: Tensor, targets: Tensor, inputLengths?: Lengths | null, targetLengths?: Lengths | null]
> {
  readonly #options: CtcLossOptions;
  constructor(options: Omit<CtcLossOptions, 'inputLengths' | 'targetLengths'> = {}) {
    super();
    checkOptions('CTCLoss', options, { ...reductionRules, blank: whole(), zeroInfinity: boolean });
    this.#options = options;
  }
  forward(
    logProbs: Tensor,
    targets: Tensor,
    inputLengths?: Lengths | null,
    targetLengths?: Lengths | null,
  ): Tensor {
    const lengths = { inputLengths: lengthsOf(inputLengths), targetLengths: lengthsOf(targetLengths) };
    return ctcLoss(logProbs, targets, { ...this.#options, ...lengths });
  }
}

/** The transducer's loss over [batch, time, labels + 1, classes]. */
export class RNNTLoss extends Module<
  [logits: Tensor, targets: Tensor, logitLengths?: Lengths | null, targetLengths?: Lengths | null]
> {
  readonly #options: RnntLossOptions;
  constructor(options: Omit<RnntLossOptions, 'logitLengths' | 'targetLengths'> = {}) {
    super();
    checkOptions('RNNTLoss', options, { ...reductionRules, blank: integer, fusedLogSoftmax: boolean });
    this.#options = options;
  }
  forward(
    logits: Tensor,
    targets: Tensor,
    logitLengths?: Lengths | null,
    targetLengths?: Lengths | null,
  ): Tensor {
    const lengths = { logitLengths: lengthsOf(logitLengths), targetLengths: lengthsOf(targetLengths) };
    return rnntLoss(logits, targets, { ...this.#options, ...lengths });
  }
}
