// Samples in a row: order by chance within what memory holds.

import { failure, shown } from '../errors.js';
import { checkOptions, required, whole } from '../options.js';
import { Generator, randint } from '../random.js';
import { scope } from '../scope.js';
import type { Stream } from './dataset.js';

/**
 * A stream in random order, as far as a buffer of samples allows: each comes out by chance from the last `bufferSize`
 * that went in. Another order each epoch, the same for a seed and epoch.
 */
export function shuffled<Sample>(
  stream: Stream<Sample> | Iterable<Sample>,
  options: { readonly bufferSize: number; readonly seed?: number },
): Stream<Sample> {
  checkOptions('shuffled', options, { bufferSize: required(whole(1)), seed: whole() });
  const given: unknown = stream;
  const iterable =
    typeof given === 'object' &&
    given !== null &&
    (Symbol.asyncIterator in given || Symbol.iterator in given);
  if (!iterable) throw failure('shuffled', 'argument', `the stream is ${shown(stream)}; it must be iterable`);
  return new Shuffled(stream, options.bufferSize, options.seed ?? 0);
}

// Random numbers are drawn so many at a time.
const block = 1024;

class Shuffled<Sample> implements Stream<Sample> {
  readonly #stream: Stream<Sample> | Iterable<Sample>;
  readonly #size: number;
  readonly #seed: number;
  #epoch = 0;

  constructor(stream: Stream<Sample> | Iterable<Sample>, size: number, seed: number) {
    this.#stream = stream;
    this.#size = size;
    this.#seed = seed;
  }

  setEpoch(epoch: number): void {
    this.#epoch = epoch;
    if ('setEpoch' in this.#stream) this.#stream.setEpoch(epoch);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Sample, void, undefined> {
    const generator = new Generator(this.#seed);
    generator.setState({ seed: this.#seed, offset: this.#epoch++ * 0x100000000 });
    let numbers: ArrayLike<number | bigint> = [];
    let used = 0;
    const below = (n: number): number => {
      if (used === numbers.length) {
        numbers = scope(() => randint(0, 0x7fffffff, [block], { dtype: 'int32', generator }).toTypedArray());
        used = 0;
      }
      return Math.floor((Number(numbers[used++]) / 0x7fffffff) * n);
    };
    const buffer: Sample[] = [];
    for await (const sample of this.#stream) {
      if (buffer.length < this.#size) {
        buffer.push(sample);
        continue;
      }
      const place = below(this.#size);
      const out = buffer[place] as Sample;
      buffer[place] = sample;
      yield out;
    }
    while (buffer.length > 0) {
      const place = below(buffer.length);
      const out = buffer[place] as Sample;
      buffer[place] = buffer[buffer.length - 1] as Sample;
      buffer.pop();
      yield out;
    }
  }
}
