// The one schedule that looks at what came out: it lowers rates once a measure has stopped getting better. As PyTorch's.

import { failure, shown } from '../errors.js';
import { checkOptions, either, manyOf, notNegative, oneOf, positive, whole } from '../options.js';
import { type AnyOptimizer, perGroup } from './schedule.js';

export interface PlateauOptions {
  /** What is better: less or more; default 'min'. */
  readonly mode?: 'min' | 'max';
  /** What rates are multiplied by; default 0.1. */
  readonly factor?: number;
  /** How many steps in a row may be no better; default 10. */
  readonly patience?: number;
  /** By how much better is better; default 1e-4. */
  readonly threshold?: number;
  /** Whether the threshold is a share of the best so far or a difference; default 'rel'. */
  readonly thresholdMode?: 'rel' | 'abs';
  /** For how many steps after a lowering nothing counts; default 0. */
  readonly cooldown?: number;
  /** The least rate, or one for each group; default 0. */
  readonly minLr?: number | readonly number[];
  /** A lowering by no more than this is left out; default 1e-8. */
  readonly eps?: number;
}

export interface PlateauState {
  /** The best measure so far; null: none yet. */
  readonly best: number | null;
  readonly badSteps: number;
  readonly cooldownLeft: number;
  readonly lrs: readonly number[];
}

/** Lowers every rate when a measure, given at each step, has not become better for a while. */
export class ReduceLROnPlateau {
  readonly #optimizer: AnyOptimizer;
  readonly #options: Required<PlateauOptions>;
  #best: number;
  #badSteps = 0;
  #cooldownLeft = 0;

  constructor(optimizer: AnyOptimizer, options: PlateauOptions = {}) {
    checkOptions('ReduceLROnPlateau', options, {
      mode: oneOf('min', 'max'),
      factor: positive,
      patience: whole(),
      threshold: notNegative,
      thresholdMode: oneOf('rel', 'abs'),
      cooldown: whole(),
      minLr: either(notNegative, manyOf(notNegative)),
      eps: notNegative,
    });
    if (!Array.isArray((optimizer as Partial<AnyOptimizer> | undefined)?.paramGroups))
      throw refused('argument', `optimizer is ${shown(optimizer)}; it must be an Optimizer`);
    const { mode = 'min', factor = 0.1, patience = 10, threshold = 1e-4, thresholdMode = 'rel' } = options;
    const { cooldown = 0, minLr = 0, eps = 1e-8 } = options;
    if (factor >= 1) throw refused('option', `factor is ${factor}; it must be below 1`);
    const groups = optimizer.paramGroups.length;
    if (Array.isArray(minLr) && minLr.length !== groups)
      throw refused('option', `minLr has ${minLr.length} rates; the optimizer has ${groups} groups`);
    this.#optimizer = optimizer;
    this.#options = { mode, factor, patience, threshold, thresholdMode, cooldown, minLr, eps };
    this.#best = this.#worst();
  }

  #worst(): number {
    return this.#options.mode === 'min' ? Infinity : -Infinity;
  }

  /** Tells the measure of this step, the validation loss say. NaN is no better than anything. */
  step(measure: number): void {
    if (typeof measure !== 'number')
      throw refused('argument', `the measure is ${shown(measure)}; it must be a number`);
    const { patience, cooldown } = this.#options;
    if (this.#isBetter(measure)) {
      this.#best = measure;
      this.#badSteps = 0;
    } else {
      this.#badSteps++;
    }
    if (this.#cooldownLeft > 0) {
      this.#cooldownLeft--;
      this.#badSteps = 0;
    }
    if (this.#badSteps <= patience) return;
    this.#lower();
    this.#cooldownLeft = cooldown;
    this.#badSteps = 0;
  }

  #isBetter(measure: number): boolean {
    const { mode, threshold, thresholdMode } = this.#options;
    const sign = mode === 'min' ? 1 : -1;
    const best = this.#best;
    const bound = thresholdMode === 'rel' ? best * (1 - sign * threshold) : best - sign * threshold;
    return sign * measure < sign * bound;
  }

  #lower(): void {
    const { factor, minLr, eps } = this.#options;
    this.#optimizer.paramGroups.forEach(({ options }, i) => {
      const lower = Math.max(options.lr * factor, perGroup(minLr, i));
      if (options.lr - lower > eps) options.lr = lower;
    });
  }

  /** The rates in effect, one a group. */
  getLastLr(): number[] {
    return this.#optimizer.paramGroups.map(({ options }) => options.lr);
  }

  stateDict(): PlateauState {
    return {
      best: this.#best === this.#worst() ? null : this.#best,
      badSteps: this.#badSteps,
      cooldownLeft: this.#cooldownLeft,
      lrs: this.getLastLr(),
    };
  }
  loadStateDict({ best, badSteps, cooldownLeft, lrs }: PlateauState): void {
    const groups = this.#optimizer.paramGroups;
    if (lrs.length !== groups.length) {
      const text = `there are ${lrs.length} rates; the optimizer has ${groups.length} groups`;
      throw failure('loadStateDict', 'state-dict', text);
    }
    this.#best = best ?? this.#worst();
    this.#badSteps = badSteps;
    this.#cooldownLeft = cooldownLeft;
    groups.forEach((group, i) => (group.options.lr = lrs[i] as number));
  }
}

const refused = (code: string, text: string): Error => failure('ReduceLROnPlateau', code, text);
