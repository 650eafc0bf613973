// Losses of an input and a target as layers; reduction 'mean' unless told otherwise.

import {
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  crossEntropy,
  hingeEmbeddingLoss,
  huberLoss,
  klDiv,
  l1Loss,
  lpLoss,
  mseLoss,
  multiMarginLoss,
  multilabelSoftMarginLoss,
  nllLoss,
  poissonNllLoss,
  smoothL1Loss,
  softMarginLoss,
} from '../ops.generated.js';
import type {
  BinaryCrossEntropyOptions,
  BinaryCrossEntropyWithLogitsOptions,
  CrossEntropyOptions,
  HingeEmbeddingLossOptions,
  HuberLossOptions,
  KlDivOptions,
  L1LossOptions,
  MseLossOptions,
  MultiMarginLossOptions,
  MultilabelSoftMarginLossOptions,
  NllLossOptions,
  PoissonNllLossOptions,
  SmoothL1LossOptions,
  SoftMarginLossOptions,
} from '../ops.generated.js';
import {
  type Rule,
  aTensor,
  boolean,
  checkOptions,
  finite,
  integer,
  notNegative,
  oneOf,
  positive,
  share,
} from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkSizes, orNull } from './checks.js';
import { Layer } from './layer.js';
import { Module, buffer } from './module.js';

/** What every loss takes. */
export const reductionRules = { reduction: oneOf('none', 'mean', 'sum') };

/** A loss of two tensors, with options that are checked once. */
abstract class PairLoss<O extends object> extends Module<[input: Tensor, target: Tensor]> {
  readonly #options: O;
  protected constructor(name: string, options: O, rules: Readonly<Record<string, Rule>> = {}) {
    super();
    checkOptions(name, options, { ...reductionRules, ...rules });
    this.#options = options;
  }
  protected get options(): O {
    return this.#options;
  }
}

// The same with a weight, which is a buffer, as in PyTorch.
abstract class WeightedLoss<O extends { readonly weight?: Tensor | null | undefined }> extends Layer<
  [input: Tensor, target: Tensor]
> {
  /** A factor for each class (or element), or null. */
  readonly weight: Tensor | null;
  readonly #options: O;
  protected constructor(name: string, options: O, rules: Readonly<Record<string, Rule>> = {}) {
    super();
    checkOptions(name, options, { ...reductionRules, weight: orNull(aTensor), ...rules });
    this.weight = options.weight ? buffer(options.weight.detach()) : null;
    this.#options = options;
  }
  protected get options(): O {
    return { ...this.#options, weight: this.weight };
  }
}

/** |input - target| */
export class L1Loss extends PairLoss<L1LossOptions> {
  constructor(options: L1LossOptions = {}) {
    super('L1Loss', options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, this.options);
  }
}

/** (input - target)^2 */
export class MSELoss extends PairLoss<MseLossOptions> {
  constructor(options: MseLossOptions = {}) {
    super('MSELoss', options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, this.options);
  }
}

/** |input - target|^p */
export class LpLoss extends PairLoss<L1LossOptions> {
  readonly #p: number;
  constructor(p: number, options: L1LossOptions = {}) {
    super('LpLoss', options);
    checkSizes('LpLoss', { p }, positive);
    this.#p = p;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return lpLoss(input, target, this.#p, this.options);
  }
}

/** A parabola up to `delta` (default 1), a line beyond. */
export class HuberLoss extends PairLoss<HuberLossOptions> {
  constructor(options: HuberLossOptions = {}) {
    super('HuberLoss', options, { delta: positive });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.options);
  }
}

/** A parabola up to `beta` (default 1), beyond it |input - target| - beta / 2. */
export class SmoothL1Loss extends PairLoss<SmoothL1LossOptions> {
  constructor(options: SmoothL1LossOptions = {}) {
    super('SmoothL1Loss', options, { beta: notNegative });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.options);
  }
}

