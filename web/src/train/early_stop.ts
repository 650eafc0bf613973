// When to give up: a value that has not got better for some time. Knows no training loop.

import { failure, shown } from '../errors.js';
import { checkOptions, notNegative, number, oneOf, text, whole } from '../options.js';

export interface EarlyStoppingOptions {
  /** Which value: of the validation, if there is one, else of training. Default 'loss'. */
  readonly monitor?: string;
  /** How often in a row it may fail to get better; default 3. */
  readonly patience?: number;
  /** How much counts as better; default 0. */
  readonly minDelta?: number;
  /** Whether less or more is better; default 'min'. */
  readonly mode?: 'min' | 'max';
}

export interface EarlyStoppingState {
  readonly best: number | null;
  readonly waited: number;
}

const rules = { monitor: text, patience: whole(1), minDelta: notNegative, mode: oneOf('min', 'max') };

/** Says stop when a value has not improved `patience` times in a row. */
export class EarlyStopping {
  readonly monitor: string;
  readonly #patience: number;
  readonly #minDelta: number;
  readonly #sign: 1 | -1;
  #best: number | null = null;
  #waited = 0;

  constructor(options: EarlyStoppingOptions = {}) {
    checkOptions('EarlyStopping', options, rules);
    this.monitor = options.monitor ?? 'loss';
    this.#patience = options.patience ?? 3;
    this.#minDelta = options.minDelta ?? 0;
    this.#sign = options.mode === 'max' ? -1 : 1;
  }

  /** The best value so far, or null. */
  get best(): number | null {
    return this.#best;
  }
  /** Whether the last value was the best. */
  get improved(): boolean {
    return this.#best !== null && this.#waited === 0;
  }

  /** Takes the next value; true if it is time to stop. NaN is no improvement. */
  update(value: number): boolean {
    if (!number.test(value))
      throw failure('EarlyStopping', 'argument', `the value is ${shown(value)}; it must be a number`);
    const better = this.#best === null || this.#sign * (this.#best - value) > this.#minDelta;
    if (better && !Number.isNaN(value)) {
      this.#best = value;
      this.#waited = 0;
    } else this.#waited++;
    return this.#waited >= this.#patience;
  }

  stateDict(): EarlyStoppingState {
    return { best: this.#best, waited: this.#waited };
  }
  loadStateDict({ best, waited }: EarlyStoppingState): void {
    this.#best = best;
    this.#waited = waited;
  }
}
