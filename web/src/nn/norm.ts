// Normalisation without running statistics: by groups of channels, by the last axes, by neighbouring channels.

import { ones, zeros } from '../create.js';
import { failure } from '../errors.js';
import { groupNorm, layerNorm, localResponseNorm, rmsNorm } from '../ops.generated.js';
import type { LocalResponseNormOptions } from '../ops.generated.js';
import { boolean, checkOptions, either, finite, manyOf, notNegative, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkAxis, checkInput, checkSizes, floatRules, orNull } from './checks.js';
import type { Sizes } from './init.js';
import { Module, parameter } from './module.js';

type Float = 'float32' | 'float64';

export interface GroupNormLayerOptions {
  /** Added to the variance; default 1e-5. */
  readonly eps?: number;
  /** Learn a factor and a summand for each channel; default true. */
  readonly affine?: boolean;
  readonly dtype?: Float;
}

/** Normalises each of `numGroups` groups of channels of each instance. */
export class GroupNorm extends Module {
  /** [C] */
  readonly weight: Tensor | null;
  /** [C] */
  readonly bias: Tensor | null;
  readonly #numGroups: number;
  readonly #numChannels: number;
  readonly #eps: number;

  constructor(numGroups: number, numChannels: number, options: GroupNormLayerOptions = {}) {
    super();
    checkSizes('GroupNorm', { numGroups, numChannels }, whole(1));
    checkOptions('GroupNorm', options, { eps: notNegative, affine: boolean, ...floatRules });
    if (numChannels % numGroups !== 0)
      throw failure(
        'GroupNorm',
        'option',
        `numGroups is ${numGroups}; it must divide numChannels, ${numChannels}`,
      );
    const { eps = 1e-5, affine = true, dtype = 'float32' } = options;
    this.#numGroups = numGroups;
    this.#numChannels = numChannels;
    this.#eps = eps;
    this.weight = affine ? parameter(ones([numChannels], { dtype })) : null;
    this.bias = affine ? parameter(zeros([numChannels], { dtype })) : null;
  }
  /** [N, C, *S] to the same shape */
  forward(x: Tensor): Tensor {
    checkInput('GroupNorm', x);
    checkAxis('GroupNorm', x, 1, this.#numChannels, 'channels');
    return groupNorm(x, this.#numGroups, { weight: this.weight, bias: this.bias, eps: this.#eps });
  }
}

export interface LayerNormLayerOptions {
  /** Added to the variance; default 1e-5. */
  readonly eps?: number;
  /** Learn a factor for each element; default true. */
  readonly elementwiseAffine?: boolean;
  /** Learn a summand for each element too; default true. */
  readonly bias?: boolean;
  readonly dtype?: Float;
}

const normalized = either(whole(1), manyOf(whole(1)));
const shapeList = (size: Sizes): number[] => (typeof size === 'number' ? [size] : [...size]);

/** Normalises over the last axes, whose sizes `normalizedShape` are: to mean 0 and variance 1. */
export class LayerNorm extends Module {
  /** normalizedShape */
  readonly weight: Tensor | null;
  /** normalizedShape */
  readonly bias: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number;

  constructor(normalizedShape: Sizes, options: LayerNormLayerOptions = {}) {
    super();
    checkSizes('LayerNorm', { normalizedShape }, normalized);
    const own = { eps: notNegative, elementwiseAffine: boolean, bias: boolean, ...floatRules };
    checkOptions('LayerNorm', options, own);
    const { eps = 1e-5, elementwiseAffine = true, bias = true, dtype = 'float32' } = options;
    this.#shape = shapeList(normalizedShape);
    this.#eps = eps;
    this.weight = elementwiseAffine ? parameter(ones(this.#shape, { dtype })) : null;
    this.bias = elementwiseAffine && bias ? parameter(zeros(this.#shape, { dtype })) : null;
  }
  /** [*, *normalizedShape] to the same shape */
  forward(x: Tensor): Tensor {
    return layerNorm(x, this.#shape, { weight: this.weight, bias: this.bias, eps: this.#eps });
  }
}

export interface RMSNormLayerOptions {
  /** Added to the mean square; null (default): the dtype's machine epsilon. */
  readonly eps?: number | null;
  /** Learn a factor for each element; default true. */
  readonly elementwiseAffine?: boolean;
  readonly dtype?: Float;
}

/** Divides by the root of the mean square over the last axes, whose sizes `normalizedShape` are. */
export class RMSNorm extends Module {
  /** normalizedShape */
  readonly weight: Tensor | null;
  readonly #shape: readonly number[];
  readonly #eps: number | null;

  constructor(normalizedShape: Sizes, options: RMSNormLayerOptions = {}) {
    super();
    checkSizes('RMSNorm', { normalizedShape }, normalized);
    checkOptions('RMSNorm', options, { eps: orNull(notNegative), elementwiseAffine: boolean, ...floatRules });
    const { eps = null, elementwiseAffine = true, dtype = 'float32' } = options;
    this.#shape = shapeList(normalizedShape);
    this.#eps = eps;
    this.weight = elementwiseAffine ? parameter(ones(this.#shape, { dtype })) : null;
  }
  /** [*, *normalizedShape] to the same shape */
  forward(x: Tensor): Tensor {
    return rmsNorm(x, this.#shape, { weight: this.weight, eps: this.#eps });
  }
}

/** Divides by (k + alpha * mean square of `size` neighbouring channels)^beta; alpha 1e-4, beta 0.75, k 1. */
export class LocalResponseNorm extends Module {
  readonly #size: number;
  readonly #options: LocalResponseNormOptions;

  constructor(size: number, options: LocalResponseNormOptions = {}) {
    super();
    checkSizes('LocalResponseNorm', { size }, whole(1));
    checkOptions('LocalResponseNorm', options, { alpha: finite, beta: finite, k: finite });
    this.#size = size;
    this.#options = options;
  }
  /** [N, C, *S] to the same shape */
  forward(x: Tensor): Tensor {
    return localResponseNorm(x, this.#size, this.#options);
  }
}
