// The area under the ROC curve, exact: all scores are kept until it is computed.

import { failure } from '../errors.js';
import { checkOptions, oneOf } from '../options.js';
import { classCount } from './classes.js';
import { type Metric, type Values, valuesOf } from './metric.js';

/**
 * The chance that a sample of the class scores higher than one that is not of it, ties half (Mann and Whitney's U).
 * Two classes: scores [N], targets 0 or 1. With `numClasses`: scores [N, C], each class against all others; the mean of
 * the classes that have samples both ways. NaN where there are only samples of one kind.
 */
export class AUROC<A extends 'macro' | 'weighted' | 'none' = 'macro'> implements Metric<
  [scores: Values, target: Values],
  A extends 'none' ? number[] : number
> {
  readonly #numClasses: number | undefined;
  readonly #average: 'macro' | 'weighted' | 'none';
  #scores: number[][] = [];
  #targets: number[] = [];

  constructor(options: { readonly numClasses?: number; readonly average?: A } = {}) {
    checkOptions('AUROC', options, {
      numClasses: classCount,
      average: oneOf('macro', 'weighted', 'none'),
    });
    this.#numClasses = options.numClasses;
    this.#average = options.average ?? 'macro';
    this.reset();
  }

  update(scores: Values, target: Values): void {
    const given = valuesOf('AUROC', 'scores', scores);
    const wanted = valuesOf('AUROC', 'target', target);
    const classes = this.#numClasses;
    const [n = 0] = wanted.shape;
    const shape = classes === undefined ? [n] : [n, classes];
    if (wanted.shape.length !== 1 || given.shape.join() !== shape.join()) {
      const text = `scores are [${given.shape.join(', ')}], target [${wanted.shape.join(', ')}]`;
      throw failure(
        'AUROC',
        'shape',
        `${text}; they must be ${classes === undefined ? '[N]' : `[N, ${classes}]`} and [N]`,
      );
    }
    const labels = Array.from(wanted.data);
    const most = classes ?? 2;
    const wrong = labels.find((label) => !Number.isInteger(label) || label < 0 || label >= most);
    if (wrong !== undefined)
      throw failure('AUROC', 'index', `a target is ${wrong}; they are 0 to ${most - 1}`);
    if (Array.from(given.data).some(Number.isNaN)) throw failure('AUROC', 'argument', 'a score is NaN');
    this.#scores.forEach((column, c) => {
      for (let i = 0; i < n; i++) column.push(given.data[i * this.#scores.length + c] as number);
    });
    for (const label of labels) this.#targets.push(label);
  }

  compute(): A extends 'none' ? number[] : number {
    const areas = this.#scores.map((column, c) =>
      area(
        column,
        this.#targets.map((label) => label === (this.#numClasses === undefined ? 1 : c)),
      ),
    );
    return (this.#average === 'none' ? areas : this.#joined(areas)) as A extends 'none' ? number[] : number;
  }

  #joined(areas: readonly number[]): number {
    let [sum, weights] = [0, 0];
    areas.forEach((value, c) => {
      if (Number.isNaN(value)) return;
      const weight = this.#average === 'weighted' ? this.#targets.filter((label) => label === c).length : 1;
      sum += value * weight;
      weights += weight;
    });
    return this.#numClasses === undefined ? (areas[0] as number) : sum / weights;
  }

  reset(): void {
    this.#scores = Array.from({ length: this.#numClasses ?? 1 }, () => []);
    this.#targets = [];
  }
}

// By the sum of the ranks of the positive samples; equal scores share the mean of their ranks.
function area(scores: readonly number[], positive: readonly boolean[]): number {
  const order = scores.map((_, i) => i).sort((a, b) => (scores[a] as number) - (scores[b] as number));
  const count = positive.filter(Boolean).length;
  let ranks = 0;
  for (let i = 0; i < order.length;) {
    let end = i;
    while (end < order.length && scores[order[end] as number] === scores[order[i] as number]) end++;
    const rank = (i + 1 + end) / 2;
    for (; i < end; i++) if (positive[order[i] as number] === true) ranks += rank;
  }
  const others = scores.length - count;
  return count === 0 || others === 0 ? NaN : (ranks - (count * (count + 1)) / 2) / (count * others);
}
