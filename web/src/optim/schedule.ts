// What all schedules share: a rate is a function of the number of steps taken and of the rate a group began with, never
// of the last rate, so that a schedule can be resumed, chained and put after another. Bits are the core's.

import { failure, shown } from '../errors.js';
import { math } from '../runtime.js';
import { type Optimizer, type ParamGroup } from './optimizer.js';

/** An optimizer of any options. */
export type AnyOptimizer = Pick<Optimizer, 'paramGroups'>;

/** The rate after `step` steps of a group that began with `base`. */
export type Rate = (step: number, base: number, group: number) => number;
/** The momentum, where there is one. */
export type Momentum = (step: number, base: number, group: number) => number | undefined;

/** What a schedule has to remember. */
export interface ScheduleState {
  readonly step: number;
  readonly baseLrs: readonly number[];
}

/** Base of the schedules. Call `step` after each of the optimizer's. */
export abstract class Schedule {
  readonly #optimizer: AnyOptimizer;
  readonly #rate: Rate;
  readonly #momentum: Momentum | undefined;
  #step = 0;
  #bases: number[];

  protected constructor(optimizer: AnyOptimizer, rate: Rate, momentum?: Momentum) {
    if (!Array.isArray((optimizer as Partial<AnyOptimizer> | undefined)?.paramGroups))
      throw failure(new.target.name, 'argument', `optimizer is ${shown(optimizer)}; it must be an Optimizer`);
    this.#optimizer = optimizer;
    this.#rate = rate;
    this.#momentum = momentum;
    this.#bases = optimizer.paramGroups.map((group) => (group.initialLr ??= group.options.lr));
    this.#apply();
  }

  /** Sets every group's rate for the next step. */
  step(): void {
    this.#step++;
    this.#apply();
  }

  #apply(): void {
    this.#optimizer.paramGroups.forEach((group, i) => {
      group.options.lr = this.rateAt(this.#step, i);
      const momentum = this.momentumAt(this.#step, i);
      if (momentum !== undefined) setMomentum(group, momentum);
    });
  }

  /** The rate of a group after so many steps; `base` is what it began with. */
  rateAt(step: number, group = 0, base = this.#bases[group] ?? NaN): number {
    return this.#rate(step, base, group);
  }
  /** The momentum, where the schedule has one. */
  momentumAt(step: number, group = 0): number | undefined {
    return this.#momentum?.(step, NaN, group);
  }

  /** The rates in effect, one a group. */
  getLastLr(): number[] {
    return this.#optimizer.paramGroups.map(({ options }) => options.lr);
  }

  stateDict(): ScheduleState {
    return { step: this.#step, baseLrs: [...this.#bases] };
  }
  loadStateDict({ step, baseLrs }: ScheduleState): void {
    if (baseLrs.length !== this.#bases.length) {
      const text = `there are ${baseLrs.length} base rates; the optimizer has ${this.#bases.length} groups`;
      throw failure('loadStateDict', 'state-dict', text);
    }
    this.#step = step;
    this.#bases = [...baseLrs];
    this.#apply();
  }
}

// Momentum is `momentum`, or the first of `betas`.
function setMomentum({ options }: ParamGroup<{ readonly lr?: number }>, momentum: number): void {
  const own = options as { momentum?: number; betas?: readonly number[] };
  if (own.betas) own.betas = [momentum, ...own.betas.slice(1)];
  else if (own.momentum !== undefined) own.momentum = momentum;
}

/** x^y for the schedules. */
export const power = (x: number, y: number): number => (y === 0 ? 1 : math('pow', x, y));

/** From `start` (share 0) to `end` (share 1) along half a cosine. */
export const alongCosine = (start: number, end: number, share: number): number =>
  end + ((start - end) / 2) * (1 + math('cos', Math.PI * share));

/** The option for that group, where there may be one for each. */
export const perGroup = <T>(value: T | readonly T[], group: number): T =>
  Array.isArray(value) ? ((value as T[])[group] as T) : (value as T);
