// Rotations and other affine maps of images, about their centre, by gridSample. Angles are degrees, counter-clockwise as
// one sees it; float32.

import { tensor } from '../../create.js';
import { affineGrid, gridSample } from '../../ops.generated.js';
import {
  type Rule,
  checkOptions,
  checkValue,
  finite,
  listOf,
  number,
  oneOf,
  positive,
} from '../../options.js';
import type { Generator } from '../../random.js';
import { math } from '../../runtime.js';
import type { Tensor } from '../../tensor.js';
import { type Size, pairOf } from './geometry.js';
import { type Transform, drawNumbers, sizesOf, transformOf } from './transform.js';

export interface SampleOptions {
  /** How pixels are joined; default 'bilinear'. */
  readonly mode?: 'bilinear' | 'nearest' | 'bicubic';
  /** What lies outside the image; default 0. */
  readonly fill?: number;
}

/** A map of the plane: turn by degrees and enlarge, slant along x and y by degrees, then move by pixels. */
export interface AffineMap {
  readonly degrees?: number;
  readonly scale?: number;
  readonly shear?: readonly [x: number, y: number];
  readonly translate?: readonly [x: number, y: number];
}

const sampleRules = { mode: oneOf('bilinear', 'nearest', 'bicubic'), fill: number };
const mapRules = { degrees: finite, scale: positive, shear: listOf(finite, 2), translate: listOf(finite, 2) };

/** Turns images by degrees. */
export function rotate(degrees: number, options: SampleOptions = {}): Transform {
  checkValue('rotate', 'degrees', degrees, finite);
  checkOptions('rotate', options, sampleRules);
  return moved('rotate', options, (n) => Array.from({ length: n }, () => ({ degrees })));
}

/** The same map for all images. */
export function affine(map: AffineMap, options: SampleOptions = {}): Transform {
  checkOptions('affine', map, mapRules);
  checkOptions('affine', options, sampleRules);
  return moved('affine', options, (n) => Array.from({ length: n }, () => map));
}

/** From and to; one number: from minus it to it. */
export type Range = number | readonly [from: number, to: number];

const range: Rule = {
  text: 'a number from 0, or two of them: [from, to]',
  test: (v) =>
    (typeof v === 'number' && v >= 0 && Number.isFinite(v)) ||
    (listOf(finite, 2).test(v) && (v as [number, number])[0] <= (v as [number, number])[1]),
};

/** Turns each image by degrees of its own. */
export function randomRotation(degrees: Range, options: SampleOptions = {}): Transform {
  checkValue('randomRotation', 'degrees', degrees, range);
  checkOptions('randomRotation', options, sampleRules);
  return moved('randomRotation', options, (n, _, generator) =>
    drawn(generator, n, degrees).map((angle) => ({ degrees: angle })),
  );
}

export interface RandomAffineOptions extends SampleOptions {
  readonly degrees?: Range;
  /** At most these shares of width and height, either way. */
  readonly translate?: readonly [x: number, y: number];
  readonly scale?: readonly [from: number, to: number];
  /** Degrees along x; along y 0. */
  readonly shear?: Range;
}

/** Each image by a map of its own; what is absent is left as it is. */
export function randomAffine(options: RandomAffineOptions): Transform {
  checkOptions('randomAffine', options, {
    ...sampleRules,
    degrees: range,
    shear: range,
    translate: listOf(
      { text: 'a number from 0 to 1', test: (v) => typeof v === 'number' && v >= 0 && v <= 1 },
      2,
    ),
    scale: listOf(positive, 2),
  });
  const { degrees = 0, shear = 0, translate: [dx, dy] = [0, 0], scale = [1, 1], ...rest } = options;
  return moved('randomAffine', rest, (n, [height, width], generator) => {
    const angles = drawn(generator, n, degrees);
    const [xs, ys] = [drawn(generator, n, dx * width), drawn(generator, n, dy * height)];
    const scales = drawn(generator, n, scale);
    return drawn(generator, n, shear).map((slant, i) => ({
      degrees: angles[i] as number,
      translate: [Math.round(xs[i] as number), Math.round(ys[i] as number)],
      scale: scales[i] as number,
      shear: [slant, 0],
    }));
  });
}

const drawn = (generator: Generator, n: number, given: Range): number[] =>
  typeof given === 'number' ? drawNumbers(generator, n, -given, given) : drawNumbers(generator, n, ...given);

