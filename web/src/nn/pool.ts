// Max, mean and power-mean pooling, and what undoes max pooling.

import { avgPool, lpPool, maxPool, maxUnpool } from '../ops.generated.js';
import type { AvgPoolOptions, LpPoolOptions, MaxPoolOptions, MaxUnpoolOptions } from '../ops.generated.js';
import { type Rule, anything, boolean, checkOptions, positive } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, orNull, poolRules, sizes, withBatch } from './checks.js';
import type { Sizes } from './init.js';
import { Module } from './module.js';
import { Spatial } from './spatial.js';

/** A tensor, or [y, indices] where those are asked for. */
export type Pooled<R extends boolean> = R extends true ? [y: Tensor, indices: Tensor] : Tensor;

export interface MaxPoolLayerOptions<R extends boolean = boolean> extends Omit<
  MaxPoolOptions,
  'returnIndices'
> {
  /** Give [y, indices], as the MaxUnpool layers take them; default false. */
  readonly returnIndices?: R;
}

abstract class MaxPoolBase<R extends boolean> extends Spatial<Pooled<R>> {
  readonly #kernelSize: Sizes;
  readonly #options: MaxPoolOptions;

  protected constructor(name: string, rank: number, kernelSize: Sizes, options: MaxPoolLayerOptions<R>) {
    super(name, rank);
    checkSizes(name, { kernelSize }, sizes(rank, 1));
    checkOptions(name, options, { ...poolRules(rank), dilation: sizes(rank, 1), returnIndices: boolean });
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  protected run(x: Tensor): Pooled<R> {
    return maxPool(x, this.#kernelSize, this.#options) as Pooled<R>;
  }
}

/** Largest value of each window over [N, C, L]; the stride defaults to the window. */
export class MaxPool1d<R extends boolean = false> extends MaxPoolBase<R> {
  constructor(kernelSize: Sizes, options: MaxPoolLayerOptions<R> = {}) {
    super('MaxPool1d', 1, kernelSize, options);
  }
}
/** Largest value of each window over [N, C, H, W]; the stride defaults to the window. */
export class MaxPool2d<R extends boolean = false> extends MaxPoolBase<R> {
  constructor(kernelSize: Sizes, options: MaxPoolLayerOptions<R> = {}) {
    super('MaxPool2d', 2, kernelSize, options);
  }
}
/** Largest value of each window over [N, C, D, H, W]; the stride defaults to the window. */
export class MaxPool3d<R extends boolean = false> extends MaxPoolBase<R> {
  constructor(kernelSize: Sizes, options: MaxPoolLayerOptions<R> = {}) {
    super('MaxPool3d', 3, kernelSize, options);
  }
}

abstract class AvgPoolBase extends Spatial {
  readonly #kernelSize: Sizes;
  readonly #options: AvgPoolOptions;

  protected constructor(name: string, rank: number, kernelSize: Sizes, options: AvgPoolOptions) {
    super(name, rank);
    checkSizes(name, { kernelSize }, sizes(rank, 1));
    const own = { countIncludePad: boolean, divisorOverride: orNull(anything) };
    checkOptions(name, options, { ...poolRules(rank), ...own });
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  protected run(x: Tensor): Tensor {
    return avgPool(x, this.#kernelSize, this.#options);
  }
}

/** Mean of each window over [N, C, L]; the stride defaults to the window. */
export class AvgPool1d extends AvgPoolBase {
  constructor(kernelSize: Sizes, options: AvgPoolOptions = {}) {
    super('AvgPool1d', 1, kernelSize, options);
  }
}
/** Mean of each window over [N, C, H, W]; the stride defaults to the window. */
export class AvgPool2d extends AvgPoolBase {
  constructor(kernelSize: Sizes, options: AvgPoolOptions = {}) {
    super('AvgPool2d', 2, kernelSize, options);
  }
}
/** Mean of each window over [N, C, D, H, W]; the stride defaults to the window. */
export class AvgPool3d extends AvgPoolBase {
  constructor(kernelSize: Sizes, options: AvgPoolOptions = {}) {
    super('AvgPool3d', 3, kernelSize, options);
  }
}

abstract class LpPoolBase extends Spatial {
  readonly #normType: number;
  readonly #kernelSize: Sizes;
  readonly #options: LpPoolOptions;

  protected constructor(
    name: string,
    rank: number,
    normType: number,
    kernelSize: Sizes,
    options: LpPoolOptions,
  ) {
    super(name, rank);
    checkSizes(name, { normType }, positive);
    checkSizes(name, { kernelSize }, sizes(rank, 1));
    checkOptions(name, options, { stride: orNull(sizes(rank, 1)), ceilMode: boolean });
    this.#normType = normType;
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  protected run(x: Tensor): Tensor {
    return lpPool(x, this.#normType, this.#kernelSize, this.#options);
  }
}

/** (sum of x^p)^(1/p) of each window over [N, C, L]. */
export class LPPool1d extends LpPoolBase {
  constructor(normType: number, kernelSize: Sizes, options: LpPoolOptions = {}) {
    super('LPPool1d', 1, normType, kernelSize, options);
  }
}
/** (sum of x^p)^(1/p) of each window over [N, C, H, W]. */
export class LPPool2d extends LpPoolBase {
  constructor(normType: number, kernelSize: Sizes, options: LpPoolOptions = {}) {
    super('LPPool2d', 2, normType, kernelSize, options);
  }
}
/** (sum of x^p)^(1/p) of each window over [N, C, D, H, W]. */
export class LPPool3d extends LpPoolBase {
  constructor(normType: number, kernelSize: Sizes, options: LpPoolOptions = {}) {
    super('LPPool3d', 3, normType, kernelSize, options);
  }
}

type Unpool = [x: Tensor, indices: Tensor, outputSize?: Sizes];
const strideAndPadding = (rank: number): Record<string, Rule> => ({
  stride: orNull(sizes(rank, 1)),
  padding: sizes(rank),
});

abstract class MaxUnpoolBase extends Module<Unpool> {
  readonly #name: string;
  readonly #rank: number;
  readonly #kernelSize: Sizes;
  readonly #options: MaxUnpoolOptions;

  protected constructor(
    name: string,
    rank: number,
    kernelSize: Sizes,
    options: Omit<MaxUnpoolOptions, 'outputSize'>,
  ) {
    super();
    checkSizes(name, { kernelSize }, sizes(rank, 1));
    checkOptions(name, options, strideAndPadding(rank));
    this.#name = name;
    this.#rank = rank;
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  /**
   * @param x [N, C, *S], what a MaxPool gave
   * @param indices its indices, of x's shape
   * @param outputSize the sizes of the spatial axes; default: the least that x may come from
   */
  forward(x: Tensor, indices: Tensor, outputSize?: Sizes): Tensor {
    checkInput(this.#name, indices, 'indices');
    return withBatch(this.#name, this.#rank, x, (batch) => {
      const places = batch === x ? indices : indices.reshape([1, ...indices.shape]);
      return maxUnpool(batch, places, this.#kernelSize, { ...this.#options, outputSize });
    });
  }
}

/** Of MaxUnpool layers. */
export type UnpoolOptions = Omit<MaxUnpoolOptions, 'outputSize'>;

/** Puts what MaxPool1d gave back to where it was; zeros elsewhere. */
export class MaxUnpool1d extends MaxUnpoolBase {
  constructor(kernelSize: Sizes, options: UnpoolOptions = {}) {
    super('MaxUnpool1d', 1, kernelSize, options);
  }
}
/** Puts what MaxPool2d gave back to where it was; zeros elsewhere. */
export class MaxUnpool2d extends MaxUnpoolBase {
  constructor(kernelSize: Sizes, options: UnpoolOptions = {}) {
    super('MaxUnpool2d', 2, kernelSize, options);
  }
}
/** Puts what MaxPool3d gave back to where it was; zeros elsewhere. */
export class MaxUnpool3d extends MaxUnpoolBase {
  constructor(kernelSize: Sizes, options: UnpoolOptions = {}) {
    super('MaxUnpool3d', 3, kernelSize, options);
  }
}
