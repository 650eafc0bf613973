// What a data set is, and data sets made of others. Knows no file format, and nothing of batches being loaded.

import { failure, shown } from '../errors.js';
import { aTensor, checkOptions, items, whole } from '../options.js';
import { Generator, randperm } from '../random.js';
import { keep, scope } from '../scope.js';
import { indexSelect } from '../ops.generated.js';
import { tensor } from '../create.js';
import type { Tensor } from '../tensor.js';
import type { Collated } from './collate.js';

/**
 * Samples by number. Tensors that `get` gives are the loader's to free, unless they are kept (`keep`) or were there
 * before. What an asynchronous one makes on its way is in no scope: use `scope` between two awaits.
 */
export interface Dataset<Sample> {
  /** How many samples there are. */
  readonly length: number;
  /** The sample with this number, from 0; may be asynchronous. */
  get(index: number): Sample | Promise<Sample>;
}

/** Samples that are faster fetched together, or only so. */
export interface BatchDataset<Batch> {
  readonly length: number;
  /** The samples with these numbers as one batch; may be asynchronous. */
  batch(indices: readonly number[]): Batch | Promise<Batch>;
}

/** Samples one after the other, of any number: what memory does not hold, or what never ends. */
export interface Stream<Sample> extends AsyncIterable<Sample> {
  /** Told by a loader before each pass, so that a pass can be repeated. */
  setEpoch?(epoch: number): void;
}

/** Refuses numbers of samples that a data set of that length does not have. For data sets. */
export function checkIndices(dataset: string, indices: readonly number[], length: number): void {
  if (!Array.isArray(indices))
    throw failure(dataset, 'argument', `the indices are ${shown(indices)}; they must be a list of numbers`);
  const wrong: unknown = indices.find((i) => !Number.isSafeInteger(i) || i < 0 || i >= length);
  if (wrong !== undefined)
    throw failure(dataset, 'index', `there is no sample ${shown(wrong)}; they are 0 to ${length - 1}`);
}

type Either<Sample, Batch> = Dataset<Sample> | BatchDataset<Batch> | (Dataset<Sample> & BatchDataset<Batch>);

/** True for objects with a length and `get` or `batch`. */
export function isDataset(value: unknown): value is Either<unknown, unknown> {
  const { length, get, batch } = (value ?? {}) as Partial<Dataset<unknown> & BatchDataset<unknown>>;
  return whole().test(length) && (typeof get === 'function' || typeof batch === 'function');
}

function checkDataset(op: string, name: string, value: unknown): void {
  if (isDataset(value)) return;
  throw failure(
    op,
    'argument',
    `${name} is ${shown(value)}; it must have a length, and get(index) or batch(indices)`,
  );
}

/** Some samples of a data set, in the order given. */
export class Subset<Sample, Batch = Collated<Sample>> implements Dataset<Sample> {
  readonly dataset: Either<Sample, Batch>;
  readonly indices: readonly number[];
  /** Where the data set has it. */
  declare batch: (indices: readonly number[]) => Batch | Promise<Batch>;

  constructor(dataset: Either<Sample, Batch>, indices: readonly number[]) {
    checkDataset('Subset', 'the data set', dataset);
    checkIndices('Subset', indices, dataset.length);
    this.dataset = dataset;
    this.indices = [...indices];
    if ('batch' in dataset && typeof dataset.batch === 'function')
      this.batch = (own) => {
        checkIndices('Subset', own, this.length);
        return dataset.batch(own.map((i) => indices[i] as number));
      };
  }

  get length(): number {
    return this.indices.length;
  }

  get(index: number): Sample | Promise<Sample> {
    checkIndices('Subset', [index], this.length);
    if (!('get' in this.dataset)) throw failure('Subset', 'argument', 'the data set has no get(index)');
    return this.dataset.get(this.indices[index] as number);
  }
}

/** The samples of several data sets, one set after the other. */
export class ConcatDataset<Sample> implements Dataset<Sample> {
  readonly datasets: readonly Dataset<Sample>[];
  readonly length: number;

