// Accuracy, precision, recall and F of class predictions. What is 0 / 0 is 0, as in scikit-learn.

import { failure } from '../errors.js';
import { checkOptions, oneOf, positive, whole } from '../options.js';
import { type ClassCounts, ClassMetric, type ClassOptions, type Predictions, classRules } from './classes.js';
import { type Metric, type Values, valuesOf } from './metric.js';

/**
 * How classes are joined: all samples together (micro), the mean of the classes that were met (macro), that mean by how
 * many samples each has (weighted), class 1 of two (binary), or one value a class (none).
 */
export type Average = 'micro' | 'macro' | 'weighted' | 'binary' | 'none';

export interface AverageOptions<A extends Average = Average> extends ClassOptions {
  /** Default: 'binary' for two classes, else 'macro'. */
  readonly average?: A;
}

type Averaged<A extends Average> = A extends 'none' ? number[] : number;

const ratio = (a: number, b: number): number => (b === 0 ? 0 : a / b);
const averages = oneOf('micro', 'macro', 'weighted', 'binary', 'none');

abstract class AveragedMetric<A extends Average> extends ClassMetric<Averaged<A>> {
  readonly #average: Average;
  readonly #score: (counts: ClassCounts) => number;

  protected constructor(name: string, options: AverageOptions<A>, score: (counts: ClassCounts) => number) {
    super(name, options);
    this.#average = options.average ?? (options.numClasses === 2 ? 'binary' : 'macro');
    if (this.#average === 'binary' && options.numClasses !== 2)
      throw failure(name, 'option', `average is 'binary' with ${options.numClasses} classes; it is for two`);
    this.#score = score;
  }

  compute(): Averaged<A> {
    const classes = this.counts;
    return (this.#average === 'none' ? classes.map(this.#score) : this.#joined(classes)) as Averaged<A>;
  }

  #joined(classes: readonly ClassCounts[]): number {
    const samples = sum(classes, ({ actual }) => actual);
    if (samples === 0) return NaN;
    switch (this.#average) {
      case 'binary':
        return this.#score(classes[1] as ClassCounts);
      case 'micro':
        return this.#score({
          right: sum(classes, ({ right }) => right),
          predicted: samples,
          actual: samples,
        });
      case 'weighted':
        return sum(classes, (counts) => this.#score(counts) * counts.actual) / samples;
      default: {
        const met = classes.filter(({ predicted, actual }) => predicted + actual > 0);
        return sum(met, this.#score) / met.length;
      }
    }
  }
}

const sum = <T>(list: readonly T[], of: (item: T) => number): number =>
  list.reduce((total, item) => total + of(item), 0);

/** Of those predicted as a class, the share that is it. */
export class Precision<A extends Average = 'macro'> extends AveragedMetric<A> {
  constructor(options: AverageOptions<A>) {
    checkOptions('Precision', options, { ...classRules, average: averages });
    super('Precision', options, ({ right, predicted }) => ratio(right, predicted));
  }
}

/** Of those that are a class, the share that was predicted as it. */
export class Recall<A extends Average = 'macro'> extends AveragedMetric<A> {
  constructor(options: AverageOptions<A>) {
    checkOptions('Recall', options, { ...classRules, average: averages });
    super('Recall', options, ({ right, actual }) => ratio(right, actual));
  }
}

// (1 + b^2) P R / (b^2 P + R), without dividing twice.
const fBeta =
  (beta: number) =>
  ({ right, predicted, actual }: ClassCounts): number =>
    ratio((1 + beta * beta) * right, beta * beta * actual + predicted);

/** The weighted harmonic mean of precision and recall; recall counts `beta` times as much. */
export class FBetaScore<A extends Average = 'macro'> extends AveragedMetric<A> {
  constructor(options: AverageOptions<A> & { readonly beta: number }) {
    checkOptions('FBetaScore', options, {
      ...classRules,
      average: averages,
      beta: { ...positive, required: true },
    });
    super('FBetaScore', options, fBeta(options.beta));
  }
}

/** The harmonic mean of precision and recall. */
export class F1Score<A extends Average = 'macro'> extends AveragedMetric<A> {
  constructor(options: AverageOptions<A>) {
    checkOptions('F1Score', options, { ...classRules, average: averages });
    super('F1Score', options, fBeta(1));
  }
}

/**
 * The share of samples whose class was predicted; with `topK`, whose class is among the k highest scores [N, C, ...] (of
 * equal ones, the first come first).
 */
export class Accuracy implements Metric<[predicted: Predictions, target: Values], number> {
  readonly #topK: number;
  readonly #numClasses: number;
  readonly #ignored: number | null;
  readonly #labels: LabelAccuracy;
  #right = 0;
  #total = 0;

  constructor(options: ClassOptions & { readonly topK?: number }) {
    checkOptions('Accuracy', options, { ...classRules, topK: whole(1) });
    const { topK = 1, numClasses, ignoreIndex = null } = options;
    if (topK >= numClasses)
      throw failure('Accuracy', 'option', `topK is ${topK}; it must be below numClasses, ${numClasses}`);
    this.#topK = topK;
    this.#numClasses = numClasses;
    this.#ignored = ignoreIndex;
    this.#labels = new LabelAccuracy('Accuracy', options);
  }

  update(predicted: Predictions, target: Values): void {
    if (this.#topK === 1) {
      this.#labels.update(predicted, target);
      return;
    }
    const { data, shape } = valuesOf('Accuracy', 'predicted', predicted);
    const wanted = valuesOf('Accuracy', 'target', target);
    const [n = 0, ...rest] = wanted.shape;
    if (shape.join() !== [n, this.#numClasses, ...rest].join()) {
      const rule = `topK needs scores [N, ${this.#numClasses}, ...]`;
      throw failure(
        'Accuracy',
        'shape',
        `predicted is [${shape.join(', ')}], target [${wanted.shape.join(', ')}]; ${rule}`,
      );
    }
    const inner = rest.reduce((a, b) => a * b, 1);
    let [right, total] = [0, 0];
    for (let i = 0; i < wanted.data.length; i++) {
      const label = wanted.data[i] as number;
      if (label === this.#ignored) continue;
      if (!Number.isInteger(label) || label < 0 || label >= this.#numClasses)
        throw failure(
          'Accuracy',
          'index',
          `a target class is ${label}; they are 0 to ${this.#numClasses - 1}`,
        );
      const [sample, place] = [Math.floor(i / inner), i % inner];
      const at = (c: number): number => data[(sample * this.#numClasses + c) * inner + place] as number;
      let before = 0;
      for (let c = 0; c < this.#numClasses; c++)
        if (at(c) > at(label) || (at(c) === at(label) && c < label)) before++;
      if (before < this.#topK && !Number.isNaN(at(label))) right++;
      total++;
    }
    this.#right += right;
    this.#total += total;
  }

  compute(): number {
    return this.#topK === 1 ? this.#labels.compute() : this.#right / this.#total;
  }
  reset(): void {
    this.#labels.reset();
    this.#right = this.#total = 0;
  }
}

class LabelAccuracy extends ClassMetric<number> {
  compute(): number {
    return sum(this.counts, ({ right }) => right) / sum(this.counts, ({ actual }) => actual);
  }
}
