// Of text: perplexity of a language model, and how far a transcript is from what was said.

import { failure, shown } from '../errors.js';
import { crossEntropy } from '../ops.generated.js';
import { aTensor, checkOptions, checkValue, integer } from '../options.js';
import { math } from '../runtime.js';
import { noGrad } from '../autograd.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import type { Metric } from './metric.js';

/** exp of the mean cross-entropy of tokens: logits [..., C], targets [...] of an integer dtype. In float64. */
export class Perplexity implements Metric<[logits: Tensor, target: Tensor], number> {
  readonly #ignored: number;
  #sum = 0;
  #count = 0;

  /** @param options.ignoreIndex targets of this number are left out; default -100 */
  constructor(options: { readonly ignoreIndex?: number } = {}) {
    checkOptions('Perplexity', options, { ignoreIndex: integer });
    this.#ignored = options.ignoreIndex ?? -100;
  }

  update(logits: Tensor, target: Tensor): void {
    checkValue('Perplexity', 'logits', logits, aTensor);
    checkValue('Perplexity', 'target', target, aTensor);
    const classes = logits.shape.at(-1) ?? 0;
    if (logits.shape.slice(0, -1).join() !== target.shape.join() || logits.ndim === 0) {
      const text = `logits are [${logits.shape.join(', ')}], target [${target.shape.join(', ')}]`;
      throw failure('Perplexity', 'shape', `${text}; logits have one more dimension, the classes`);
    }
    const options = { reduction: 'none', ignoreIndex: this.#ignored } as const;
    const [losses, labels] = noGrad(() =>
      scope(() => {
        const rows = logits.cast('float64').reshape([-1, classes]);
        const flat = target.reshape([-1]);
        return [crossEntropy(rows, flat, options).toTypedArray(), flat.toTypedArray()] as const;
      }),
    );
    losses.forEach((loss: number | bigint, i: number) => {
      if (Number(labels[i]) === this.#ignored) return;
      this.#sum += Number(loss);
      this.#count++;
    });
  }

  compute(): number {
    return math('exp', this.#sum / this.#count);
  }
  reset(): void {
    this.#sum = this.#count = 0;
  }
}

type Texts = string | readonly string[];

abstract class ErrorRate implements Metric<[predicted: Texts, reference: Texts], number> {
  readonly #name: string;
  readonly #split: (text: string) => readonly string[];
  #edits = 0;
  #length = 0;

  protected constructor(name: string, split: (text: string) => readonly string[]) {
    this.#name = name;
    this.#split = split;
  }

  update(predicted: Texts, reference: Texts): void {
    const [given, wanted] = [this.#listed('predicted', predicted), this.#listed('reference', reference)];
    if (given.length !== wanted.length)
      throw failure(this.#name, 'shape', `${given.length} predicted texts and ${wanted.length} references`);
    given.forEach((text, i) => {
      const parts = this.#split(wanted[i] as string);
      this.#edits += editDistance(this.#split(text), parts);
      this.#length += parts.length;
    });
  }

  #listed(name: string, texts: Texts): readonly string[] {
    const list = typeof texts === 'string' ? [texts] : texts;
    if (Array.isArray(list) && list.every((text) => typeof text === 'string')) return list;
    throw failure(
      this.#name,
      'argument',
      `${name} is ${shown(texts)}; it must be a string or a list of them`,
    );
  }

  compute(): number {
    return this.#edits / this.#length;
  }
  reset(): void {
    this.#edits = this.#length = 0;
  }
}

/** Characters (code points) to insert, delete or replace, as a share of the references' length. Above 1 is possible. */
export class CharErrorRate extends ErrorRate {
  constructor() {
    super('CharErrorRate', (text) => Array.from(text));
  }
}

/** Words to insert, delete or replace, as a share of the references'. Words are what stands between blanks. */
export class WordErrorRate extends ErrorRate {
  constructor() {
    super('WordErrorRate', (text) => text.split(/\s+/).filter((word) => word !== ''));
  }
}

/** Levenshtein's distance: the fewest insertions, deletions and replacements. */
export function editDistance(a: ArrayLike<unknown>, b: ArrayLike<unknown>): number {
  for (const [name, list] of Object.entries({ a, b }))
    checkValue('editDistance', name, list, {
      text: 'a string or a list',
      test: (v) => typeof v === 'string' || Array.isArray(v) || ArrayBuffer.isView(v),
    });
  let row = Uint32Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = new Uint32Array(b.length + 1);
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1);
    }
    row = next;
  }
  return row[b.length] as number;
}
