// Layers that move elements: resizing, pixel shuffles, windows as columns.

import { failure } from '../errors.js';
import { fold, interpolate, pixelShuffle, pixelUnshuffle, unfold } from '../ops.generated.js';
import type { InterpolateOptions, UnfoldOptions } from '../ops.generated.js';
import { type Rule, checkOptions, either, manyOf, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, interpolateRules, shapeOf } from './checks.js';
import { type Sizes, product } from './init.js';
import { Module } from './module.js';

/** What a layer that resizes is told. */
export interface ResizeOptions extends Omit<InterpolateOptions, 'scaleFactor'> {
  /** In place of size: sizes become floor(size * scaleFactor). One number, or one an axis. */
  readonly scaleFactor?: Sizes | null;
}

abstract class Resize extends Module {
  readonly #name: string;
  readonly #options: ResizeOptions;

  protected constructor(name: string, options: ResizeOptions) {
    super();
    checkOptions(name, options, interpolateRules);
    if (Array.isArray(options.scaleFactor) && (options.size ?? null) !== null)
      throw failure(name, 'option', 'needs either size or scaleFactor, not both');
    this.#name = name;
    this.#options = options;
  }
  /** [N, C, *S] to [N, C, *S'] */
  forward(x: Tensor): Tensor {
    const { scaleFactor, ...rest } = this.#options;
    if (typeof scaleFactor !== 'object' || scaleFactor === null)
      return interpolate(x, { ...rest, scaleFactor });
    checkInput(this.#name, x);
    return byAxis(this.#name, x, scaleFactor, rest);
  }
}

// A factor an axis: every mode resizes an axis by itself, so that one after another is all at once.
function byAxis(name: string, x: Tensor, factors: readonly number[], options: InterpolateOptions): Tensor {
  const { mode = 'nearest', ...rest } = options;
  const named = { bilinear: 2, bicubic: 2, trilinear: 3 } as Readonly<Record<string, number | undefined>>;
  const axes = named[mode] ?? factors.length;
  if (x.ndim !== factors.length + 2 || axes !== factors.length)
    throw failure(
      name,
      'shape',
      `the input is ${shapeOf(x)}, scaleFactor [${factors.join(', ')}], mode '${mode}'; it takes [N, C] and ${axes} axes, each with a factor`,
    );
  const one = mode.replace(/^(bi|tri)/, '') as NonNullable<InterpolateOptions['mode']>;
  return factors.reduce((y, scaleFactor, i) => {
    const last = y.transpose(i + 2, -1);
    const before = last.shape.slice(0, -1);
    const rows = last.reshape([product(before), 1, last.shape.at(-1) as number]);
    const resized = interpolate(rows, { ...rest, mode: one, scaleFactor });
    return resized.reshape([...before, resized.shape.at(-1) as number]).transpose(i + 2, -1);
  }, x);
}

/** Resizes the spatial dimensions, to a size or by a factor (or one an axis); other options as `interpolate`. */
export class Interpolate extends Resize {
  constructor(options: ResizeOptions) {
    super('Interpolate', options);
  }
}

/** PyTorch's name of Interpolate. */
export class Upsample extends Resize {
  constructor(options: ResizeOptions) {
    super('Upsample', options);
  }
}

/** What an Upsampling layer is told: one of the two. */
export interface UpsamplingOptions {
  /** Sizes of the spatial axes. */
  readonly size?: Sizes;
  /** Of the spatial axes, or of each. */
  readonly scaleFactor?: Sizes;
}

const upsamplingRules = { size: interpolateRules.size, scaleFactor: interpolateRules.scaleFactor };

/** Resizes [N, C, H, W] to the nearest pixel. */
export class UpsamplingNearest2d extends Resize {
  constructor(options: UpsamplingOptions) {
    checkOptions('UpsamplingNearest2d', options, upsamplingRules);
    super('UpsamplingNearest2d', { ...options, mode: 'nearest' });
  }
}

/** Resizes [N, C, H, W] linearly, corners to corners. */
export class UpsamplingBilinear2d extends Resize {
  constructor(options: UpsamplingOptions) {
    checkOptions('UpsamplingBilinear2d', options, upsamplingRules);
    super('UpsamplingBilinear2d', { ...options, mode: 'bilinear', alignCorners: true });
  }
}

/** Of [N, C, *S] channel g C/groups + i goes to i groups + g (Zhang et al. 2018). */
export class ChannelShuffle extends Module {
  readonly #groups: number;
  constructor(groups: number) {
    super();
    checkSizes('ChannelShuffle', { groups }, whole(1));
    this.#groups = groups;
  }
  forward(x: Tensor): Tensor {
    checkInput('ChannelShuffle', x);
    const [n = 0, channels = 0, ...space] = x.shape;
    if (x.ndim < 2 || channels % this.#groups !== 0)
      throw failure(
        'ChannelShuffle',
        'shape',
        `the input is ${shapeOf(x)}; it must be [N, C, *S] with a C that ${this.#groups} groups divide`,
      );
    const apart = x.reshape([n, this.#groups, channels / this.#groups, ...space]);
    return apart.transpose(1, 2).reshape(x.shape);
  }
}

/** [*, C r^2, H, W] to [*, C, H r, W r] (Shi et al. 2016). */
export class PixelShuffle extends Module {
  readonly #factor: number;
  constructor(upscaleFactor: number) {
    super();
    checkSizes('PixelShuffle', { upscaleFactor }, whole(1));
    this.#factor = upscaleFactor;
  }
  forward(x: Tensor): Tensor {
    return pixelShuffle(x, this.#factor);
  }
}

/** [*, C, H r, W r] to [*, C r^2, H, W]: PixelShuffle's inverse. */
export class PixelUnshuffle extends Module {
  readonly #factor: number;
  constructor(downscaleFactor: number) {
    super();
    checkSizes('PixelUnshuffle', { downscaleFactor }, whole(1));
    this.#factor = downscaleFactor;
  }
  forward(x: Tensor): Tensor {
    return pixelUnshuffle(x, this.#factor);
  }
}

const anySizes = (least: number): Rule => either(whole(least), manyOf(whole(least)));
const windowRules = { stride: anySizes(1), padding: anySizes(0), dilation: anySizes(1) };

/** Sliding windows as columns: [N, C, *S] to [N, C prod(kernel), windows]. */
export class Unfold extends Module {
  readonly #kernelSize: Sizes;
  readonly #options: UnfoldOptions;
  constructor(kernelSize: Sizes, options: UnfoldOptions = {}) {
    super();
    checkSizes('Unfold', { kernelSize }, anySizes(1));
    checkOptions('Unfold', options, windowRules);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return unfold(x, this.#kernelSize, this.#options);
  }
}

/** Adds windows up where they lie, Unfold's adjoint: [N, C prod(kernel), windows] to [N, C, *outputSize]. */
export class Fold extends Module {
  readonly #outputSize: Sizes;
  readonly #kernelSize: Sizes;
  readonly #options: UnfoldOptions;
  constructor(outputSize: Sizes, kernelSize: Sizes, options: UnfoldOptions = {}) {
    super();
    checkSizes('Fold', { outputSize, kernelSize }, anySizes(1));
    checkOptions('Fold', options, windowRules);
    this.#outputSize = outputSize;
    this.#kernelSize = kernelSize;
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    return fold(x, this.#outputSize, this.#kernelSize, this.#options);
  }
}
