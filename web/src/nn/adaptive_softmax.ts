// A softmax over many classes that spends little on rare ones (Grave et al. 2017).

import { failure, shown } from '../errors.js';
import { cat, gather, indexSelect, logSoftmax, mean, neg, scatter } from '../ops.generated.js';
import { boolean, checkOptions, checkValue, positive, whole } from '../options.js';
import { zeros, tensor } from '../create.js';
import type { Tensor } from '../tensor.js';
import { checkInput, checkSizes, floatRules, generatorRules, shapeOf } from './checks.js';
import { ModuleList, Sequential } from './containers.js';
import type { LayerOptions } from './init.js';
import { Linear } from './linear.js';
import { Module } from './module.js';

export interface AdaptiveLogSoftmaxOptions extends Omit<LayerOptions, 'bias'> {
  /** By which factor each cluster's width falls from the one before; default 4. */
  readonly divValue?: number;
  /** Whether the head has a bias; default false. */
  readonly headBias?: boolean;
}

/** What the layer gives: log probabilities of the targets [N] (or [] of one), and their mean's negative. */
export interface AdaptiveLogSoftmaxOutput {
  readonly output: Tensor;
  readonly loss: Tensor;
}

const ascending = {
  text: 'a list of whole numbers from 1, ascending, the last below nClasses',
  test: (v: unknown): boolean => Array.isArray(v) && v.length > 0 && v.every((c) => whole(1).test(c)),
};

/**
 * Log probabilities of nClasses classes, sorted by how often they come. Those below the first cutoff are the head's; the
 * others lie in clusters, whose own softmax is computed only for the samples that fall into them.
 */
export class AdaptiveLogSoftmaxWithLoss extends Module<
  [x: Tensor, target: Tensor],
  AdaptiveLogSoftmaxOutput
> {
  /** To the first classes and one number a cluster. */
  readonly head: Linear;
  /** To each cluster's classes, through inFeatures / divValue^(i + 1) numbers. */
  readonly tail: ModuleList<Sequential>;
  readonly #inFeatures: number;
  /** With nClasses as the last. */
  readonly #cutoffs: readonly number[];

  constructor(
    inFeatures: number,
    nClasses: number,
    cutoffs: readonly number[],
    options: AdaptiveLogSoftmaxOptions = {},
  ) {
    super();
    const name = 'AdaptiveLogSoftmaxWithLoss';
    checkSizes(name, { inFeatures, nClasses }, whole(1));
    checkOptions(name, options, { divValue: positive, headBias: boolean, ...floatRules, ...generatorRules });
    checkValue(name, 'cutoffs', cutoffs, ascending);
    const all = [...cutoffs, nClasses];
    if (all.some((cutoff, i) => i > 0 && cutoff <= (all[i - 1] as number)))
      throw failure(
        name,
        'option',
        `cutoffs are ${shown([...cutoffs])}; they must be ${ascending.text}, ${nClasses}`,
      );
    const { divValue = 4, headBias = false, ...rest } = options;
    const clusters = cutoffs.length;
    this.#inFeatures = inFeatures;
    this.#cutoffs = all;
    this.head = new Linear(inFeatures, (all[0] as number) + clusters, { ...rest, bias: headBias });
    let width = inFeatures;
    this.tail = new ModuleList(
      cutoffs.map((cutoff, i) => {
        width /= divValue;
        const hidden = Math.max(1, Math.floor(width));
        const classes = (all[i + 1] as number) - cutoff;
        return new Sequential(
          new Linear(inFeatures, hidden, { ...rest, bias: false }),
          new Linear(hidden, classes, { ...rest, bias: false }),
        );
      }),
    );
  }

  /**
   * @param x [N, inFeatures], or [inFeatures] of one sample
   * @param target [N] classes, or [] of one; integers
   * @throws OmnigradError `index` for a target that is no class, naming the first
   */
  forward(x: Tensor, target: Tensor): AdaptiveLogSoftmaxOutput {
    checkInput('AdaptiveLogSoftmaxWithLoss', target, 'target');
    const batch = this.#batch(x);
    const single = x.ndim === 1;
    if (target.ndim !== (single ? 0 : 1) || (!single && target.shape[0] !== x.shape[0]))
      throw this.#wrong(
        `the target ${shapeOf(target)} does not fit the input ${shapeOf(x)}: one class a sample`,
      );
    const classes = Array.from(target.toTypedArray() as ArrayLike<number | bigint>, Number);
    const total = this.#cutoffs.at(-1) as number;
    const bad = classes.find((c) => !(Number.isInteger(c) && c >= 0 && c < total));
    if (bad !== undefined)
      throw failure(
        'AdaptiveLogSoftmaxWithLoss',
        'index',
        `target ${bad} is no class; there are ${total}, from 0`,
      );
    const first = this.#cutoffs[0] as number;
    const rowsOf = this.tail.length === 0 ? [] : this.#rows(classes);
    const heads = classes.map((c) => (c < first ? c : first + this.#clusterOf(c)));
    let output = this.#pick(logSoftmax(this.head.call(batch), 1), heads);
    rowsOf.forEach((rows, i) => {
      if (rows.length === 0) return;
      const index = tensor(rows, { dtype: 'int64' });
      const own = logSoftmax((this.tail.at(i) as Sequential).call(indexSelect(batch, 0, index)), 1);
      const low = this.#cutoffs[i] as number;
      const found = this.#pick(
        own,
        rows.map((row) => (classes[row] as number) - low),
      );
      output = output.add(scatter(zeros(output.shape, { dtype: x.dtype as 'float32' }), 0, index, found));
    });
    return { output: single ? output.reshape([]) : output, loss: neg(mean(output)) };
  }

  /** Log probabilities of all classes: [N, inFeatures] to [N, nClasses], or both without N */
  logProb(x: Tensor): Tensor {
    const batch = this.#batch(x);
    const first = this.#cutoffs[0] as number;
    const head = logSoftmax(this.head.call(batch), 1);
    const clusters = Array.from(this.tail, (own, i) =>
      logSoftmax(own.call(batch), 1).add(head.at(':', [first + i, first + i + 1])),
    );
    const all = cat([head.at(':', [0, first]), ...clusters], 1);
    return x.ndim === 1 ? all.reshape([-1]) : all;
  }

  /** The most probable class of each sample: [N, inFeatures] to int64 [N], or [inFeatures] to [] */
  predict(x: Tensor): Tensor {
    return this.logProb(x).argmax(-1);
  }

  #wrong(text: string): Error {
    return failure('AdaptiveLogSoftmaxWithLoss', 'shape', text);
  }
  #batch(x: Tensor): Tensor {
    checkInput('AdaptiveLogSoftmaxWithLoss', x);
    const size = this.#inFeatures;
    if (x.ndim < 1 || x.ndim > 2 || x.shape.at(-1) !== size)
      throw this.#wrong(`the input is ${shapeOf(x)}; it must be [N, ${size}] or [${size}]`);
    return x.reshape([-1, size]);
  }
  #clusterOf(c: number): number {
    return this.#cutoffs.findIndex((cutoff) => c < cutoff) - 1;
  }
  /** The samples of each cluster. */
  #rows(classes: readonly number[]): number[][] {
    const rows: number[][] = Array.from(this.tail, () => []);
    classes.forEach((c, row) => rows[this.#clusterOf(c)]?.push(row));
    return rows;
  }
  /** The element of each row. */
  #pick(x: Tensor, columns: readonly number[]): Tensor {
    return gather(x, 1, tensor(columns, { dtype: 'int64', shape: [columns.length, 1] })).reshape([-1]);
  }
}
