// Products with a weight, and layers that only arrange.

import { failure } from '../errors.js';
import { bilinear, linear } from '../ops.generated.js';
import { checkOptions, integer, manyOf, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, layerRules, shapeOf } from './checks.js';
import { type LayerOptions, fanInUniform } from './init.js';
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

/** y_o = x1 W_o x2 + b_o over the last dimensions of both. */
export class Bilinear extends Module<[x1: Tensor, x2: Tensor]> {
  /** [outFeatures, in1Features, in2Features] */
  readonly weight: Tensor;
  /** [outFeatures] */
  readonly bias: Tensor | null;

  constructor(in1Features: number, in2Features: number, outFeatures: number, options: LayerOptions = {}) {
    super();
    checkSizes('Bilinear', { in1Features, in2Features, outFeatures }, whole(1));
    checkOptions('Bilinear', options, layerRules);
    this.weight = fanInUniform([outFeatures, in1Features, in2Features], in1Features, options);
    this.bias = options.bias === false ? null : fanInUniform([outFeatures], in1Features, options);
  }

  /** [..., in1Features] and [..., in2Features] to [..., outFeatures] */
  forward(x1: Tensor, x2: Tensor): Tensor {
    return bilinear(x1, x2, this.weight, { bias: this.bias });
  }
}

/** Gives what it is given. */
export class Identity extends Module {
  forward(x: Tensor): Tensor {
    return x;
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
    checkInput('Flatten', x);
    const axis = (dim: number): number => (dim < 0 ? dim + x.ndim : dim);
    const [start, end] = [axis(this.#startDim), axis(this.#endDim)];
    if (!(start >= 0 && start <= end && end < x.ndim)) {
      const dims = `dimensions ${this.#startDim} to ${this.#endDim}`;
      throw failure('Flatten', 'shape', `${dims} are not a range of those of shape ${shapeOf(x)}`);
    }
    const size = x.shape.slice(start, end + 1).reduce((total, n) => total * n, 1);
    return x.reshape([...x.shape.slice(0, start), size, ...x.shape.slice(end + 1)]);
  }
}

/** Dimension `dim` as several, of these sizes; one of them may be -1. */
export class Unflatten extends Module {
  readonly #dim: number;
  readonly #sizes: readonly number[];

  constructor(dim: number, unflattenedSize: readonly number[]) {
    super();
    checkSizes('Unflatten', { dim }, integer);
    checkSizes('Unflatten', { unflattenedSize }, manyOf(whole(-1)));
    this.#dim = dim;
    this.#sizes = [...unflattenedSize];
  }
  forward(x: Tensor): Tensor {
    const dim = this.#dim < 0 ? this.#dim + x.ndim : this.#dim;
    const size = x.shape[dim];
    const known = this.#sizes.reduce((total, n) => (n < 0 ? total : total * n), 1);
    const open = this.#sizes.filter((n) => n < 0).length;
    const fits = size !== undefined && (open === 0 ? known === size : open === 1 && size % known === 0);
    if (!fits) {
      const text = `dimension ${this.#dim} of shape ${shapeOf(x)} is not [${this.#sizes.join(', ')}]`;
      throw failure('Unflatten', 'shape', text);
    }
    const filled = this.#sizes.map((n) => (n < 0 ? size / known : n));
    return x.reshape([...x.shape.slice(0, dim), ...filled, ...x.shape.slice(dim + 1)]);
  }
}
