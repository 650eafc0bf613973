// Predictions as class numbers, from scores, probabilities or labels; what accuracy, precision, recall and F count of
// them, which grows with the classes; and the confusion matrix, which grows with their square.

import { failure } from '../errors.js';
import { checkOptions, either, integer, number, oneOf, required, whole } from '../options.js';
import type { Tensor } from '../tensor.js';
import { isTensor } from '../tensor.js';
import { type Metric, type Values, valuesOf } from './metric.js';

export interface ClassOptions {
  /** How many classes there are. */
  readonly numClasses: number;
  /** Targets with this number are left out. */
  readonly ignoreIndex?: number | null;
  /** Two classes: probabilities from this on are class 1; default 0.5. */
  readonly threshold?: number;
}

/** Bounded, so that a slip is told before memory ends. */
export const classCount = whole(2, 1e6);

export const classRules = {
  numClasses: required(classCount),
  ignoreIndex: either(integer, oneOf(null)),
  threshold: number,
};

/**
 * Predictions, one of: scores or probabilities [N, C, ...] of floating dtype; labels [N, ...], as targets are; with two
 * classes probabilities [N, ...] of floating dtype.
 */
export type Predictions = Values;

/** Of what is counted of each sample by its target and predicted class. */
abstract class LabelMetric<Result> implements Metric<[predicted: Predictions, target: Values], Result> {
  readonly #name: string;
  readonly #ignored: number | null;
  readonly #threshold: number;
  protected readonly numClasses: number;

  constructor(name: string, { numClasses, ignoreIndex = null, threshold = 0.5 }: ClassOptions) {
    this.#name = name;
    this.numClasses = numClasses;
    this.#ignored = ignoreIndex;
    this.#threshold = threshold;
  }

  update(predicted: Predictions, target: Values): void {
    const wanted = valuesOf(this.#name, 'target', target);
    const given = this.#labels(predicted, wanted.shape);
    // Checked first: a batch counts as a whole or not at all.
    const pairs: [label: number, found: number][] = [];
    for (let i = 0; i < wanted.data.length; i++) {
      const label = wanted.data[i] as number;
      if (label === this.#ignored) continue;
      pairs.push([this.#checked('target', label), this.#checked('predicted', given[i] as number)]);
    }
    for (const pair of pairs) this.count(...pair);
  }

  #checked(what: string, label: number): number {
    if (Number.isInteger(label) && label >= 0 && label < this.numClasses) return label;
    throw failure(this.#name, 'index', `a ${what} class is ${label}; they are 0 to ${this.numClasses - 1}`);
  }

  #labels(predicted: Predictions, target: readonly number[]): ArrayLike<number> {
    const { data, shape } = valuesOf(this.#name, 'predicted', predicted);
    const [n = 0, ...rest] = target;
    if (shape.join() === [n, this.numClasses, ...rest].join() && shape.length === target.length + 1)
      return largest(
        data,
        n,
        this.numClasses,
        rest.reduce((a, b) => a * b, 1),
      );
    if (shape.join() !== target.join()) {
      const rule = `it must be target's shape, or [N, ${this.numClasses}, ...] scores`;
      throw failure(
        this.#name,
        'shape',
        `predicted is [${shape.join(', ')}], target [${target.join(', ')}]; ${rule}`,
      );
    }
    const probabilities = this.numClasses === 2 && isFloatingTensor(predicted);
    return probabilities ? Array.from(data, (p) => (p >= this.#threshold ? 1 : 0)) : data;
  }

  /** Adds a sample. */
  protected abstract count(label: number, found: number): void;
  abstract compute(): Result;
  abstract reset(): void;
}

/** Samples of a class: right ones, those predicted as it, those that are it. */
export interface ClassCounts {
  right: number;
  predicted: number;
  actual: number;
}

/** Of what is told by each class's counts. */
export abstract class ClassMetric<Result> extends LabelMetric<Result> {
  protected counts: ClassCounts[] = [];

  constructor(name: string, options: ClassOptions) {
    super(name, options);
    this.reset();
  }
  protected count(label: number, found: number): void {
    const [is, was] = [this.counts[label], this.counts[found]] as [ClassCounts, ClassCounts];
    is.actual++;
    was.predicted++;
    if (label === found) is.right++;
  }
  reset(): void {
    this.counts = Array.from({ length: this.numClasses }, () => ({ right: 0, predicted: 0, actual: 0 }));
  }
}

const isFloatingTensor = (values: Values): values is Tensor =>
  isTensor(values) && ['float32', 'float64', 'float16', 'bfloat16'].includes(values.dtype);

// The first of the largest, as argmax takes it.
function largest(scores: ArrayLike<number>, n: number, classes: number, inner: number): number[] {
  const labels: number[] = [];
  for (let i = 0; i < n; i++)
    for (let k = 0; k < inner; k++) {
      const at = (c: number): number => scores[(i * classes + c) * inner + k] as number;
      let best = 0;
      for (let c = 1; c < classes; c++) if (at(c) > at(best)) best = c;
      labels.push(best);
    }
  return labels;
}

/** How many samples of each class (row) were predicted as each (column). */
export class ConfusionMatrix extends LabelMetric<number[][]> {
  readonly #normalize: 'true' | 'pred' | 'all' | null;
  /** Row: target; column: predicted. */
  readonly #counts: Float64Array;

  /** @param options.normalize shares of rows, of columns, or of all, in place of counts */
  constructor(options: ClassOptions & { readonly normalize?: 'true' | 'pred' | 'all' | null }) {
    checkOptions('ConfusionMatrix', options, {
      ...classRules,
      numClasses: required(whole(2, 10_000)),
      normalize: oneOf('true', 'pred', 'all', null),
    });
    super('ConfusionMatrix', options);
    this.#normalize = options.normalize ?? null;
    this.#counts = new Float64Array(this.numClasses * this.numClasses);
  }

  protected count(label: number, found: number): void {
    const at = label * this.numClasses + found;
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }
  reset(): void {
    this.#counts.fill(0);
  }

  compute(): number[][] {
    const n = this.numClasses;
    const [rows, columns] = [new Float64Array(n), new Float64Array(n)];
    let all = 0;
    this.#counts.forEach((count, i) => {
      const [row, column] = [Math.floor(i / n), i % n];
      rows[row] = (rows[row] as number) + count;
      columns[column] = (columns[column] as number) + count;
      all += count;
    });
    const total = (row: number, column: number): number => {
      if (this.#normalize === null) return 1;
      if (this.#normalize === 'all') return all;
      return (this.#normalize === 'true' ? rows[row] : columns[column]) as number;
    };
    return Array.from({ length: n }, (_, row) =>
      Array.from({ length: n }, (__, column) => {
        const count = this.#counts[row * n + column] as number;
        return count === 0 ? 0 : count / total(row, column);
      }),
    );
  }
}
