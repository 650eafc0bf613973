// Means of named numbers, weighted; what batches and steps give becomes what epochs report.

import { failure, shown } from '../errors.js';
import { Tensor } from '../tensor.js';
import type { Numbers } from './types.js';

/** Sums by name, as a checkpoint keeps them. */
export type MeansState = Readonly<Record<string, readonly [sum: number, weight: number]>>;

export class Means {
  readonly #sums = new Map<string, [sum: number, weight: number]>();

  add(values: Numbers, weight = 1): void {
    for (const [name, value] of Object.entries(values)) {
      const entry = this.#sums.get(name) ?? [0, 0];
      this.#sums.set(name, [entry[0] + value * weight, entry[1] + weight]);
    }
  }

  get values(): Numbers {
    return Object.fromEntries(Array.from(this.#sums, ([name, [sum, weight]]) => [name, sum / weight]));
  }

  clear(): void {
    this.#sums.clear();
  }

  stateDict(): MeansState {
    return Object.fromEntries(this.#sums);
  }
  loadStateDict(state: MeansState): void {
    this.clear();
    for (const [name, [sum, weight]] of Object.entries(state)) this.#sums.set(name, [sum, weight]);
  }
}

/** Results as numbers. @throws OmnigradError `argument`, naming what is neither a number nor a tensor of one element */
export function numbersOf(op: string, values: unknown): Numbers {
  if (typeof values !== 'object' || values === null || values instanceof Tensor) {
    const text = `the function gave ${shown(values)}; it must give results by name, e.g. { loss }`;
    throw failure(op, 'argument', text);
  }
  return Object.fromEntries(
    Object.entries(values).map(([name, value]: [string, unknown]) => {
      if (typeof value === 'number') return [name, value];
      if (value instanceof Tensor && value.numel === 1) return [name, value.item()];
      const what = value instanceof Tensor ? `a tensor of shape [${value.shape.join(', ')}]` : shown(value);
      throw failure(op, 'argument', `${name} is ${what}; it must be a number or a tensor of one element`);
    }),
  );
}
