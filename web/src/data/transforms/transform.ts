// What a transform of images is, and those that change values. A transform takes one image [C, H, W] or a batch
// [N, C, H, W] and gives the same; each image of a batch gets random numbers of its own.

import { noGrad } from '../../autograd.js';
import { tensor } from '../../create.js';
import { isFloating } from '../../dtype.js';
import { failure, shown } from '../../errors.js';
import {
  aTensor,
  checkOptions,
  checkValue,
  finite,
  func,
  instance,
  manyOf,
  oneOf,
  positive,
} from '../../options.js';
import { where } from '../../ops.generated.js';
import { Generator, defaultGenerator, uniform } from '../../random.js';
import { scope } from '../../scope.js';
import type { Tensor } from '../../tensor.js';

/** Changes images. Where random numbers come from is the caller's to say; default: the default generator. */
export type Transform = (x: Tensor, draw?: { readonly generator?: Generator }) => Tensor;

/** How a transform runs: on a batch [N, C, H, W], of float32 or float64 where `floating`. */
export interface Plan {
  readonly name: string;
  /** Integers are made float32 first, values as they are. */
  readonly floating?: boolean;
  readonly run: (x: Tensor, generator: Generator) => Tensor;
}

/** Makes a transform: checks the image, frees temporaries, records no gradient. */
export function transformOf({ name, floating = false, run }: Plan): Transform {
  return (x, draw = {}) => {
    checkValue(name, 'x', x, aTensor);
    checkOptions(name, draw, { generator: instance(Generator) });
    const { shape } = x;
    if (shape.length !== 3 && shape.length !== 4) {
      const text = `the image is [${shape.join(', ')}]; it must be [C, H, W] or a batch [N, C, H, W]`;
      throw failure(name, 'shape', text);
    }
    const single = shape.length === 3;
    return noGrad(() =>
      scope(() => {
        const batch = single ? x.reshape([1, ...shape]) : x;
        const y = run(
          floating && !isFloating(batch.dtype) ? batch.cast('float32') : batch,
          draw.generator ?? defaultGenerator(),
        );
        return single ? y.reshape(y.shape.slice(1)) : y;
      }),
    );
  };
}

/** Batch, channels, height, width. */
export function sizesOf(x: Tensor): [n: number, c: number, h: number, w: number] {
  return x.shape as unknown as [number, number, number, number];
}

/** Numbers for each image, uniform in [low, high). */
export function drawNumbers(generator: Generator, count: number, low: number, high: number): number[] {
  return scope(() =>
    Array.from(uniform([count], low, high, { generator, dtype: 'float64' }).toTypedArray(), Number),
  );
}

/** One transform after the other. */
export function compose(...transforms: readonly Transform[]): Transform {
  for (const transform of transforms) checkValue('compose', 'a transform', transform, func);
  return (x, draw) =>
    scope(() => {
      const y = transforms.reduce((image, transform) => transform(image, draw), x);
      return y === x ? x.detach() : y;
    });
}

/** A transform for some images of a batch, each with probability `p`. The transform must keep shapes. */
export function randomApply(transform: Transform, p = 0.5): Transform {
  checkValue('randomApply', 'transform', transform, func);
  checkShare('randomApply', p);
  return transformOf({
    name: 'randomApply',
    run: (x, generator) => chosen(x, p, generator, (all) => transform(all, { generator })),
  });
}

/** `changed(x)` for each image with probability p, else the image. */
export function chosen(x: Tensor, p: number, generator: Generator, changed: (x: Tensor) => Tensor): Tensor {
  const flags = drawNumbers(generator, sizesOf(x)[0], 0, 1).map((number) => number < p);
  const y = changed(x);
  return where(tensor(flags, { dtype: 'bool', shape: [flags.length, 1, 1, 1] }), y, x.cast(y.dtype));
}

export function checkShare(op: string, p: number): void {
  checkValue(op, 'p', p, {
    text: 'a number from 0 to 1',
    test: (v) => typeof v === 'number' && v >= 0 && v <= 1,
  });
}

/** float32, divided by `scale`: bytes become 0 to 1. */
export function toFloat(options: { readonly scale?: number } = {}): Transform {
  checkOptions('toFloat', options, { scale: positive });
  return transformOf({ name: 'toFloat', floating: true, run: (x) => x.div(options.scale ?? 255) });
}

/** (x - mean) / std, a number of each for all channels or one a channel. */
export function normalize(mean: number | readonly number[], std: number | readonly number[]): Transform {
  const listed = (
    name: string,
    value: number | readonly number[],
    rule: typeof finite,
  ): readonly number[] => {
    const list = typeof value === 'number' ? [value] : value;
    checkValue('normalize', name, list, manyOf(rule));
    return list;
  };
  const means = listed('mean', mean, finite);
  const deviations = listed('std', std, positive);
  return transformOf({
    name: 'normalize',
    floating: true,
    run(x) {
      const [, channels] = sizesOf(x);
      const along = (list: readonly number[]): Tensor => {
        if (list.length !== 1 && list.length !== channels)
          throw failure(
            'normalize',
            'shape',
            `${list.length} numbers for ${channels} channels: ${shown(list)}`,
          );
        return tensor([...list], { shape: [1, list.length, 1, 1], dtype: x.dtype });
      };
      return x.sub(along(means)).div(along(deviations));
    },
  });
}

/** The luminance of RGB (ITU-R 601-2: 0.299, 0.587, 0.114), in one channel or three equal ones. */
export function grayscale(channels: 1 | 3 = 1): Transform {
  checkValue('grayscale', 'channels', channels, oneOf(1, 3));
  return transformOf({
    name: 'grayscale',
    floating: true,
    run(x) {
      const y = luminance('grayscale', x);
      return channels === 1 ? y : y.expand([-1, 3, -1, -1]).clone();
    },
  });
}

/** [N, 1, H, W] of [N, 3, H, W]. */
export function luminance(op: string, x: Tensor): Tensor {
  if (sizesOf(x)[1] !== 3)
    throw failure(
      op,
      'shape',
      `the image is [${x.shape.join(', ')}]; it must have 3 channels: red, green, blue`,
    );
  const weights = tensor([0.299, 0.587, 0.114], { shape: [1, 3, 1, 1], dtype: x.dtype });
  return x.mul(weights).sum([1], { keepdim: true });
}
