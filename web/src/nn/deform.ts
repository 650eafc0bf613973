// Deformable convolution layers.

import { noGrad } from '../autograd.js';
import { deformConv } from '../ops.generated.js';
import { whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkConvolution, sizes } from './checks.js';
import { type ConvLayerOptions, Conv2d } from './conv.js';
import { type Sizes, fanInUniform, perAxis, product } from './init.js';
import { Module } from './module.js';

export interface DeformConvLayerOptions extends Omit<ConvLayerOptions, 'padding'> {
  /** On both sides; default 0. */
  readonly padding?: Sizes;
  /** Groups of input channels that share offsets; default 1. */
  readonly offsetGroups?: number;
}

const deformRules = { padding: sizes(2), offsetGroups: whole(1) };

/** Deformable convolution over [N, C, H, W] with offsets given by the caller, as torchvision's. */
export class DeformConv2d extends Module<[x: Tensor, offset: Tensor, mask?: Tensor]> {
  /** [outChannels, inChannels / groups, kh, kw] */
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

  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvLayerOptions = {},
  ) {
    super();
    checkConvolution('DeformConv2d', 2, { inChannels, outChannels, kernelSize }, options, deformRules);
    const { stride = 1, padding = 0, dilation = 1, groups = 1, offsetGroups = 1 } = options;
    this.#options = { stride, padding, dilation, groups, offsetGroups };
    const kernel = perAxis(kernelSize, 2);
    const fanIn = (inChannels / groups) * product(kernel);
    this.weight = fanInUniform([outChannels, inChannels / groups, ...kernel], fanIn, options);
    this.bias = options.bias === false ? null : fanInUniform([outChannels], fanIn, options);
  }

  /**
   * @param x [N, inChannels, H, W]
   * @param offset [N, offsetGroups * kh * kw * 2, H', W'], in pixels, y before x
   * @param mask [N, offsetGroups * kh * kw, H', W']: factors of the samples
   */
  forward(x: Tensor, offset: Tensor, mask?: Tensor): Tensor {
    const optional = { ...(this.bias ? { bias: this.bias } : {}), ...(mask ? { mask } : {}) };
    return deformConv(x, offset, this.weight, { ...this.#options, ...optional });
  }
}

/** Deformable convolution that brings its own offsets, from a convolution that starts at zero. */
export class DeformConv2dPack extends Module {
  readonly #deform: DeformConv2d;
  /** The deformable convolution's own parameters, named as PyTorch packs name them. */
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  // The name is the state dict's.
  readonly conv_offset: Conv2d;

  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: Sizes,
    options: DeformConvLayerOptions = {},
  ) {
    super();
    checkConvolution('DeformConv2dPack', 2, { inChannels, outChannels, kernelSize }, options, deformRules);
    this.#deform = new DeformConv2d(inChannels, outChannels, kernelSize, options);
    this.weight = this.#deform.weight;
    this.bias = this.#deform.bias;
    const { stride = 1, padding = 0, dilation = 1, offsetGroups = 1, dtype = 'float32' } = options;
    const channels = offsetGroups * 2 * product(perAxis(kernelSize, 2));
    this.conv_offset = new Conv2d(inChannels, channels, kernelSize, { stride, padding, dilation, dtype });
    noGrad(() => {
      this.conv_offset.weight.fill_(0);
      this.conv_offset.bias?.fill_(0);
    });
  }

  /** [N, inChannels, H, W] to [N, outChannels, H', W'] */
  forward(x: Tensor): Tensor {
    return this.#deform.forward(x, this.conv_offset.forward(x));
  }
}
