// What layers' constructors and calls take: rules that several of them share.

import { OmnigradError, failure, shown } from '../errors.js';
import {
  type Rule,
  aTensor,
  boolean,
  checkOptions,
  checkValue,
  dtypeOf,
  either,
  instance,
  listOf,
  manyOf,
  oneOf,
  positive,
  required,
  whole,
} from '../options.js';
import { Generator } from '../random.js';
import type { Tensor } from '../tensor.js';

/** Layers of a stack: bounded, so that a slip is told before memory ends. */
export const layerCount = whole(1, 10_000);
/** Spatial axes of a layer of any rank: a tensor has 16 axes at most. */
export const rankRule = whole(1, 14);

/** Makes layer after layer. Where one does not fit in memory, `free` gets those before it, and the error says which. */
export function stacked<L>(
  name: string,
  count: number,
  make: (index: number) => L,
  free: (made: readonly L[]) => void,
): L[] {
  const layers: L[] = [];
  try {
    while (layers.length < count) layers.push(make(layers.length));
  } catch (error) {
    free(layers);
    if (!OmnigradError.is(error) || error.code !== 'memory') throw error;
    throw failure(name, 'memory', `layer ${layers.length} of ${count}: ${error.message}`, error);
  }
  return layers;
}

/** One size for all axes, or one for each of `rank`. */
export const sizes = (rank: number, least = 0): Rule => ({
  text: `a whole number from ${least}, or a list of ${rank}`,
  test: either(whole(least), listOf(whole(least), rank)).test,
});

const paddings = (rank: number): Rule => ({
  text: `a whole number from 0, or a list of ${rank}, or of ${rank} [before, after]`,
  test: either(whole(), listOf(whole(), rank), listOf(listOf(whole(), 2), rank)).test,
});

export const generatorRules = { generator: instance(Generator) };
export const floatRules = { dtype: dtypeOf('float32', 'float64') };
export const layerRules = { bias: boolean, ...floatRules, ...generatorRules };

/** What the rule says, or null. */
export const orNull = (rule: Rule): Rule => ({
  text: `${rule.text}, or null`,
  test: either(rule, oneOf(null)).test,
});

export const poolRules = (rank: number): Record<string, Rule> => ({
  stride: orNull(sizes(rank, 1)),
  padding: paddings(rank),
  ceilMode: boolean,
});

export const interpolateRules = {
  size: orNull({
    text: 'a whole number from 1, or a list',
    test: (v) => Array.isArray(v) || whole(1).test(v),
  }),
  scaleFactor: orNull(either(positive, manyOf(positive))),
  mode: oneOf('nearest', 'nearest-exact', 'linear', 'cubic', 'lanczos3', 'bilinear', 'trilinear', 'bicubic'),
  alignCorners: boolean,
  antialias: boolean,
};

/** Checks a convolution layer of any kind; `more` are the rules of options that only that kind has. */
export function checkConvolution(
  layer: string,
  rank: number,
  sizesGiven: { inChannels: number; outChannels: number; kernelSize: unknown },
  options: object,
  more: Readonly<Record<string, Rule>> = {},
): void {
  checkOptions(
    layer,
    { ...sizesGiven },
    {
      inChannels: required(whole(1)),
      outChannels: required(whole(1)),
      kernelSize: required(sizes(rank, 1)),
    },
  );
  const own = { stride: sizes(rank, 1), padding: paddings(rank), dilation: sizes(rank, 1), groups: whole(1) };
  checkOptions(layer, options, { ...layerRules, ...own, ...more });
  const { groups = 1 } = options as { groups?: number };
  for (const name of ['inChannels', 'outChannels'] as const) {
    const channels = sizesGiven[name];
    if (channels % groups !== 0)
      throw failure(layer, 'option', `groups is ${groups}; it must divide ${name}, which is ${channels}`);
  }
}

/** Padding as convolutions take it, 'same' and 'valid' included. */
export const paddingOrSame = (rank: number): Rule => ({
  text: `${paddings(rank).text}, or 'same' or 'valid'`,
  test: either(paddings(rank), oneOf('same', 'valid')).test,
});

/** Checks sizes that are positional. */
export function checkSizes(layer: string, given: Readonly<Record<string, unknown>>, rule: Rule): void {
  for (const [name, value] of Object.entries(given)) checkValue(layer, name, value, rule);
}

/** Refuses an input that is no tensor. */
export function checkInput(layer: string, x: unknown, name = 'input'): asserts x is Tensor {
  checkValue(layer, name, x, aTensor);
}

/** `[2, 3]` */
export const shapeOf = (x: Tensor): string => `[${x.shape.join(', ')}]`;

const axes = ['L', 'H, W', 'D, H, W'];

/** Runs `fn` on x [N, C, *S] of so many spatial axes; one without a batch axis gets it for the while. */
export function withBatch<T extends Tensor | Tensor[]>(
  layer: string,
  rank: number,
  x: Tensor,
  fn: (x: Tensor) => T,
): T {
  checkInput(layer, x);
  if (x.ndim === rank + 2) return fn(x);
  if (x.ndim === rank + 1) {
    const first = (y: Tensor): Tensor => y.reshape(y.shape.slice(1));
    const result: Tensor | Tensor[] = fn(x.reshape([1, ...x.shape]));
    return (Array.isArray(result) ? result.map(first) : first(result)) as T;
  }
  const space = axes[rank - 1] ?? `${rank} axes`;
  throw failure(layer, 'shape', `the input is ${shapeOf(x)}; it must be [N, C, ${space}] or [C, ${space}]`);
}

/** Refuses an input whose axis `dim` has another size. */
export function checkAxis(layer: string, x: Tensor, dim: number, size: number, what: string): void {
  const found = x.shape.at(dim);
  if (found !== size)
    throw failure(
      layer,
      'shape',
      `the input ${shapeOf(x)} has ${shown(found)} ${what}; it must have ${size}`,
    );
}
