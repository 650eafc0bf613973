// Flips, crops and new sizes. Flips and crops keep the dtype; what is between pixels is float32.

import { tensor } from '../../create.js';
import { failure } from '../../errors.js';
import { flip, gather, interpolate, pad } from '../../ops.generated.js';
import { boolean, checkOptions, checkValue, number, oneOf, whole } from '../../options.js';
import type { Tensor } from '../../tensor.js';
import { type Transform, checkShare, chosen, drawNumbers, sizesOf, transformOf } from './transform.js';

/** Height and width; one number for both. */
export type Size = number | readonly [height: number, width: number];

const sizeRule = {
  text: 'a whole number from 1, or two of them: [height, width]',
  test: (v: unknown): boolean =>
    whole(1).test(v) || (Array.isArray(v) && v.length === 2 && v.every((n) => whole(1).test(n))),
};

/** A size that was given, checked. */
export function pairOf(op: string, size: Size): [height: number, width: number] {
  checkValue(op, 'size', size, sizeRule);
  return typeof size === 'number' ? [size, size] : [...size];
}

const flipped = (name: string, axis: 2 | 3): Transform => transformOf({ name, run: (x) => flip(x, [axis]) });
const sometimes = (name: string, axis: 2 | 3, p: number): Transform => {
  checkShare(name, p);
  return transformOf({ name, run: (x, generator) => chosen(x, p, generator, (all) => flip(all, [axis])) });
};

/** Left to right. */
export const horizontalFlip = (): Transform => flipped('horizontalFlip', 3);
/** Top to bottom. */
export const verticalFlip = (): Transform => flipped('verticalFlip', 2);
/** Left to right, each image with probability p. */
export const randomHorizontalFlip = (p = 0.5): Transform => sometimes('randomHorizontalFlip', 3, p);
/** Top to bottom, each image with probability p. */
export const randomVerticalFlip = (p = 0.5): Transform => sometimes('randomVerticalFlip', 2, p);

/** The part of that size that begins at a row and a column. */
export function crop(top: number, left: number, size: Size): Transform {
  for (const [name, value] of Object.entries({ top, left })) checkValue('crop', name, value, whole());
  const [height, width] = pairOf('crop', size);
  return transformOf({
    name: 'crop',
    run(x) {
      checkFits('crop', x, top + height, left + width);
      return x.at('...', [top, top + height], [left, left + width]).clone();
    },
  });
}

/** The middle; where it does not fit evenly, one pixel nearer to the top and the left. */
export function centerCrop(size: Size): Transform {
  const [height, width] = pairOf('centerCrop', size);
  return transformOf({
    name: 'centerCrop',
    run(x) {
      checkFits('centerCrop', x, height, width);
      const [, , h, w] = sizesOf(x);
      const [top, left] = [Math.floor((h - height) / 2), Math.floor((w - width) / 2)];
      return x.at('...', [top, top + height], [left, left + width]).clone();
    },
  });
}

function checkFits(op: string, x: Tensor, height: number, width: number): void {
  const [, , h, w] = sizesOf(x);
  if (height > h || width > w)
    throw failure(
      op,
      'shape',
      `the image is [${x.shape.join(', ')}]; ${height} rows and ${width} columns are needed`,
    );
}

export interface RandomCropOptions {
  /** Pixels put around the image first, on each side; default 0. */
  readonly padding?: number;
  /** What they are; default 'constant'. */
  readonly paddingMode?: 'constant' | 'reflect' | 'replicate' | 'circular';
  /** The constant; default 0. */
  readonly fill?: number;
}

/** A part of that size, anywhere; each image's elsewhere. */
export function randomCrop(size: Size, options: RandomCropOptions = {}): Transform {
  const [height, width] = pairOf('randomCrop', size);
  checkOptions('randomCrop', options, {
    padding: whole(),
    paddingMode: oneOf('constant', 'reflect', 'replicate', 'circular'),
    fill: number,
  });
  const { padding = 0, paddingMode = 'constant', fill = 0 } = options;
  return transformOf({
    name: 'randomCrop',
    run(x, generator) {
      const sides: [number, number] = [padding, padding];
      const wide = padding === 0 ? x : pad(x, [sides, sides], { mode: paddingMode, value: fill });
      checkFits('randomCrop', wide, height, width);
      const [n, c, h, w] = sizesOf(wide);
      const starts = (room: number): number[] => drawNumbers(generator, n, 0, room + 1).map(Math.floor);
      const rows = gather(
        wide,
        2,
        places(starts(h - height), height, [n, 1, height, 1]).expand([n, c, height, w]),
      );
      return gather(
        rows,
        3,
        places(starts(w - width), width, [n, 1, 1, width]).expand([n, c, height, width]),
      );
    },
  });
}

// start, start + 1, ... for each image.
function places(starts: readonly number[], count: number, shape: readonly number[]): Tensor {
  const all = new Int32Array(starts.length * count);
  starts.forEach((start, i) => {
    for (let k = 0; k < count; k++) all[i * count + k] = start + k;
  });
  return tensor(all, { shape });
}

export interface ResizeOptions {
  /** How pixels are joined; default 'bilinear'. */
  readonly mode?: 'nearest' | 'nearest-exact' | 'bilinear' | 'bicubic' | 'lanczos3';
  /** Whether a smaller image is of all pixels of the larger one; default true, but for nearest. */
  readonly antialias?: boolean;
}

/** Another size, [height, width]; one number: the smaller side's, the other in proportion. float32, values not rounded. */
export function resize(size: Size, options: ResizeOptions = {}): Transform {
  pairOf('resize', size);
  checkOptions('resize', options, {
    mode: oneOf('nearest', 'nearest-exact', 'bilinear', 'bicubic', 'lanczos3'),
    antialias: boolean,
  });
  const { mode = 'bilinear', antialias = !mode.startsWith('nearest') } = options;
  return transformOf({
    name: 'resize',
    floating: true,
    run(x) {
      const [, , h, w] = sizesOf(x);
      return interpolate(x, {
        size: typeof size === 'number' ? inProportion(size, h, w) : size,
        mode,
        antialias,
      });
    },
  });
}

const inProportion = (size: number, h: number, w: number): [number, number] =>
  h <= w ? [size, Math.floor((size * w) / h)] : [Math.floor((size * h) / w), size];
