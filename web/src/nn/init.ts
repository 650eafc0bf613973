// Initial values of layers' parameters: PyTorch's defaults, drawn from the core so that every engine has the same.

import { zeros } from '../create.js';
import { type Generator, uniform } from '../random.js';
import { parameter } from './module.js';
import type { Tensor } from '../tensor.js';

/** Options that every layer with parameters takes. */
export interface LayerOptions {
  /** Add a bias; default true. */
  readonly bias?: boolean;
  readonly dtype?: 'float32' | 'float64';
  /** Where initial values come from; default: the generator that manualSeed seeds. */
  readonly generator?: Generator;
}

/** A parameter, uniform within 1/sqrt(fanIn): what kaiming_uniform with a = sqrt(5) comes to. */
export function fanInUniform(shape: readonly number[], fanIn: number, options: LayerOptions): Tensor {
  const bound = fanIn > 0 ? 1 / Math.sqrt(fanIn) : 0;
  const { dtype = 'float32', generator } = options;
  return parameter(uniform(shape, -bound, bound, generator ? { dtype, generator } : { dtype }));
}

/** A parameter of zeros. */
export function zeroParameter(shape: readonly number[], options: LayerOptions): Tensor {
  return parameter(zeros(shape, { dtype: options.dtype ?? 'float32' }));
}

/** One number, or one an axis. */
export type Sizes = number | readonly number[];

/** `value` for each of `rank` axes. */
export function perAxis(value: Sizes, rank: number): number[] {
  return typeof value === 'number' ? new Array<number>(rank).fill(value) : [...value];
}

export function product(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total * size, 1);
}
