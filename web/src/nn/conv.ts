// Convolution layers of any rank: parameters and options around the op.

import { conv, pad } from '../ops.generated.js';
import { oneOf } from '../options.js';
import { failure } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { checkConvolution, checkSizes, paddingOrSame, rankRule, withBatch } from './checks.js';
import { type LayerOptions, type Sizes, fanInUniform, perAxis, product } from './init.js';
import { Module } from './module.js';

/** A number, one an axis, or [before, after] an axis. */
export type PaddingSizes = Sizes | readonly (readonly [number, number])[];

export interface ConvLayerOptions extends LayerOptions {
  readonly stride?: Sizes;
  /** 'same' keeps the sizes (stride 1), 'valid' is 0; default 0. */
  readonly padding?: PaddingSizes | 'same' | 'valid';
  readonly dilation?: Sizes;
  readonly groups?: number;
  /** What stands beyond the edge; default 'zeros'. */
  readonly paddingMode?: 'zeros' | 'reflect' | 'replicate' | 'circular';
}

/** A convolution over `rank` axes, under the name of the layer that it is the base of. */
export abstract class ConvBase extends Module {
  /** [outChannels, inChannels / groups, *kernel] */
  readonly weight: Tensor;
  /** [outChannels] */
  readonly bias: Tensor | null;
  readonly #name: string;
  readonly #rank: number;
  readonly #options: { stride: Sizes; padding: PaddingSizes; dilation: Sizes; groups: number };
  readonly #pad: ((x: Tensor) => Tensor) | undefined;

  protected constructor(
    name: string,
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvLayerOptions,
  ) {
    super();
    const own = {
      padding: paddingOrSame(rank),
      paddingMode: oneOf('zeros', 'reflect', 'replicate', 'circular'),
    };
    checkConvolution(name, rank, { inChannels, outChannels, kernelSize }, options, own);
    const { stride = 1, dilation = 1, groups = 1, paddingMode: mode = 'zeros' } = options;
    const kernel = perAxis(kernelSize, rank);
    const padding = numbersOf(name, rank, kernel, options);
    this.#name = name;
    this.#rank = rank;
    this.#options = { stride, padding: mode === 'zeros' ? padding : 0, dilation, groups };
    const around = typeof padding === 'number' ? perAxis(padding, rank) : padding;
    const pairs = around.map((size) => (typeof size === 'number' ? ([size, size] as const) : size));
    this.#pad = mode === 'zeros' ? undefined : (x) => pad(x, pairs, { mode });
    const fanIn = (inChannels / groups) * product(kernel);
    this.weight = fanInUniform([outChannels, inChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  /** How many groups the channels are cut into, and the op's other options. */
  get options(): {
    readonly stride: Sizes;
    readonly padding: PaddingSizes;
    readonly dilation: Sizes;
    readonly groups: number;
  } {
    return this.#options;
  }

  /** [N, inChannels, *S] to [N, outChannels, *S'], or both without N */
  forward(x: Tensor): Tensor {
    return withBatch(this.#name, this.#rank, x, (batch) => this.convolve(batch, this.weight, this.bias));
  }

  protected convolve(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
    return conv(this.#pad ? this.#pad(x) : x, weight, { ...this.#options, bias });
  }

  /** The layer's convolution with a [rank * groups, ...] in place of its weight, then one of size 1 with b; no bias. */
  lowRank(x: Tensor, a: Tensor, b: Tensor): Tensor {
    const { groups } = this.#options;
    return withBatch(this.#name, this.#rank, x, (batch) =>
      conv(this.convolve(batch, a, null), b, { groups }),
    );
  }
}

function numbersOf(
  name: string,
  rank: number,
  kernel: readonly number[],
  { padding = 0, stride = 1, dilation = 1 }: ConvLayerOptions,
): PaddingSizes {
  if (padding === 'valid') return 0;
  if (padding !== 'same') return padding;
  if (perAxis(stride, rank).some((step) => step !== 1))
    throw failure(name, 'option', "padding is 'same'; it needs stride 1");
  const steps = perAxis(dilation, rank);
  return kernel.map((size, i): [number, number] => {
    const total = (size - 1) * (steps[i] ?? 1);
    const before = Math.floor(total / 2);
    return [before, total - before];
  });
}

/** Convolution over [N, C, *S] of any rank from 1. Initialised as PyTorch's. */
export class ConvNd extends ConvBase {
  constructor(
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: ConvLayerOptions = {},
  ) {
    checkSizes('ConvNd', { rank }, rankRule);
    super('ConvNd', rank, inChannels, outChannels, kernelSize, options);
  }
}

/** Convolution over [N, C, L]. Initialised as PyTorch's. */
export class Conv1d extends ConvBase {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv1d', 1, inChannels, outChannels, kernelSize, options);
  }
}

/** Convolution over [N, C, H, W]. Initialised as PyTorch's. */
export class Conv2d extends ConvBase {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv2d', 2, inChannels, outChannels, kernelSize, options);
  }
}

/** Convolution over [N, C, D, H, W]. Initialised as PyTorch's. */
export class Conv3d extends ConvBase {
  constructor(inChannels: number, outChannels: number, kernelSize: Sizes, options: ConvLayerOptions = {}) {
    super('Conv3d', 3, inChannels, outChannels, kernelSize, options);
  }
}
