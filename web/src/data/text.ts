// Text to train on: characters as numbers, and windows of a long sequence with what follows each place.

import { tensor } from '../create.js';
import { failure, shown } from '../errors.js';
import { checkOptions, checkValue, items, required, text, whole } from '../options.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';
import { type BatchDataset, type Dataset, checkIndices } from './dataset.js';

/** Characters (code points) and their numbers, in the order of their code. */
export class CharTokenizer {
  readonly chars: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;

  /** @param chars each once; `CharTokenizer.from(text)` takes those of a text */
  constructor(chars: readonly string[] | string) {
    if (typeof chars !== 'string')
      items('CharTokenizer', 'chars', chars, 'a string, or a list of characters').forEach((char, i) => {
        checkValue('CharTokenizer', `character ${i}`, char, text);
      });
    this.chars = Array.from(chars);
    this.#numbers = new Map(this.chars.map((char, i) => [char, i]));
    if (this.chars.length === 0 || this.#numbers.size !== this.chars.length)
      throw failure('CharTokenizer', 'argument', 'there must be characters, and none twice');
  }

  static from(text: string): CharTokenizer {
    if (typeof text !== 'string') throw failure('CharTokenizer', 'argument', `the text is ${shown(text)}`);
    return new CharTokenizer(
      [...new Set(text)].sort((a, b) => (a.codePointAt(0) as number) - (b.codePointAt(0) as number)),
    );
  }

  /** How many there are. */
  get size(): number {
    return this.chars.length;
  }

  /** The numbers of a text. @throws OmnigradError `argument` for a character that is not among them */
  encode(text: string): Int32Array {
    let place = 0;
    return Int32Array.from(text, (char) => {
      const number = this.#numbers.get(char);
      if (number === undefined)
        throw failure(
          'CharTokenizer',
          'argument',
          `character ${JSON.stringify(char)} at ${place} is not known`,
        );
      place++;
      return number;
    });
  }

  /** The text of numbers, or of an integer tensor [N]. */
  decode(tokens: Tensor | ArrayLike<number | bigint>): string {
    const numbers = isTensor(tokens) ? tokens.toTypedArray() : tokens;
    return Array.from(numbers, (number) => {
      const char = this.chars[Number(number)];
      if (char === undefined)
        throw failure(
          'CharTokenizer',
          'index',
          `there is no token ${number}; they are 0 to ${this.size - 1}`,
        );
      return char;
    }).join('');
  }
}

/** Tokens and, for each, the one that follows: int64 [T], or [N, T] as a batch. */
export type SequenceBatch = [input: Tensor, target: Tensor];

/** Windows of `length` tokens, each beginning `stride` after the one before, with the same one token later as target. */
export class SequenceDataset implements Dataset<SequenceBatch>, BatchDataset<SequenceBatch> {
  readonly length: number;
  readonly #tokens: ArrayLike<number>;
  readonly #size: number;
  readonly #stride: number;

  /** @param options.stride default: `length`, so that windows do not overlap; 1 gives every window there is */
  constructor(tokens: ArrayLike<number>, options: { readonly length: number; readonly stride?: number }) {
    checkOptions('SequenceDataset', options, { length: required(whole(1)), stride: whole(1) });
    const { length, stride = length } = options;
    const count = (tokens as ArrayLike<number> | null | undefined)?.length;
    if (!whole().test(count) || typeof tokens === 'string')
      throw failure(
        'SequenceDataset',
        'argument',
        `tokens are ${shown(tokens)}; they must be numbers, as encode gives`,
      );
    if (tokens.length <= length) {
      const text = `${tokens.length} tokens; a window of ${length} and what follows needs ${length + 1}`;
      throw failure('SequenceDataset', 'shape', text);
    }
    this.#tokens = tokens;
    this.#size = length;
    this.#stride = stride;
    this.length = Math.floor((tokens.length - 1 - length) / stride) + 1;
  }

  get(index: number): SequenceBatch {
    return scope(() => this.batch([index]).map((x) => x.reshape([this.#size]))) as SequenceBatch;
  }

  batch(indices: readonly number[]): SequenceBatch {
    checkIndices('SequenceDataset', indices, this.length);
    const [size, shape] = [this.#size, [indices.length, this.#size]];
    const shifted = (by: number): Tensor => {
      const rows = new BigInt64Array(indices.length * size);
      indices.forEach((index, row) => {
        const start = index * this.#stride + by;
        for (let i = 0; i < size; i++) rows[row * size + i] = BigInt(this.#tokens[start + i] as number);
      });
      return tensor(rows, { shape });
    };
    return [shifted(0), shifted(1)];
  }
}
