// Batches of a data set: fetched, collated, changed, owned and freed here. What the samples are is the data set's.

import { failure, shown } from '../errors.js';
import { boolean, checkOptions, func, whole } from '../options.js';
import { Generator, randint, randperm } from '../random.js';
import { Frame, adopt, isThenable, scope, tensorsIn, within } from '../scope.js';
import { type Collated, collate as stackSamples } from './collate.js';
import { type BatchDataset, type Dataset, type Stream, checkIndices, isDataset } from './dataset.js';
import type { Sampler } from './sampler.js';

/** What batches are made of: samples by number (an array too), whole batches by number, or samples in a row. */
export type LoaderSource<Sample, Batch> =
  BatchDataset<Batch> | Dataset<Sample> | readonly Sample[] | Stream<Sample> | Iterable<Sample>;

/** Where a batch's random numbers come from: the same ones for a seed, epoch and step, whatever came before. */
export interface Draw {
  readonly generator: Generator;
}

export interface DataLoaderOptions<Sample = never, Batch = never, Out = never> {
  /** Samples a batch; default 1. */
  readonly batchSize?: number;
  /** Another order each epoch; default false. */
  readonly shuffle?: boolean;
  /** Of the order and of what `transform` draws; the same seed gives the same batches. Default 0. */
  readonly seed?: number;
  /** Leave out a last batch that is smaller; default false. */
  readonly dropLast?: boolean;
  /** The order, instead of `shuffle`. */
  readonly sampler?: Sampler;
  /** Makes a batch of samples; default: stacks them. */
  readonly collate?: (samples: Sample[]) => Batch;
  /** Changes a batch, e.g. by the transforms. Runs when the batch is asked for, in a scope. */
  readonly transform?: (batch: Batch, draw: Draw) => Out;
  /** Batches fetched ahead, while one is worked on; for data sets that wait for files. Default 0, at most 1000. */
  readonly prefetch?: number;
}

/** Where a loader is: which epoch, and how many of its batches were handed out. */
export interface LoaderState {
  readonly epoch: number;
  readonly position: number;
}

const loaderRules = {
  ...{ batchSize: whole(1), shuffle: boolean, seed: whole(), dropLast: boolean, prefetch: whole(0, 1000) },
  ...{ collate: func, transform: func },
  sampler: {
    text: 'an object with length and order(generator)',
    test: (v: unknown) => typeof (v as Partial<Sampler> | null)?.order === 'function',
  },
};

// What was fetched, and the frame that owns what was made on the way. An end has neither samples nor batch.
type Raw<Sample, Batch> = { made: Frame } & ({ samples: Sample[] } | { batch: Batch } | { end: true });

/**
 * Iterates over a data set once each time: `for await (const batch of loader)`. The tensors of a batch belong to the
 * loader: they live until the next one is asked for. `keep` or `clone` what should live longer.
 */
export class DataLoader<Sample, Batch = Collated<Sample>, Out = Batch> implements AsyncIterable<Out> {
  readonly #source: LoaderSource<Sample, Batch>;
  readonly #options: DataLoaderOptions<Sample, Batch, Out>;
  readonly #batchSize: number;
  readonly #seed: number;
  #epoch = 0;
  #position = 0;
  // Whether the next pass begins at that place, or at the start of the next epoch since this one was left.
  #here = true;