  constructor(datasets: Iterable<Dataset<Sample>>) {
    this.datasets = items('ConcatDataset', 'datasets', datasets, 'a list of data sets') as Dataset<Sample>[];
    for (const [i, dataset] of this.datasets.entries()) {
      checkDataset('ConcatDataset', `data set ${i}`, dataset);
      if (typeof (dataset as Partial<Dataset<Sample>>).get !== 'function')
        throw failure('ConcatDataset', 'argument', `data set ${i} has no get(index)`);
    }
    this.length = this.datasets.reduce((sum, { length }) => sum + length, 0);
  }

  get(index: number): Sample | Promise<Sample> {
    checkIndices('ConcatDataset', [index], this.length);
    let rest = index;
    for (const dataset of this.datasets) {
      if (rest < dataset.length) return dataset.get(rest);
      rest -= dataset.length;
    }
    throw failure('ConcatDataset', 'index', 'a data set became shorter');
  }
}

/** Rows of tensors of one first size: a sample is a row of each. The tensors are kept. */
export class TensorDataset<T extends readonly Tensor[]> implements Dataset<{
  -readonly [K in keyof T]: Tensor;
}> {
  readonly tensors: T;
  readonly length: number;

  constructor(...tensors: T) {
    const [first] = tensors;
    if (!first) throw failure('TensorDataset', 'argument', 'there are no tensors');
    tensors.forEach((x: unknown, i) => {
      if (!aTensor.test(x))
        throw failure('TensorDataset', 'argument', `tensor ${i} is ${shown(x)}; it must be a Tensor`);
    });
    const sizes = tensors.map(({ shape }) => shape[0]);
    if (sizes.some((size) => size === undefined || size !== sizes[0])) {
      const shapes = tensors.map(({ shape }) => `[${shape.join(', ')}]`).join(', ');
      throw failure('TensorDataset', 'shape', `the first sizes of ${shapes} must be there and equal`);
    }
    this.tensors = keep(tensors);
    this.length = sizes[0] ?? 0;
  }

  get(index: number): { -readonly [K in keyof T]: Tensor } {
    checkIndices('TensorDataset', [index], this.length);
    return this.tensors.map((x) => x.at(index)) as { -readonly [K in keyof T]: Tensor };
  }

  batch(indices: readonly number[]): { -readonly [K in keyof T]: Tensor } {
    checkIndices('TensorDataset', indices, this.length);
    return scope(() => {
      const rows = tensor(Int32Array.from(indices));
      return this.tensors.map((x) => indexSelect(x, 0, rows));
    }) as { -readonly [K in keyof T]: Tensor };
  }
}

/**
 * Splits a data set by chance into parts of these lengths, or of these shares of it (which sum to 1; what rounding
 * leaves goes to the first parts, one each).
 *
 * @param options.seed the same seed gives the same parts; default 0
 */
export function randomSplit<Sample, Batch = Collated<Sample>>(
  dataset: Either<Sample, Batch>,
  lengths: readonly number[],
  options: { readonly seed?: number } = {},
): Subset<Sample, Batch>[] {
  checkDataset('randomSplit', 'the data set', dataset);
  checkOptions('randomSplit', options, { seed: whole() });
  const counts = splitCounts(dataset.length, lengths);
  const order = scope(() => {
    const generator = new Generator(options.seed ?? 0);
    return Array.from(randperm(dataset.length, { generator }).toTypedArray(), Number);
  });
  let next = 0;
  return counts.map((count) => new Subset(dataset, order.slice(next, (next += count))));
}

function splitCounts(total: number, lengths: readonly number[]): number[] {
  const given = Array.isArray(lengths) ? (lengths as readonly number[]) : [NaN];
  const good = given.length > 0 && given.every((n) => Number.isFinite(n) && n >= 0);
  const sum = given.reduce((a, b) => a + b, 0);
  if (good && sum === total && given.every((n) => Number.isInteger(n))) return [...given];
  if (!good || Math.abs(sum - 1) > 1e-6) {
    const rule = `whole numbers that sum to ${total}, or shares that sum to 1`;
    throw failure('randomSplit', 'option', `lengths are ${shown(lengths)}; they must be ${rule}`);
  }
  const counts = given.map((share) => Math.floor(share * total));
  const left = total - counts.reduce((a, b) => a + b, 0);
  return counts.map((count, i) => count + (i < left ? 1 : 0));
}
