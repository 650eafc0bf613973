// Layers that disturb in training and pass on in eval.

import { checkOptions, notNegative, share } from '../options.js';
import type { Generator } from '../random.js';
import { alphaDropout, dropout, featureAlphaDropout, featureDropout, gaussianNoise } from '../stochastic.js';
import type { Tensor } from '../tensor.js';
import { checkSizes, generatorRules, withBatch } from './checks.js';
import { Module } from './module.js';

export interface DropoutLayerOptions {
  /** Where the numbers come from; default: the generator that manualSeed seeds. */
  readonly generator?: Generator;
}

abstract class DropoutBase extends Module {
  protected readonly p: number;
  protected readonly stream: { readonly generator: Generator | undefined };

  protected constructor(name: string, p: number, options: DropoutLayerOptions) {
    super();
    checkSizes(name, { p }, share);
    checkOptions(name, options, generatorRules);
    this.p = p;
    this.stream = { generator: options.generator };
  }
  protected abstract drop(x: Tensor): Tensor;
  forward(x: Tensor): Tensor {
    return this.training ? this.drop(x) : x;
  }
}

/** In training, sets each element to 0 with probability p and divides the others by 1 - p; else the identity. */
export class Dropout extends DropoutBase {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('Dropout', p, options);
  }
  protected drop(x: Tensor): Tensor {
    return dropout(x, this.p, this.stream);
  }
}

/** Dropout for SELU: keeps mean 0 and variance 1 (Klambauer et al. 2017). */
export class AlphaDropout extends DropoutBase {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('AlphaDropout', p, options);
  }
  protected drop(x: Tensor): Tensor {
    return alphaDropout(x, this.p, this.stream);
  }
}

/** Alpha dropout of whole channels of [N, C, *S]. */
export class FeatureAlphaDropout extends DropoutBase {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('FeatureAlphaDropout', p, options);
  }
  protected drop(x: Tensor): Tensor {
    return featureAlphaDropout(x, this.p, this.stream);
  }
}

abstract class ChannelDropout extends DropoutBase {
  readonly #name: string;
  readonly #rank: number;
  protected constructor(name: string, rank: number, p: number, options: DropoutLayerOptions) {
    super(name, p, options);
    this.#name = name;
    this.#rank = rank;
  }
  protected drop(x: Tensor): Tensor {
    return withBatch(this.#name, this.#rank, x, (batch) => featureDropout(batch, this.p, this.stream));
  }
}

/** Dropout of whole channels of [N, C, L]. */
export class Dropout1d extends ChannelDropout {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('Dropout1d', 1, p, options);
  }
}
/** Dropout of whole channels of [N, C, H, W]. */
export class Dropout2d extends ChannelDropout {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('Dropout2d', 2, p, options);
  }
}
/** Dropout of whole channels of [N, C, D, H, W]. */
export class Dropout3d extends ChannelDropout {
  constructor(p = 0.5, options: DropoutLayerOptions = {}) {
    super('Dropout3d', 3, p, options);
  }
}

/** In training, adds normal noise of this standard deviation; else the identity. */
export class GaussianNoise extends Module {
  readonly #std: number;
  readonly #generator: Generator | undefined;
  constructor(std: number, options: DropoutLayerOptions = {}) {
    super();
    checkSizes('GaussianNoise', { std }, notNegative);
    checkOptions('GaussianNoise', options, generatorRules);
    this.#std = std;
    this.#generator = options.generator;
  }
  forward(x: Tensor): Tensor {
    return gaussianNoise(x, this.#std, { training: this.training, generator: this.#generator });
  }
}
