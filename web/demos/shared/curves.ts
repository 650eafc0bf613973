// What the page knows of a run: losses to the last bit, their smoothed course, and the points of further curves.

import type { History } from './session.js';
import type { Step } from './task.js';

/** Points of one curve: steps, ascending, and values. */
export interface Curve {
  readonly steps: number[];
  readonly values: number[];
  /** Exponential mean of the values. */
  readonly smooth: number[];
}

// A curve with a value this often (in steps) is noise around its course.
const dense = 4;

/** Whether its smoothed course tells more of it than its last value. */
export const isNoisy = ({ steps }: Curve): boolean =>
  steps.length > 8 && steps.length * dense > (steps.at(-1) ?? 0);

const empty = (): Curve => ({ steps: [], values: [], smooth: [] });

export class Curves {
  readonly #all = new Map<string, Curve>();
  readonly loss = empty();

  constructor() {
    this.#all.set('loss', this.loss);
  }

  /** Steps that are known. */
  get step(): number {
    return this.loss.values.length;
  }
  get names(): string[] {
    return [...this.#all.keys()];
  }

  of(name: string): Curve {
    let curve = this.#all.get(name);
    if (!curve) this.#all.set(name, (curve = empty()));
    return curve;
  }

  add(step: number, { loss, curves = {} }: Pick<Step, 'loss' | 'curves'>): void {
    this.#push('loss', step, loss);
    for (const [name, value] of Object.entries(curves)) this.#push(name, step, value);
  }

  #push(name: string, step: number, value: number): void {
    const { steps, values, smooth } = this.of(name);
    steps.push(step);
    values.push(value);
    smooth.push(0.9 * (smooth.at(-1) ?? value) + 0.1 * value);
  }

  /** Those of a run that was kept. */
  static from({ losses, curves }: History): Curves {
    const made = new Curves();
    losses.forEach((loss, i) => {
      made.#push('loss', i + 1, loss);
    });
    for (const [name, points] of Object.entries(curves))
      for (const [step, value] of points) made.#push(name, step, value);
    return made;
  }
}
