// The layers without a file of their own: linear, pooling, resizing, activation, containers.

import { failure } from '../errors.js';
import { avgPool, interpolate, linear, maxPool, relu } from '../ops.generated.js';
import type { AvgPoolOptions, InterpolateOptions, MaxPoolOptions } from '../ops.generated.js';
import type { Generator } from '../random.js';
import { dropout } from '../stochastic.js';
import { type Rule, anything, boolean, checkOptions, integer, share, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkSizes, generatorRules, interpolateRules, layerRules, poolRules, sizes } from './checks.js';
import { type LayerOptions, type Sizes, fanInUniform } from './init.js';
import { Module } from './module.js';

/** x W^T + b over the last dimension. Initialised as PyTorch's. */
export class Linear extends Module {
  /** [outFeatures, inFeatures] */
  readonly weight: Tensor;
  /** [outFeatures] */
  readonly bias: Tensor | null;

  constructor(inFeatures: number, outFeatures: number, options: LayerOptions = {}) {
    super();
    checkSizes('Linear', { inFeatures, outFeatures }, whole(1));
    checkOptions('Linear', options, layerRules);
    this.weight = fanInUniform([outFeatures, inFeatures], inFeatures, options);
    this.bias = options.bias === false ? null : fanInUniform([outFeatures], inFeatures, options);
  }

  /** [..., inFeatures] to [..., outFeatures] */
  forward(x: Tensor): Tensor {
    return linear(x, this.weight, this.bias ? { bias: this.bias } : {});
  }
}

/** Largest value of each window; the stride defaults to the window. */
export class MaxPool2d extends Module {
  readonly #kernelSize: Sizes;
  readonly #options: MaxPoolOptions;

  constructor(kernelSize: Sizes, options: MaxPoolOptions = {}) {
    super();
    checkSizes('MaxPool2d', { kernelSize }, sizes(2, 1));
    checkOptions('MaxPool2d', options, { ...poolRules(2), dilation: sizes(2, 1), returnIndices: boolean });
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  /** [N, C, H, W] to [N, C, H', W'] */
  forward(x: Tensor): Tensor {
    return maxPool(x, this.#kernelSize, this.#options);
  }
}

/** Mean of each window; the stride defaults to the window. */
export class AvgPool2d extends Module {
  readonly #kernelSize: Sizes;
  readonly #options: AvgPoolOptions;

  constructor(kernelSize: Sizes, options: AvgPoolOptions = {}) {
    super();
    checkSizes('AvgPool2d', { kernelSize }, sizes(2, 1));
    const own = { countIncludePad: boolean, divisorOverride: anything };
    checkOptions('AvgPool2d', options, { ...poolRules(2), ...own });
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  /** [N, C, H, W] to [N, C, H', W'] */
  forward(x: Tensor): Tensor {
    return avgPool(x, this.#kernelSize, this.#options);
  }
}

/** Resizes the spatial dimensions, to a size or by a factor; options as `interpolate`. */
export class Interpolate extends Module {
  readonly #options: InterpolateOptions;

  constructor(options: InterpolateOptions) {
    super();
    checkOptions('Interpolate', options, interpolateRules);
    this.#options = options;
  }
  /** [N, C, *S] to [N, C, *S'] */
  forward(x: Tensor): Tensor {
    return interpolate(x, this.#options);
  }
}

/** PyTorch's name of Interpolate. */
export class Upsample extends Interpolate {}

/** max(x, 0) */
export class ReLU extends Module {
  forward(x: Tensor): Tensor {
    return relu(x);
  }
}

/** Dimensions `startDim` to `endDim` as one. */
export class Flatten extends Module {
  readonly #startDim: number;
  readonly #endDim: number;

  constructor(startDim = 1, endDim = -1) {
    super();
    checkSizes('Flatten', { startDim, endDim }, integer);
    this.#startDim = startDim;
    this.#endDim = endDim;
  }
  forward(x: Tensor): Tensor {
    const axis = (dim: number): number => (dim < 0 ? dim + x.ndim : dim);
    const [start, end] = [axis(this.#startDim), axis(this.#endDim)];
    if (!(start >= 0 && start <= end && end < x.ndim)) {
      const dims = `dimensions ${this.#startDim} to ${this.#endDim}`;
      throw failure('Flatten', 'shape', `${dims} are not a range of those of shape [${x.shape.join(', ')}]`);
    }
    const size = x.shape.slice(start, end + 1).reduce((total, n) => total * n, 1);
    return x.reshape([...x.shape.slice(0, start), size, ...x.shape.slice(end + 1)]);
  }
}

/** In training, sets each element to 0 with probability p and divides the others by 1 - p; else the identity. */
export class Dropout extends Module {
  readonly #p: number;
  readonly #generator: Generator | undefined;

  constructor(p = 0.5, options: { readonly generator?: Generator } = {}) {
    super();
    checkSizes('Dropout', { p }, share);
    checkOptions('Dropout', options, generatorRules);
    this.#p = p;
    this.#generator = options.generator;
  }
  forward(x: Tensor): Tensor {
    return this.training ? dropout(x, this.#p, { generator: this.#generator }) : x;
  }
}

const aModule: Rule = {
  text: 'a Module; a function belongs into the forward of a class that extends Module',
  code: 'argument',
  test: (v) => v instanceof Module,
};

/** Modules one after another; their names are '0', '1', ... */
export class Sequential extends Module {
  readonly #modules: readonly Module[];

  constructor(...modules: readonly Module[]) {
    super();
    modules.forEach((module, i) => {
      checkSizes('Sequential', { [`module ${i}`]: module }, aModule);
    });
    this.#modules = modules;
  }
  protected override entries(): Iterable<readonly [string, unknown]> {
    return [...super.entries(), ...this.#modules.map((module, i) => [String(i), module] as const)];
  }
  forward(x: Tensor): Tensor {
    return this.#modules.reduce((value, module) => module.call(value), x);
  }
}
