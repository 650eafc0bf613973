// Max pooling over windows that lie at random (Graham 2014), as PyTorch places them.

import { tensor } from '../create.js';
import { isFloating } from '../dtype.js';
import { failure, shown } from '../errors.js';
import { argmax, gather, reshape } from '../ops.generated.js';
import {
  type Rule,
  aTensor,
  boolean,
  checkOptions,
  checkValue,
  either,
  instance,
  listOf,
  whole,
} from '../options.js';
import { Generator, rand } from '../random.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { perAxis, product } from './init.js';

export interface FractionalMaxPoolOptions {
  /** Sizes of the output's spatial axes; this or outputRatio. */
  readonly outputSize?: number | readonly number[];
  /** Of output to input sizes, between 0 and 1. */
  readonly outputRatio?: number | readonly number[];
  /** Give [y, indices], as maxPool does; default false. */
  readonly returnIndices?: boolean;
  /** Where the windows' places come from; default: the generator that manualSeed seeds. */
  readonly generator?: Generator;
  /** [N, C, rank] of [0, 1), instead of drawn ones. Which axis each is for is PyTorch's: [W, H] of two, [D, H, W] of three. */
  readonly randomSamples?: Tensor;
}

const ratio: Rule = {
  text: 'a number between 0 and 1',
  test: (v) => typeof v === 'number' && v > 0 && v < 1,
};

/** What is wrong with the options of so many axes is thrown in `op`'s name. */
export function checkFractional(op: string, rank: number, options: FractionalMaxPoolOptions): void {
  const each = (rule: Rule): Rule => ({
    text: `${rule.text}, or a list of ${rank}`,
    test: either(rule, listOf(rule, rank)).test,
  });
  checkOptions(op, options, {
    outputSize: each(whole(1)),
    outputRatio: each(ratio),
    returnIndices: boolean,
    generator: instance(Generator),
    randomSamples: aTensor,
  });
  const { outputSize, outputRatio } = options;
  if ((outputSize === undefined) === (outputRatio === undefined))
    throw failure(op, 'option', 'one of outputSize and outputRatio must be given');
}

/**
 * The largest value of each window of x [N, C, *S], a window for each place of the output. Their places are drawn for
 * each image and channel: window i begins at floor((i + u) a) - floor(u a) with a = (S - K) / (outputs - 1), the last one
 * at S - K.
 *
 * @param x [N, C, *S], floating
 * @param kernelSize K of each spatial axis
 * @returns [N, C, *outputs]; with returnIndices also int64 places in the flattened S
 * @throws OmnigradError `shape` where windows do not fit: outputs + K - 1 <= S
 */
export function fractionalMaxPool(
  x: Tensor,
  kernelSize: number | readonly number[],
  options: FractionalMaxPoolOptions,
): Tensor | [y: Tensor, indices: Tensor] {
  const op = 'fractionalMaxPool';
  checkValue(op, 'x', x, aTensor);
  const rank = x.ndim - 2;
  if (rank < 1 || !isFloating(x.dtype))
    throw failure(op, 'shape', `x is ${x.dtype} ${shown([...x.shape])}; it must be floating, [N, C, *S]`);
  checkFractional(op, rank, options);
  const [n, c, ...space] = x.shape as [number, number, ...number[]];
  checkValue(op, 'kernelSize', kernelSize, either(whole(1), listOf(whole(1), rank)));
  const kernel = perAxis(kernelSize, rank);
  const { outputRatio = 0.5, returnIndices = false, generator } = options;
  const outputs = options.outputSize
    ? perAxis(options.outputSize, rank)
    : perAxis(outputRatio, rank).map((r, d) => Math.floor((space[d] as number) * r));
  space.forEach((size, d) => {
    const [out, k] = [outputs[d], kernel[d]] as [number, number];
    if (out < 1 || out + k - 1 > size)
      throw failure(
        op,
        'shape',
        `${out} outputs of windows of ${k} do not fit into ${size}: outputs + window - 1 <= size`,
      );
  });
  return scope(() => {
    const samples =
      options.randomSamples ??
      rand([n, c, rank], { dtype: x.dtype as 'float32', ...(generator && { generator }) });
    if (String(samples.shape) !== String([n, c, rank]))
      throw failure(
        op,
        'shape',
        `randomSamples is ${shown([...samples.shape])}; it must be ${shown([n, c, rank])}`,
      );
    const drawn = samples.toTypedArray() as Float32Array;
    const order = rank === 2 ? [1, 0] : space.map((_, d) => d);
    const places = windows(
      n * c,
      space,
      kernel,
      outputs,
      (image, d) => drawn[image * rank + (order[d] as number)] as number,
    );
    const [count, taps] = [product(outputs), product(kernel)];
    const index = tensor(places, { shape: [n, c, count * taps] });
    const flat = reshape(x, [n, c, product(space)]);
    const best = argmax(reshape(gather(flat, 2, index), [n, c, count, taps]), 3, { keepdim: true });
    // The largest are read from x itself, so that gradients of any order go to them alone.
    const chosen = gather(reshape(index, [n, c, count, taps]), 3, best).reshape([n, c, count]);
    const y = reshape(gather(flat, 2, chosen), [n, c, ...outputs]);
    return returnIndices ? [y, chosen.reshape([n, c, ...outputs])] : y;
  });
}

/** Where window i of an axis begins. */
function starts(size: number, kernel: number, outputs: number, u: number): number[] {
  const last = size - kernel;
  const step = last / (outputs - 1);
  return Array.from({ length: outputs }, (_, i) =>
    i === outputs - 1 ? last : Math.floor((i + u) * step) - Math.floor(u * step),
  );
}

// Places in the flattened space, an image after the other: windows in row order, and in each its elements.
function windows(
  images: number,
  space: readonly number[],
  kernel: readonly number[],
  outputs: readonly number[],
  sample: (image: number, axis: number) => number,
): BigInt64Array {
  const all = new BigInt64Array(images * product(outputs) * product(kernel));
  let at = 0;
  for (let image = 0; image < images; image++) {
    const begins = space.map((size, d) =>
      starts(size, kernel[d] as number, outputs[d] as number, sample(image, d)),
    );
    let corners = [0];
    let taps = [0];
    space.forEach((size, d) => {
      corners = corners.flatMap((place) => (begins[d] as number[]).map((begin) => place * size + begin));
      taps = taps.flatMap((place) => Array.from({ length: kernel[d] as number }, (_, i) => place * size + i));
    });
    for (const corner of corners) for (const tap of taps) all[at++] = BigInt(corner + tap);
  }
  return all;
}