/** Cross-entropy of logits [N, C, *] with class indices [N, *] or probabilities [N, C, *]. */
export class CrossEntropyLoss extends WeightedLoss<CrossEntropyOptions> {
  constructor(options: CrossEntropyOptions = {}) {
    super('CrossEntropyLoss', options, { ignoreIndex: integer, labelSmoothing: share });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return crossEntropy(input, target, this.options);
  }
}

/** Minus the log-probability [N, C, *] of the class [N, *]. */
export class NLLLoss extends WeightedLoss<NllLossOptions> {
  constructor(options: NllLossOptions = {}) {
    super('NLLLoss', options, { ignoreIndex: integer });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return nllLoss(input, target, this.options);
  }
}

/** Cross-entropy of probabilities with probabilities. */
export class BCELoss extends WeightedLoss<BinaryCrossEntropyOptions> {
  constructor(options: BinaryCrossEntropyOptions = {}) {
    super('BCELoss', options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropy(input, target, this.options);
  }
}

/** Cross-entropy of logits with probabilities. */
export class BCEWithLogitsLoss extends WeightedLoss<BinaryCrossEntropyWithLogitsOptions> {
  /** A factor of positive targets, or null. */
  readonly posWeight: Tensor | null;
  constructor(options: BinaryCrossEntropyWithLogitsOptions = {}) {
    super('BCEWithLogitsLoss', options, { posWeight: orNull(aTensor) });
    this.posWeight = options.posWeight ? buffer(options.posWeight.detach()) : null;
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropyWithLogits(input, target, { ...this.options, posWeight: this.posWeight });
  }
}

/** target (log(target) - input), input being log-probabilities. */
export class KLDivLoss extends PairLoss<KlDivOptions> {
  constructor(options: KlDivOptions = {}) {
    super('KLDivLoss', options, {
      reduction: oneOf('none', 'mean', 'sum', 'batchmean'),
      logTarget: boolean,
    });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, this.options);
  }
}

/** Negative log-likelihood of counts, input being the rate's logarithm (logInput, the default) or the rate. */
export class PoissonNLLLoss extends PairLoss<PoissonNllLossOptions> {
  constructor(options: PoissonNllLossOptions = {}) {
    super('PoissonNLLLoss', options, { logInput: boolean, full: boolean, eps: notNegative });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return poissonNllLoss(input, target, this.options);
  }
}

/** input where the target is 1, max(0, margin - input) where it is -1. */
export class HingeEmbeddingLoss extends PairLoss<HingeEmbeddingLossOptions> {
  constructor(options: HingeEmbeddingLossOptions = {}) {
    super('HingeEmbeddingLoss', options, { margin: finite });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return hingeEmbeddingLoss(input, target, this.options);
  }
}

/** log(1 + exp(-target input)), targets 1 or -1. */
export class SoftMarginLoss extends PairLoss<SoftMarginLossOptions> {
  constructor(options: SoftMarginLossOptions = {}) {
    super('SoftMarginLoss', options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return softMarginLoss(input, target, this.options);
  }
}

/** By how much other classes [N, C] come within a margin of the target's [N]. */
export class MultiMarginLoss extends WeightedLoss<MultiMarginLossOptions> {
  constructor(options: MultiMarginLossOptions = {}) {
    super('MultiMarginLoss', options, { p: oneOf(1, 2), margin: finite });
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return multiMarginLoss(input, target, this.options);
  }
}

/** Binary cross-entropy of logits [N, C], averaged over classes. */
export class MultiLabelSoftMarginLoss extends WeightedLoss<MultilabelSoftMarginLossOptions> {
  constructor(options: MultilabelSoftMarginLossOptions = {}) {
    super('MultiLabelSoftMarginLoss', options);
  }
  forward(input: Tensor, target: Tensor): Tensor {
    return multilabelSoftMarginLoss(input, target, this.options);
  }
}
