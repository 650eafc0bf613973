// Of numbers that are to be near others.

import { failure } from '../errors.js';
import { boolean, checkOptions } from '../options.js';
import { type Metric, type Values, pairOf } from './metric.js';

abstract class MeanError implements Metric<[predicted: Values, target: Values], number> {
  readonly #name: string;
  readonly #of: (difference: number) => number;
  #sum = 0;
  #count = 0;

  protected constructor(name: string, of: (difference: number) => number) {
    this.#name = name;
    this.#of = of;
  }

  update(predicted: Values, target: Values): void {
    const [a, b] = pairOf(this.#name, predicted, target);
    for (let i = 0; i < a.length; i++) this.#sum += this.#of((a[i] as number) - (b[i] as number));
    this.#count += a.length;
  }
  compute(): number {
    return this.#sum / this.#count;
  }
  reset(): void {
    this.#sum = this.#count = 0;
  }
}

/** The mean of the squared differences of all elements; its root where `squared` is false. */
export class MeanSquaredError extends MeanError {
  readonly #squared: boolean;
  constructor(options: { readonly squared?: boolean } = {}) {
    checkOptions('MeanSquaredError', options, { squared: boolean });
    super('MeanSquaredError', (d) => d * d);
    this.#squared = options.squared ?? true;
  }
  override compute(): number {
    return this.#squared ? super.compute() : Math.sqrt(super.compute());
  }
}

/** The mean of the absolute differences of all elements. */
export class MeanAbsoluteError extends MeanError {
  constructor() {
    super('MeanAbsoluteError', Math.abs);
  }
}

/**
 * 1 minus the share of the targets' variance that is left in the differences; values [N], or [N, outputs], of which the
 * mean is given. NaN where the targets do not vary, or there are fewer than two.
 */
export class R2Score implements Metric<[predicted: Values, target: Values], number> {
  // Sums of the targets less the first of them, which keeps what large means would cancel; and of the residuals.
  #first: number[] = [];
  #sums: number[] = [];
  #squares: number[] = [];
  #residuals: number[] = [];
  #count = 0;

  update(predicted: Values, target: Values): void {
    const [a, b, shape] = pairOf('R2Score', predicted, target);
    const [n = 0, outputs = 1] = shape;
    if (shape.length !== 1 && shape.length !== 2)
      throw failure(
        'R2Score',
        'shape',
        `the values are [${shape.join(', ')}]; they must be [N] or [N, outputs]`,
      );
    if (this.#count > 0 && outputs !== this.#sums.length)
      throw failure('R2Score', 'shape', `${outputs} outputs; there were ${this.#sums.length} before`);
    for (let i = 0; i < n * outputs; i++) {
      const k = i % outputs;
      const y = b[i] as number;
      const shifted = y - (this.#first[k] ??= y);
      const rest = y - (a[i] as number);
      this.#sums[k] = (this.#sums[k] ?? 0) + shifted;
      this.#squares[k] = (this.#squares[k] ?? 0) + shifted * shifted;
      this.#residuals[k] = (this.#residuals[k] ?? 0) + rest * rest;
    }
    this.#count += n;
  }

  compute(): number {
    const scores = this.#residuals.map((rest, k) => {
      const sum = this.#sums[k] as number;
      const variation = (this.#squares[k] as number) - (sum * sum) / this.#count;
      return variation > 0 ? 1 - rest / variation : NaN;
    });
    return scores.reduce((a, b) => a + b, 0) / scores.length;
  }

  reset(): void {
    this.#first = [];
    this.#sums = [];
    this.#squares = [];
    this.#residuals = [];
    this.#count = 0;
  }
}
