// Pooling to a size, whatever the input's.

import { adaptiveAvgPool, adaptiveMaxPool } from '../ops.generated.js';
import { type Rule, boolean, checkOptions, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkSizes } from './checks.js';
import type { Pooled } from './pool.js';
import { Spatial } from './spatial.js';

/** A size for all axes, or one each; null keeps the input's. */
export type OutputSize = number | null | readonly (number | null)[];

const outputSizes = (rank: number): Rule => ({
  text: `a whole number from 1 or null, or a list of ${rank} of these`,
  test: (v) => {
    const list: unknown[] = Array.isArray(v) ? v : [v];
    return (!Array.isArray(v) || v.length === rank) && list.every((n) => n === null || whole(1).test(n));
  },
});

function sizesFor(x: Tensor, size: OutputSize): number[] {
  return x.shape.slice(2).map((own, i) => (typeof size === 'object' ? size?.[i] : size) ?? own);
}

abstract class AdaptiveAvgPoolBase extends Spatial {
  readonly #size: OutputSize;
  protected constructor(name: string, rank: number, outputSize: OutputSize) {
    super(name, rank);
    checkSizes(name, { outputSize }, outputSizes(rank));
    this.#size = outputSize;
  }
  protected run(x: Tensor): Tensor {
    return adaptiveAvgPool(x, sizesFor(x, this.#size));
  }
}

/** Means over windows that cut [N, C, L] into outputSize parts. */
export class AdaptiveAvgPool1d extends AdaptiveAvgPoolBase {
  constructor(outputSize: OutputSize) {
    super('AdaptiveAvgPool1d', 1, outputSize);
  }
}
/** Means over windows that cut [N, C, H, W] into outputSize parts. */
export class AdaptiveAvgPool2d extends AdaptiveAvgPoolBase {
  constructor(outputSize: OutputSize) {
    super('AdaptiveAvgPool2d', 2, outputSize);
  }
}
/** Means over windows that cut [N, C, D, H, W] into outputSize parts. */
export class AdaptiveAvgPool3d extends AdaptiveAvgPoolBase {
  constructor(outputSize: OutputSize) {
    super('AdaptiveAvgPool3d', 3, outputSize);
  }
}

export interface AdaptiveMaxOptions<R extends boolean> {
  /** Give [y, indices]; default false. */
  readonly returnIndices?: R;
}

abstract class AdaptiveMaxPoolBase<R extends boolean> extends Spatial<Pooled<R>> {
  readonly #size: OutputSize;
  readonly #options: AdaptiveMaxOptions<R>;
  protected constructor(name: string, rank: number, outputSize: OutputSize, options: AdaptiveMaxOptions<R>) {
    super(name, rank);
    checkSizes(name, { outputSize }, outputSizes(rank));
    checkOptions(name, options, { returnIndices: boolean });
    this.#size = outputSize;
    this.#options = options;
  }
  protected run(x: Tensor): Pooled<R> {
    return adaptiveMaxPool(x, sizesFor(x, this.#size), this.#options) as Tensor | Tensor[] as Pooled<R>;
  }
}

/** Maxima over windows that cut [N, C, L] into outputSize parts. */
export class AdaptiveMaxPool1d<R extends boolean = false> extends AdaptiveMaxPoolBase<R> {
  constructor(outputSize: OutputSize, options: AdaptiveMaxOptions<R> = {}) {
    super('AdaptiveMaxPool1d', 1, outputSize, options);
  }
}
/** Maxima over windows that cut [N, C, H, W] into outputSize parts. */
export class AdaptiveMaxPool2d<R extends boolean = false> extends AdaptiveMaxPoolBase<R> {
  constructor(outputSize: OutputSize, options: AdaptiveMaxOptions<R> = {}) {
    super('AdaptiveMaxPool2d', 2, outputSize, options);
  }
}
/** Maxima over windows that cut [N, C, D, H, W] into outputSize parts. */
export class AdaptiveMaxPool3d<R extends boolean = false> extends AdaptiveMaxPoolBase<R> {
  constructor(outputSize: OutputSize, options: AdaptiveMaxOptions<R> = {}) {
    super('AdaptiveMaxPool3d', 3, outputSize, options);
  }
}
