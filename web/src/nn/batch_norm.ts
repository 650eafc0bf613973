// Normalisation by channel with the statistics of a batch or of one instance, that keep running ones.

import { isRerun } from '../checkpoint.js';
import { ones, tensor, zeros } from '../create.js';
import { failure } from '../errors.js';
import { batchNorm, instanceNorm } from '../ops.generated.js';
import { boolean, checkOptions, notNegative, share, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, floatRules, orNull, shapeOf, withBatch } from './checks.js';
import { Layer } from './layer.js';
import { buffer, parameter } from './module.js';

export interface BatchNormLayerOptions {
  /** Added to the variance; default 1e-5. */
  readonly eps?: number;
  /** Share of a new statistic in the running one; null: the mean of all. Default 0.1. */
  readonly momentum?: number | null;
  /** Learn a factor and a summand for each channel; default true (BatchNorm), false (InstanceNorm). */
  readonly affine?: boolean;
  /** Keep running statistics, for eval; default true (BatchNorm), false (InstanceNorm). */
  readonly trackRunningStats?: boolean;
  readonly dtype?: 'float32' | 'float64';
}

const rules = {
  eps: notNegative,
  momentum: orNull(share),
  affine: boolean,
  trackRunningStats: boolean,
  ...floatRules,
};

abstract class NormBase extends Layer {
  /** [C], starts at 1. */
  readonly weight: Tensor | null;
  /** [C], starts at 0. */
  readonly bias: Tensor | null;
  /** [C], starts at 0. */
  readonly runningMean: Tensor | null;
  /** [C], starts at 1. */
  readonly runningVar: Tensor | null;
  /** How many batches the running statistics have seen: int64, no axis. */
  readonly numBatchesTracked: Tensor | null;
  protected readonly eps: number;
  protected readonly momentum: number | null;

  protected constructor(name: string, numFeatures: number, options: BatchNormLayerOptions, on: boolean) {
    super();
    checkSizes(name, { numFeatures }, whole(1));
    checkOptions(name, options, rules);
    const { eps = 1e-5, momentum = 0.1, affine = on, trackRunningStats = on, dtype = 'float32' } = options;
    this.eps = eps;
    this.momentum = momentum;
    const size = [numFeatures];
    this.weight = affine ? parameter(ones(size, { dtype })) : null;
    this.bias = affine ? parameter(zeros(size, { dtype })) : null;
    this.runningMean = trackRunningStats ? buffer(zeros(size, { dtype })) : null;
    this.runningVar = trackRunningStats ? buffer(ones(size, { dtype })) : null;
    this.numBatchesTracked = trackRunningStats ? buffer(tensor(0n)) : null;
  }

  /** The share that the next batch has in the running statistics. */
  protected share(): number {
    return this.momentum ?? 1 / ((this.numBatchesTracked?.item() ?? 0) + 1);
  }

  protected get state(): { weight: Tensor | null; bias: Tensor | null; eps: number } {
    return { weight: this.weight, bias: this.bias, eps: this.eps };
  }
}

abstract class BatchNormBase extends NormBase {
  readonly #name: string;
  readonly #ranks: readonly number[];

  protected constructor(name: string, ranks: number[], numFeatures: number, options: BatchNormLayerOptions) {
    super(name, numFeatures, options, true);
    this.#name = name;
    this.#ranks = ranks;
  }

  /** [N, C, *S] to the same shape */
  forward(x: Tensor): Tensor {
    checkInput(this.#name, x);
    if (!this.#ranks.includes(x.ndim)) {
      const text = `the input is ${shapeOf(x)}; it must have ${this.#ranks.join(' or ')} dimensions, batch and channels first`;
      throw failure(this.#name, 'shape', text);
    }
    const { runningMean, runningVar } = this;
    const training = this.training || !runningMean;
    const y = batchNorm(x, { ...this.state, runningMean, runningVar, training, momentum: this.share() });
    if (this.training) this.#count();
    return y;
  }

  #count(): void {
    const counter = this.numBatchesTracked;
    if (counter && !isRerun()) counter.copy_(counter.add(1)); // integers are never recorded
  }
}

/** Normalises each channel of [N, C] or [N, C, L] with the batch's statistics, in eval with the running ones. */
export class BatchNorm1d extends BatchNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('BatchNorm1d', [2, 3], numFeatures, options);
  }
}
/** Normalises each channel of [N, C, H, W] with the batch's statistics, in eval with the running ones. */
export class BatchNorm2d extends BatchNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('BatchNorm2d', [4], numFeatures, options);
  }
}
/** Normalises each channel of [N, C, D, H, W] with the batch's statistics, in eval with the running ones. */
export class BatchNorm3d extends BatchNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('BatchNorm3d', [5], numFeatures, options);
  }
}

abstract class InstanceNormBase extends NormBase {
  readonly #name: string;
  readonly #rank: number;

  protected constructor(name: string, rank: number, numFeatures: number, options: BatchNormLayerOptions) {
    super(name, numFeatures, options, false);
    this.#name = name;
    this.#rank = rank;
  }

  /** [N, C, *S] to the same shape, or both without N */
  forward(x: Tensor): Tensor {
    const { runningMean, runningVar } = this;
    const useInputStats = this.training || !runningMean;
    // As in PyTorch, these batches are not counted.
    const momentum = this.momentum ?? 0;
    return withBatch(this.#name, this.#rank, x, (batch) =>
      instanceNorm(batch, { ...this.state, runningMean, runningVar, useInputStats, momentum }),
    );
  }
}

/** Normalises each channel of each instance of [N, C, L]. */
export class InstanceNorm1d extends InstanceNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('InstanceNorm1d', 1, numFeatures, options);
  }
}
/** Normalises each channel of each instance of [N, C, H, W]. */
export class InstanceNorm2d extends InstanceNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('InstanceNorm2d', 2, numFeatures, options);
  }
}
/** Normalises each channel of each instance of [N, C, D, H, W]. */
export class InstanceNorm3d extends InstanceNormBase {
  constructor(numFeatures: number, options: BatchNormLayerOptions = {}) {
    super('InstanceNorm3d', 3, numFeatures, options);
  }
}
