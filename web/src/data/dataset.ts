// What a data set is, and batches of one. Knows no file format.

import { failure, shown } from '../errors.js';
import { boolean, checkOptions, whole } from '../options.js';
import { Generator, randperm } from '../random.js';
import { Frame, adopt, scope, tensorsIn } from '../scope.js';

/** Samples by number, collated into batches. */
export interface Dataset<Batch> {
  /** How many samples there are. */
  readonly length: number;
  /** The samples with these numbers as one batch; may be asynchronous. */
  batch(indices: readonly number[]): Batch | Promise<Batch>;
}

export interface DataLoaderOptions {
  /** Samples a batch; default 1. */
  readonly batchSize?: number;
  /** Another order each epoch; default false. */
  readonly shuffle?: boolean;
  /** Of the order; the same seed gives the same orders. Default 0. */
  readonly seed?: number;
  /** Leave out a last batch that is smaller; default false. */
  readonly dropLast?: boolean;
}

const loaderRules = { batchSize: whole(1), shuffle: boolean, seed: whole(), dropLast: boolean };

/** Refuses numbers of samples that a data set of that length does not have. For data sets. */
export function checkIndices(dataset: string, indices: readonly number[], length: number): void {
  if (!Array.isArray(indices))
    throw failure(dataset, 'argument', `the indices are ${shown(indices)}; they must be a list of numbers`);
  const wrong: unknown = indices.find((i) => !Number.isSafeInteger(i) || i < 0 || i >= length);
  if (wrong !== undefined)
    throw failure(dataset, 'index', `there is no sample ${shown(wrong)}; they are 0 to ${length - 1}`);
}

/**
 * Iterates over a data set once each time: `for await (const batch of loader)`. The tensors of a batch belong to the
 * loader: they live until the next one is asked for. `keep` or `clone` what should live longer.
 */
export class DataLoader<Batch> implements AsyncIterable<Batch> {
  readonly #dataset: Dataset<Batch>;
  readonly #options: Required<DataLoaderOptions>;
  #epoch = 0;

  constructor(dataset: Dataset<Batch>, options: DataLoaderOptions = {}) {
    const given = dataset as Partial<Dataset<Batch>> | null | undefined;
    if (typeof given?.batch !== 'function' || !whole().test(given.length)) {
      const text = `the data set is ${shown(dataset)}; it must be an object with length and batch(indices)`;
      throw failure('DataLoader', 'argument', text);
    }
    checkOptions('DataLoader', options, loaderRules);
    const { batchSize = 1, shuffle = false, seed = 0, dropLast = false } = options;
    this.#dataset = dataset;
    this.#options = { batchSize, shuffle, seed, dropLast };
  }

  /** Batches an epoch. */
  get length(): number {
    const { batchSize, dropLast } = this.#options;
    const exact = this.#dataset.length / batchSize;
    return dropLast ? Math.floor(exact) : Math.ceil(exact);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Batch> {
    const order = this.#order(this.#epoch++);
    const { batchSize } = this.#options;
    for (let step = 0; step < this.length; step++) {
      const batch = await this.#dataset.batch(order.slice(step * batchSize, (step + 1) * batchSize));
      const own = new Frame();
      for (const tensor of tensorsIn(batch)) adopt(tensor, own);
      try {
        yield batch;
      } finally {
        own.free();
      }
    }
  }

  // Each epoch draws its own stretch of the seed's stream, so an epoch's order does not depend on those before.
  #order(epoch: number): number[] {
    const count = this.#dataset.length;
    const { shuffle, seed } = this.#options;
    if (!shuffle) return Array.from({ length: count }, (_, i) => i);
    const generator = new Generator(seed);
    generator.setState({ seed, offset: epoch * count });
    return scope(() => Array.from(randperm(count, { generator }).toTypedArray(), Number));
  }
}
