// Max pooling over windows that lie at random.

import type { Tensor } from '../tensor.js';
import { checkSizes, sizes } from './checks.js';
import { type FractionalMaxPoolOptions, checkFractional, fractionalMaxPool } from './fractional_window.js';
import type { Sizes } from './init.js';
import type { Pooled } from './pool.js';
import { Spatial } from './spatial.js';

export interface FractionalMaxPoolLayerOptions<R extends boolean = boolean> extends Omit<
  FractionalMaxPoolOptions,
  'returnIndices'
> {
  /** Give [y, indices]; default false. */
  readonly returnIndices?: R;
}

abstract class FractionalMaxPoolBase<R extends boolean> extends Spatial<Pooled<R>> {
  readonly #kernelSize: Sizes;
  readonly #options: FractionalMaxPoolLayerOptions<R>;

  protected constructor(
    name: string,
    rank: number,
    kernelSize: Sizes,
    options: FractionalMaxPoolLayerOptions<R>,
  ) {
    super(name, rank);
    checkSizes(name, { kernelSize }, sizes(rank, 1));
    checkFractional(name, rank, options);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  protected run(x: Tensor): Pooled<R> {
    return fractionalMaxPool(x, this.#kernelSize, this.#options) as Pooled<R>;
  }
}

/** Largest value of each of outputSize (or outputRatio) windows over [N, C, H, W] that lie at random (Graham 2014). */
export class FractionalMaxPool2d<R extends boolean = false> extends FractionalMaxPoolBase<R> {
  constructor(kernelSize: Sizes, options: FractionalMaxPoolLayerOptions<R>) {
    super('FractionalMaxPool2d', 2, kernelSize, options);
  }
}
/** Largest value of each of outputSize (or outputRatio) windows over [N, C, D, H, W] that lie at random (Graham 2014). */
export class FractionalMaxPool3d<R extends boolean = false> extends FractionalMaxPoolBase<R> {
  constructor(kernelSize: Sizes, options: FractionalMaxPoolLayerOptions<R>) {
    super('FractionalMaxPool3d', 3, kernelSize, options);
  }
}