type Sizes = readonly [height: number, width: number];

function moved(
  name: string,
  options: SampleOptions,
  maps: (n: number, size: Sizes, generator: Generator) => AffineMap[],
): Transform {
  return transformOf({
    name,
    floating: true,
    run(x, generator) {
      const [n, , h, w] = sizesOf(x);
      const rows = maps(n, [h, w], generator).map((map) => inverse(map, h, w));
      return sampled(x, rows, [h, w], options);
    },
  });
}

type Rows = readonly [number, number, number, number, number, number];

// The map from places in the result to places in the image, both from -1 to 1: what affineGrid takes.
function inverse(
  { degrees = 0, scale = 1, shear = [0, 0], translate = [0, 0] }: AffineMap,
  h: number,
  w: number,
): Rows {
  const radians = (angle: number): number => (angle * Math.PI) / 180;
  // Of right angles exactly, so that turning by them moves pixels and hardly mixes any.
  const quarter = degrees / 90;
  const exact = [[1, 0], [0, 1], [-1, 0], [0, -1]] as const; // prettier-ignore
  const [cos, sin] = Number.isInteger(quarter)
    ? (exact[((quarter % 4) + 4) % 4] as readonly [number, number])
    : [math('cos', radians(degrees)), math('sin', radians(degrees))];
  const [p, q] = shear.map((angle) => (angle === 0 ? 0 : math('tan', radians(angle)))) as [number, number];
  const over = scale * (1 - p * q);
  // inverse(slant) x inverse(turn); y points down.
  const [a, b] = [(cos - p * sin) / over, (-sin - p * cos) / over];
  const [c, d] = [(sin - q * cos) / over, (cos + q * sin) / over];
  const [tx, ty] = translate;
  const [x, y] = [-(a * tx + b * ty), -(c * tx + d * ty)];
  return [a, (b * h) / w, (2 * x) / w, (c * w) / h, d, (2 * y) / h];
}

function sampled(
  x: Tensor,
  rows: readonly Rows[],
  [h, w]: Sizes,
  { mode = 'bilinear', fill = 0 }: SampleOptions,
): Tensor {
  const [n, c] = sizesOf(x);
  const theta = tensor(rows.flat(), { shape: [n, 2, 3], dtype: x.dtype });
  const grid = affineGrid(theta, [n, c, h, w]);
  // Outside are zeros: of what differs from the fill.
  return fill === 0 ? gridSample(x, grid, { mode }) : gridSample(x.sub(fill), grid, { mode }).add(fill);
}

export interface RandomResizedCropOptions {
  /** Shares of the image's area; default [0.08, 1]. */
  readonly scale?: readonly [from: number, to: number];
  /** Width over height; default [3/4, 4/3]. */
  readonly ratio?: readonly [from: number, to: number];
  readonly mode?: 'bilinear' | 'nearest' | 'bicubic';
}

/** A part of each image, of a size and shape by chance, made that size: the augmentation of ImageNet training. */
export function randomResizedCrop(size: Size, options: RandomResizedCropOptions = {}): Transform {
  const out = pairOf('randomResizedCrop', size);
  checkOptions('randomResizedCrop', options, {
    scale: listOf(positive, 2),
    ratio: listOf(positive, 2),
    mode: sampleRules.mode,
  });
  const { scale = [0.08, 1], ratio = [3 / 4, 4 / 3], mode = 'bilinear' } = options;
  return transformOf({
    name: 'randomResizedCrop',
    floating: true,
    run(x, generator) {
      const [n, , h, w] = sizesOf(x);
      const areas = drawNumbers(generator, n, ...(scale as [number, number]));
      const shapes = drawNumbers(generator, n, math('log', ratio[0]), math('log', ratio[1]));
      const [downs, rights] = [drawNumbers(generator, n, -1, 1), drawNumbers(generator, n, -1, 1)];
      const rows = areas.map((area, i): Rows => {
        // Shares of width and height; what is longer than the image is cut to it.
        const wide = math('exp', shapes[i] as number) * (h / w);
        const across = Math.min(1, Math.sqrt(area * wide));
        const down = Math.min(1, Math.sqrt(area / wide));
        return [across, 0, (1 - across) * (rights[i] as number), 0, down, (1 - down) * (downs[i] as number)];
      });
      return sampled(x, rows, out, { mode });
    },
  });
}