  constructor(source: LoaderSource<Sample, Batch>, options: DataLoaderOptions<Sample, Batch, Out> = {}) {
    checkOptions('DataLoader', options, loaderRules);
    const { batchSize = 1, seed = 0, shuffle, sampler } = options;
    this.#source = Array.isArray(source) ? new ListDataset(source as readonly Sample[]) : source;
    this.#options = options;
    this.#batchSize = batchSize;
    this.#seed = seed;
    if (!isDataset(this.#source)) {
      if (!isIterable(this.#source)) {
        const rule = 'it must have length and get(index) or batch(indices), or be iterable';
        throw failure('DataLoader', 'argument', `the data set is ${shown(source)}; ${rule}`);
      }
      if (shuffle === true || sampler)
        throw failure('DataLoader', 'option', 'a stream has no order to change; see shuffled(stream)');
    } else if (shuffle === true && sampler) {
      throw failure('DataLoader', 'option', 'shuffle and sampler exclude each other');
    }
  }

  /** Batches an epoch; NaN for a stream, which does not know. */
  get length(): number {
    const source = this.#source;
    if (!isDataset(source)) return NaN;
    const exact = (this.#options.sampler?.length ?? source.length) / this.#batchSize;
    return this.#options.dropLast === true ? Math.floor(exact) : Math.ceil(exact);
  }

  /**
   * For a checkpoint: taken while a batch is worked on, it counts that batch as done. A loader of the same data, options
   * and seed that loads it goes on with the batch after.
   */
  stateDict(): LoaderState {
    return { epoch: this.#epoch, position: this.#position };
  }
  loadStateDict(state: LoaderState): void {
    checkOptions('DataLoader.loadStateDict', state, {
      epoch: { ...whole(), required: true },
      position: { ...whole(), required: true },
    });
    this.#epoch = state.epoch;
    this.#position = state.position;
    this.#here = true;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Out, void, undefined> {
    if (!this.#here) {
      this.#epoch++;
      this.#position = 0;
    }
    this.#here = false;
    const epoch = this.#epoch;
    const waiting: Promise<Raw<Sample, Batch>>[] = [];
    const fetch = this.#fetcher(epoch, this.#position);
    try {
      for (let step = this.#position; ; step++) {
        while (waiting.length <= (this.#options.prefetch ?? 0)) waiting.push(quiet(fetch()));
        const raw = await (waiting.shift() as Promise<Raw<Sample, Batch>>);
        if ('end' in raw) break;
        const own = new Frame();
        try {
          const batch = this.#finish(raw, own, epoch, step);
          this.#epoch = epoch;
          this.#position = step + 1;
          yield batch;
        } finally {
          own.free();
        }
      }
      this.#epoch = epoch + 1;
      this.#position = 0;
      this.#here = true;
    } finally {
      for (const raw of waiting) void raw.then(({ made }) => { made.free(); }, () => undefined); // prettier-ignore
      await fetch.close();
    }
  }

  // Collates and changes, in a scope: of what was made, only the batch is left.
  #finish(raw: Exclude<Raw<Sample, Batch>, { end: true }>, own: Frame, epoch: number, step: number): Out {
    const { collate = stackSamples as unknown as (samples: Sample[]) => Batch, transform } = this.#options;
    try {
      const result = within(own, () =>
        scope(() => {
          const batch = 'batch' in raw ? raw.batch : collate((raw as { samples: Sample[] }).samples);
          return transform
            ? transform(batch, { generator: drawing(this.#seed, epoch, step) })
            : (batch as unknown as Out);
        }),
      );
      for (const tensor of tensorsIn(result)) if (raw.made.has(tensor)) adopt(tensor, own);
      return result;
    } finally {
      raw.made.free();
    }
  }

  // Gives the batches from `position` on, each when called; several may be waited for at once.
  #fetcher(epoch: number, position: number): Fetcher<Sample, Batch> {
    const source = this.#source;
    return isDataset(source)
      ? this.#byNumber(source as Dataset<Sample> & BatchDataset<Batch>, epoch, position)
      : this.#inARow(source as Stream<Sample>, epoch, position);
  }

  #byNumber(
    source: Dataset<Sample> & BatchDataset<Batch>,
    epoch: number,
    position: number,
  ): Fetcher<Sample, Batch> {
    const order = this.#order(source.length, epoch);
    const { length } = this;
    const whole = this.#options.collate === undefined && typeof source.batch === 'function';
    let next = position;
    const fetch = async (): Promise<Raw<Sample, Batch>> => {
      const made = new Frame();
      if (next >= length) return { made, end: true };
      const start = next++ * this.#batchSize;
      const indices = order.slice(start, start + this.#batchSize);
      try {
        if (whole) return { made, batch: await owned(made, () => source.batch(indices)) };
        const fetched = within(made, () => indices.map((i) => source.get(i)));
        return { made, samples: await Promise.all(fetched.map((sample) => owned(made, () => sample))) };
      } catch (error) {
        made.free();
        throw error;
      }
    };
    return Object.assign(fetch, { close: () => Promise.resolve() });
  }

  #inARow(
    source: Stream<Sample> | Iterable<Sample>,
    epoch: number,
    position: number,
  ): Fetcher<Sample, Batch> {
    if ('setEpoch' in source) source.setEpoch(epoch);
    const samples =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    let done = false;
    let skip = position * this.#batchSize;
    const take = async (): Promise<Raw<Sample, Batch>> => {
      const made = new Frame();
      const taken: Sample[] = [];
      try {
        while (taken.length < this.#batchSize && !done) {
          const next = await samples.next();
          if (next.done === true) {
            done = true;
            break;
          }
          // Not what a call makes: a stream may hold samples back.
          for (const tensor of tensorsIn(next.value)) adopt(tensor, made);
          if (skip === 0) taken.push(next.value);
          else {
            skip--;
            made.free();
          }
        }
      } catch (error) {
        made.free();
        throw error;
      }
      const short = taken.length < this.#batchSize && this.#options.dropLast === true;
      if (taken.length > 0 && !short) return { made, samples: taken };
      made.free();
      return { made, end: true };
    };
    let last: Promise<unknown> = Promise.resolve();
    const fetch = (): Promise<Raw<Sample, Batch>> => {
      const mine = last.then(take);
      last = mine;
      return mine;
    };
    const close = async (): Promise<void> => {
      await last.catch(() => undefined);
      if (!done) await samples.return?.();
    };
    return Object.assign(fetch, { close });
  }

  // Each epoch draws its own stretch of the seed's stream, so an epoch's order does not depend on those before.
  #order(count: number, epoch: number): readonly number[] {
    const { shuffle = false, sampler } = this.#options;
    const generator = new Generator(this.#seed);
    if (sampler) {
      generator.setState({ seed: this.#seed, offset: epoch * 0x100000000 });
      const order = sampler.order(generator);
      checkIndices('DataLoader', order, count);
      return order;
    }
    if (!shuffle) return Array.from({ length: count }, (_, i) => i);
    generator.setState({ seed: this.#seed, offset: epoch * count });
    return scope(() => Array.from(randperm(count, { generator }).toTypedArray(), Number));
  }
}

type Fetcher<Sample, Batch> = (() => Promise<Raw<Sample, Batch>>) & { close(): Promise<void> };

class ListDataset<Sample> implements Dataset<Sample> {
  readonly #samples: readonly Sample[];
  constructor(samples: readonly Sample[]) {
    this.#samples = samples;
  }
  get length(): number {
    return this.#samples.length;
  }
  get(index: number): Sample {
    return this.#samples[index] as Sample;
  }
}

const isIterable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);

// A rejection is told when its turn comes, not as one that nobody handled.
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

// What a call makes belongs to the frame; so does, if it was waited for, what it gives, unless that was kept.
async function owned<T>(made: Frame, call: () => T | Promise<T>): Promise<T> {
  const result = within(made, call);
  if (!isThenable(result)) return result;
  const value = await result;
  for (const tensor of tensorsIn(value)) adopt(tensor, made);
  return value;
}

// The order draws from below 2^52 of the seed's stream; beyond it lies a seed for each batch.
function drawing(seed: number, epoch: number, step: number): Generator {
  const generator = new Generator(seed);
  generator.setState({ seed, offset: 0x10000000000000 + epoch * 0x10000000 + step });
  const [high = 0, low = 0] = scope(() =>
    Array.from(randint(0, 0x4000000, [2], { dtype: 'int32', generator }).toTypedArray(), Number),
  );
  return new Generator(high * 0x4000000 + low);
}
