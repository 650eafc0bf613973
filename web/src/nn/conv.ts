// Convolution layers of any rank: parameters and options around the ops.

import { conv, convTranspose } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { type LayerOptions, type Sizes, fanInUniform, perAxis, product } from './init.js';
import { checkConvolution, sizes } from './checks.js';
import { Module } from './module.js';

/** A number, one an axis, or [before, after] an axis. */
export type PaddingSizes = Sizes | readonly (readonly [number, number])[];

export interface ConvLayerOptions extends LayerOptions {
  readonly stride?: Sizes;
  readonly padding?: PaddingSizes;
  readonly dilation?: Sizes;
  readonly groups?: number;
}

class ConvNd extends Module {
  /** [outChannels, inChannels / groups, *kernel] */
  readonly weight: Tensor;
  /** [outChannels] */
  readonly bias: Tensor | null;
  readonly #options: { stride: Sizes; padding: PaddingSizes; dilation: Sizes; groups: number };

  constructor(
    name: string,
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvLayerOptions,
  ) {
    super();
    checkConvolution(name, rank, { inChannels, outChannels, kernelSize }, options);
    const { stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
    this.#options = { stride, padding, dilation, groups };
    const kernel = perAxis(kernelSize, rank);
    const fanIn = (inChannels / groups) * product(kernel);
    this.weight = fanInUniform([outChannels, inChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  /** [N, inChannels, *S] to [N, outChannels, *S'] */
  forward(x: Tensor): Tensor {
    return conv(x, this.weight, { ...this.#options, ...(this.bias ? { bias: this.bias } : {}) });
  }
}

/** Convolution over [N, C, L]. Initialised as PyTorch's. */
export class Conv1d extends ConvNd {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv1d', 1, inChannels, outChannels, kernelSize, options);
  }
}

/** Convolution over [N, C, H, W]. Initialised as PyTorch's. */
export class Conv2d extends ConvNd {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv2d', 2, inChannels, outChannels, kernelSize, options);
  }
}

/** Convolution over [N, C, D, H, W]. Initialised as PyTorch's. */
export class Conv3d extends ConvNd {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv3d', 3, inChannels, outChannels, kernelSize, options);
  }
}

export interface ConvTransposeLayerOptions extends ConvLayerOptions {
  readonly outputPadding?: Sizes;
}

class ConvTransposeNd extends Module {
  /** [inChannels, outChannels / groups, *kernel] */
  readonly weight: Tensor;
  /** [outChannels] */
  readonly bias: Tensor | null;
  readonly #options: {
    stride: Sizes;
    padding: PaddingSizes;
    outputPadding: Sizes;
    dilation: Sizes;
    groups: number;
  };

  constructor(
    name: string,
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions,
  ) {
    super();
    const own = { outputPadding: sizes(rank) };
    checkConvolution(name, rank, { inChannels, outChannels, kernelSize }, options, own);
    const { stride = 1, padding = 0, outputPadding = 0, dilation = 1, groups = 1 } = options;
    this.#options = { stride, padding, outputPadding, dilation, groups };
    const kernel = perAxis(kernelSize, rank);
    // PyTorch reckons the fan-in from the weight's second size, here the output's channels.
    const fanIn = (outChannels / groups) * product(kernel);
    this.weight = fanInUniform([inChannels, outChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  /** [N, inChannels, *S] to [N, outChannels, *S'] */
  forward(x: Tensor): Tensor {
    return convTranspose(x, this.weight, { ...this.#options, ...(this.bias ? { bias: this.bias } : {}) });
  }
}

/** Transposed convolution over [N, C, L]. */
export class ConvTranspose1d extends ConvTransposeNd {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions = {},
  ) {
    super('ConvTranspose1d', 1, inChannels, outChannels, kernelSize, options);
  }
}

/** Transposed convolution over [N, C, H, W]. */
export class ConvTranspose2d extends ConvTransposeNd {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions = {},
  ) {
    super('ConvTranspose2d', 2, inChannels, outChannels, kernelSize, options);
  }
}

/** Transposed convolution over [N, C, D, H, W]. */
export class ConvTranspose3d extends ConvTransposeNd {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions = {},
  ) {
    super('ConvTranspose3d', 3, inChannels, outChannels, kernelSize, options);
  }
}
