// Transposed convolution layers of any rank.

import { convTranspose } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { checkConvolution, checkSizes, rankRule, sizes, withBatch } from './checks.js';
import type { ConvLayerOptions, PaddingSizes } from './conv.js';
import { type Sizes, fanInUniform, perAxis, product } from './init.js';
import { Module } from './module.js';

export interface ConvTransposeLayerOptions extends Omit<ConvLayerOptions, 'padding' | 'paddingMode'> {
  /** Cut off around the result; default 0. */
  readonly padding?: PaddingSizes;
  /** Added after the result; default 0. */
  readonly outputPadding?: Sizes;
}

/** A transposed convolution over `rank` axes, under the name of the layer that it is the base of. */
export abstract class ConvTransposeBase extends Module {
  /** [inChannels, outChannels / groups, *kernel] */
  readonly weight: Tensor;
  /** [outChannels] */
  readonly bias: Tensor | null;
  readonly #name: string;
  readonly #rank: number;
  readonly #options: {
    stride: Sizes;
    padding: PaddingSizes;
    outputPadding: Sizes;
    dilation: Sizes;
    groups: number;
  };

  protected constructor(
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
    this.#name = name;
    this.#rank = rank;
    this.#options = { stride, padding, outputPadding, dilation, groups };
    const kernel = perAxis(kernelSize, rank);
    // PyTorch reckons the fan-in from the weight's second size, here the output's channels.
    const fanIn = (outChannels / groups) * product(kernel);
    this.weight = fanInUniform([inChannels, outChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  /** [N, inChannels, *S] to [N, outChannels, *S'], or both without N */
  forward(x: Tensor): Tensor {
    return withBatch(this.#name, this.#rank, x, (batch) =>
      convTranspose(batch, this.weight, { ...this.#options, bias: this.bias }),
    );
  }
}

/** Transposed convolution over [N, C, *S] of any rank from 1. */
export class ConvTransposeNd extends ConvTransposeBase {
  constructor(
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions = {},
  ) {
    checkSizes('ConvTransposeNd', { rank }, rankRule);
    super('ConvTransposeNd', rank, inChannels, outChannels, kernelSize, options);
  }
}

/** Transposed convolution over [N, C, L]. */
export class ConvTranspose1d extends ConvTransposeBase {
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
export class ConvTranspose2d extends ConvTransposeBase {
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
export class ConvTranspose3d extends ConvTransposeBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvTransposeLayerOptions = {},
  ) {
    super('ConvTranspose3d', 3, inChannels, outChannels, kernelSize, options);
  }
}
