// Deformable convolution layers of rank 1 to 3: with offsets given by the caller, as torchvision's, and packs that bring
// a convolution of their own for them.

import { noGrad } from '../autograd.js';
import { deformConv, sigmoid } from '../ops.generated.js';
import { boolean, checkValue, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkConvolution, sizes, withBatch } from './checks.js';
import { type ConvLayerOptions, ConvNd } from './conv.js';
import { type LayerOptions, type Sizes, fanInUniform, perAxis, product } from './init.js';
import { Layer } from './layer.js';

export interface DeformConvLayerOptions
  extends LayerOptions, Pick<ConvLayerOptions, 'stride' | 'dilation' | 'groups'> {
  /** On both sides; default 0. */
  readonly padding?: Sizes;
  /** Groups of input channels that share offsets; default 1. */
  readonly offsetGroups?: number;
}

export interface DeformConvPackOptions extends DeformConvLayerOptions {
  /** Factors of the samples as well, sigmoids from the same convolution (v2); default false. */
  readonly modulated?: boolean;
}

type Offset = [x: Tensor, offset: Tensor, mask?: Tensor];

abstract class DeformBase<In extends unknown[]> extends Layer<In> {
  /** [outChannels, inChannels / groups, *kernel] */
  readonly weight: Tensor;
  /** [outChannels] */
  readonly bias: Tensor | null;
  readonly #options: {
    stride: Sizes;
    padding: Sizes;
    dilation: Sizes;
    groups: number;
    offsetGroups: number;
  };

  protected constructor(
    name: string,
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvPackOptions,
    more = {},
  ) {
    super();
    const own = { padding: sizes(rank), offsetGroups: whole(1), ...more };
    checkConvolution(name, rank, { inChannels, outChannels, kernelSize }, options, own);
    const { stride = 1, padding = 0, dilation = 1, groups = 1, offsetGroups = 1 } = options;
    checkValue(name, 'offsetGroups', offsetGroups, {
      text: `a divisor of inChannels, which is ${inChannels}`,
      test: () => inChannels % offsetGroups === 0,
    });
    this.#options = { stride, padding, dilation, groups, offsetGroups };
    const kernel = perAxis(kernelSize, rank);
    const fanIn = (inChannels / groups) * product(kernel);
    this.weight = fanInUniform([outChannels, inChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  protected deform(x: Tensor, offset: Tensor, mask: Tensor | undefined): Tensor {
    return deformConv(x, offset, this.weight, { ...this.#options, bias: this.bias, mask });
  }
}

abstract class DeformConvBase extends DeformBase<Offset> {
  /**
   * @param x [N, inChannels, *S]
   * @param offset [N, offsetGroups * taps * axes, *S'], in pixels; of each tap its shifts in axis order, y before x
   * @param mask [N, offsetGroups * taps, *S']: factors of the samples
   */
  forward(x: Tensor, offset: Tensor, mask?: Tensor): Tensor {
    return this.deform(x, offset, mask);
  }
}

/** Deformable convolution over [N, C, L]. */
export class DeformConv1d extends DeformConvBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvLayerOptions = {},
  ) {
    super('DeformConv1d', 1, inChannels, outChannels, kernelSize, options);
  }
}
/** Deformable convolution over [N, C, H, W], as torchvision's. */
export class DeformConv2d extends DeformConvBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvLayerOptions = {},
  ) {
    super('DeformConv2d', 2, inChannels, outChannels, kernelSize, options);
  }
}
/** Deformable convolution over [N, C, D, H, W]. */
export class DeformConv3d extends DeformConvBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvLayerOptions = {},
  ) {
    super('DeformConv3d', 3, inChannels, outChannels, kernelSize, options);
  }
}

abstract class DeformPackBase extends DeformBase<[x: Tensor]> {
  /** Gives offsets and, if modulated, masks after them. Starts at zero: as a plain convolution, halved if modulated. */
  readonly convOffset: ConvNd;
  readonly #name: string;
  readonly #rank: number;
  readonly #offsets: number;
  readonly #masks: number;

  protected constructor(
    name: string,
    rank: number,
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvPackOptions,
  ) {
    super(name, rank, inChannels, outChannels, kernelSize, options, { modulated: boolean });
    const { stride = 1, padding = 0, dilation = 1, offsetGroups = 1, dtype = 'float32' } = options;
    const taps = offsetGroups * product(perAxis(kernelSize, rank));
    this.#name = name;
    this.#rank = rank;
    this.#offsets = rank * taps;
    this.#masks = options.modulated === true ? taps : 0;
    const channels = this.#offsets + this.#masks;
    const own = {
      stride,
      padding,
      dilation,
      dtype,
      ...(options.generator ? { generator: options.generator } : {}),
    };
    this.convOffset = new ConvNd(rank, inChannels, channels, kernelSize, own);
    noGrad(() => {
      for (const tensor of this.convOffset.parameters()) tensor.fill_(0);
    });
  }

  /** [N, inChannels, *S] to [N, outChannels, *S'], or both without N */
  forward(x: Tensor): Tensor {
    return withBatch(this.#name, this.#rank, x, (batch) => {
      const made = this.convOffset.call(batch);
      if (this.#masks === 0) return this.deform(batch, made, undefined);
      const [offset, mask] = made.split([this.#offsets, this.#masks], { dim: 1 }) as [Tensor, Tensor];
      return this.deform(batch, offset, sigmoid(mask));
    });
  }
}

/** Deformable convolution over [N, C, L] that brings its own offsets. */
export class DeformConv1dPack extends DeformPackBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvPackOptions = {},
  ) {
    super('DeformConv1dPack', 1, inChannels, outChannels, kernelSize, options);
  }
}
/** Deformable convolution over [N, C, H, W] that brings its own offsets. */
export class DeformConv2dPack extends DeformPackBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvPackOptions = {},
  ) {
    super('DeformConv2dPack', 2, inChannels, outChannels, kernelSize, options);
  }
}
/** Deformable convolution over [N, C, D, H, W] that brings its own offsets. */
export class DeformConv3dPack extends DeformPackBase {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvPackOptions = {},
  ) {
    super('DeformConv3dPack', 3, inChannels, outChannels, kernelSize, options);
  }
}
