// Orders in which samples are taken. A sampler is told where its random numbers come from, so that the order of an epoch
// depends on nothing that came before.

import { tensor } from '../create.js';
import { failure, shown } from '../errors.js';
import { multinomial } from '../stochastic.js';
import { boolean, checkOptions, checkValue, whole } from '../options.js';
import { type Generator, randint, randperm } from '../random.js';
import { scope } from '../scope.js';

/** Numbers of samples, in an order. */
export interface Sampler {
  /** How many numbers an epoch has. */
  readonly length: number;
  /** Those of an epoch. */
  order(generator: Generator): readonly number[];
}

/** 0 to n - 1. */
export class SequentialSampler implements Sampler {
  readonly length: number;
  constructor(length: number) {
    checkValue('SequentialSampler', 'length', length, whole());
    this.length = length;
  }
  order(): number[] {
    return Array.from({ length: this.length }, (_, i) => i);
  }
}

/** All of n in random order; or, with replacement, `numSamples` draws. */
export class RandomSampler implements Sampler {
  readonly length: number;
  readonly #count: number;
  readonly #replacement: boolean;

  constructor(count: number, options: { readonly replacement?: boolean; readonly numSamples?: number } = {}) {
    checkValue('RandomSampler', 'count', count, whole());
    checkOptions('RandomSampler', options, { replacement: boolean, numSamples: whole() });
    const { replacement = false, numSamples = count } = options;
    if (numSamples > 0 && (count === 0 || (!replacement && numSamples > count)))
      throw failure(
        'RandomSampler',
        'option',
        `numSamples is ${numSamples} of ${count}; more needs replacement`,
      );
    this.length = numSamples;
    this.#count = count;
    this.#replacement = replacement;
  }

  order(generator: Generator): number[] {
    return scope(() => {
      const drawn = this.#replacement
        ? randint(0, this.#count, [this.length], { generator })
        : randperm(this.#count, { generator });
      return Array.from(drawn.toTypedArray().subarray(0, this.length), Number);
    });
  }
}

/** The numbers given, in random order. */
export class SubsetRandomSampler implements Sampler {
  readonly #indices: readonly number[];
  constructor(indices: readonly number[]) {
    const good = Array.isArray(indices) && indices.every((i) => whole().test(i));
    if (!good)
      throw failure('SubsetRandomSampler', 'argument', `indices are ${shown(indices)}; they must be numbers`);
    this.#indices = Array.from(indices as readonly number[]);
  }
  get length(): number {
    return this.#indices.length;
  }
  order(generator: Generator): number[] {
    return scope(() =>
      Array.from(randperm(this.length, { generator }).toTypedArray(), Number).map(
        (i) => this.#indices[i] as number,
      ),
    );
  }
}

/** `numSamples` draws, each sample in proportion to its weight: rare classes as often as common ones. */
export class WeightedRandomSampler implements Sampler {
  readonly length: number;
  readonly #weights: Float64Array;
  readonly #replacement: boolean;

  /** @param weights finite, 0 or more, one a sample; they need not sum to 1 */
  constructor(
    weights: ArrayLike<number>,
    numSamples: number,
    options: { readonly replacement?: boolean } = {},
  ) {
    checkValue('WeightedRandomSampler', 'numSamples', numSamples, whole(1));
    checkOptions('WeightedRandomSampler', options, { replacement: boolean });
    const own = Float64Array.from((weights as ArrayLike<number> | undefined) ?? []);
    const drawable = own.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
    if (drawable === 0 || !own.every((weight) => Number.isFinite(weight) && weight >= 0))
      throw failure(
        'WeightedRandomSampler',
        'argument',
        'weights must be finite, 0 or more, and one above 0',
      );
    const { replacement = true } = options;
    if (!replacement && numSamples > drawable)
      throw failure(
        'WeightedRandomSampler',
        'option',
        `numSamples is ${numSamples}; ${drawable} have a weight`,
      );
    this.length = numSamples;
    this.#weights = own;
    this.#replacement = replacement;
  }

  order(generator: Generator): number[] {
    const replacement = this.#replacement;
    return scope(() => {
      const drawn = multinomial(tensor(this.#weights), this.length, { replacement, generator });
      return Array.from(drawn.toTypedArray(), Number);
    });
  }
}
