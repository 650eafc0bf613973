// Random tensors. The generator is counter-based (Philox): its whole state is a seed and an offset, kept here; the
// core computes elements 2i and 2i + 1 from block (seed, offset + i), the same on any number of threads and in every engine.

import { type CreateOptions, withGrad } from './create.js';
import type { ComputeDType } from './dtype.js';
import { failure, shown } from './errors.js';
import * as ops from './ops.generated.js';
import {
  checkOptions,
  checkValue,
  checkedOptions,
  dtypeOf,
  instance,
  required,
  shape as shapeRule,
  whole,
} from './options.js';
import type { Tensor } from './tensor.js';

/** A stream of random numbers. Two generators with one seed and offset give the same tensors. */
export class Generator {
  #seed: number;
  #offset = 0;

  /** @param seed a whole number from 0 below 2^53 */
  constructor(seed: number) {
    this.#seed = checkedSeed(seed);
  }

  get seed(): number {
    return this.#seed;
  }
  /** How many blocks have been drawn: two numbers come of each. */
  get offset(): number {
    return this.#offset;
  }

  /** Starts the stream of another seed, from its beginning. */
  manualSeed(seed: number): this {
    this.#seed = checkedSeed(seed);
    this.#offset = 0;
    return this;
  }

  /** State to be put back by setState. */
  getState(): { seed: number; offset: number } {
    return { seed: this.#seed, offset: this.#offset };
  }
  setState(state: { seed: number; offset: number }): void {
    checkOptions('setState', state, { seed: required(whole()), offset: required(whole()) });
    this.#seed = state.seed;
    this.#offset = state.offset;
  }

  /** Reserves what `count` numbers take: what the ops need to know to draw them. */
  draw(count: number): { seed: number; offset: number } {
    const state = this.getState();
    this.#offset += Math.ceil(count / 2);
    return state;
  }
}

function checkedSeed(seed: number): number {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw failure('manualSeed', 'option', `seed is ${shown(seed)}; it is a whole number from 0 below 2^53`);
  }
  return seed;
}

let shared: Generator | undefined;

/** The generator used where none is given; seeded by chance unless manualSeed was called. */
export function defaultGenerator(): Generator {
  return (shared ??= new Generator(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0));
}

/** Seeds the default generator. Same seed, same numbers: on both builds, any threads, any engine. */
export function manualSeed(seed: number): Generator {
  return defaultGenerator().manualSeed(seed);
}

const floating = dtypeOf('float32', 'float64');
const numeric = dtypeOf('int64', 'int32', 'uint8', 'float32', 'float64');
const generatorRule = instance(Generator);

export interface RandomOptions extends Omit<CreateOptions, 'dtype'> {
  readonly dtype?: 'float32' | 'float64';
  readonly generator?: Generator;
}

/** Runs `draw` at the generator's place, which then moves on by `count` numbers: what is refused draws nothing. */
export function drawing(
  op: string,
  generator: Generator,
  draw: (at: { seed: number; offset: number }) => Tensor,
  count: (made: Tensor) => number = ({ numel }) => numel,
): Tensor {
  checkValue(op, 'generator', generator, generatorRule);
  const made = draw(generator.getState());
  generator.draw(count(made));
  return made;
}

// Of a floating dtype.
function drawn(
  op: string,
  shape: readonly number[],
  options: RandomOptions,
  draw: (place: { seed: number; offset: number; dtype: 'float32' | 'float64' }) => Tensor,
): Tensor {
  checkValue(op, 'shape', shape, shapeRule);
  checkedOptions(op, options, ['dtype', 'requiresGrad', 'generator']);
  const { generator = defaultGenerator(), dtype = 'float32' } = options;
  checkValue(op, 'dtype', dtype, floating);
  return withGrad(
    drawing(op, generator, (at) => draw({ ...at, dtype })),
    options,
  );
}

/** Uniform in [low, high). */
export function uniform(
  shape: readonly number[],
  low: number,
  high: number,
  options: RandomOptions = {},
): Tensor {
  return drawn('uniform', shape, options, (place) => ops.uniform(shape, { low, high, ...place }));
}

/** Normal with this mean and standard deviation. */
export function normal(
  shape: readonly number[],
  mean: number,
  std: number,
  options: RandomOptions = {},
): Tensor {
  return drawn('normal', shape, options, (place) => ops.normal(shape, { mean, std, ...place }));
}

/** Uniform in [0, 1). */
export function rand(shape: readonly number[], options: RandomOptions = {}): Tensor {
  return uniform(shape, 0, 1, options);
}

/** Standard normal. */
export function randn(shape: readonly number[], options: RandomOptions = {}): Tensor {
  return normal(shape, 0, 1, options);
}

/** Whole numbers in [low, high), int64 unless told otherwise. */
export function randint(
  low: number,
  high: number,
  shape: readonly number[],
  options: { readonly dtype?: Exclude<ComputeDType, 'bool'>; readonly generator?: Generator } = {},
): Tensor {
  checkedOptions('randint', options, ['dtype', 'generator']);
  const { dtype = 'int64' } = options;
  checkValue('randint', 'dtype', dtype, numeric);
  checkValue('randint', 'shape', shape, shapeRule);
  return drawing('randint', options.generator ?? defaultGenerator(), (at) =>
    ops.randint(shape, low, high, { ...at, dtype }),
  );
}

/** The numbers 0 to n - 1 in random order, int64. */
export function randperm(n: number, options: { readonly generator?: Generator } = {}): Tensor {
  checkedOptions('randperm', options, ['generator']);
  checkValue('randperm', 'n', n, whole());
  return drawing('randperm', options.generator ?? defaultGenerator(), (at) => ops.randperm(n, at));
}
