// How near one picture is to another.

import { noGrad } from '../autograd.js';
import { tensor } from '../create.js';
import { failure } from '../errors.js';
import { conv } from '../ops.generated.js';
import { aTensor, checkOptions, checkValue, positive, whole } from '../options.js';
import { math } from '../runtime.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { type Metric, type Values, pairOf } from './metric.js';

/** 10 log10(range^2 / mean squared difference) of all pixels of all images, in decibels; Infinity if they are equal. */
export class PeakSignalNoiseRatio implements Metric<[predicted: Values, target: Values], number> {
  readonly #range: number;
  #sum = 0;
  #count = 0;

  /** @param options.dataRange the greatest value less the least; default 1 */
  constructor(options: { readonly dataRange?: number } = {}) {
    checkOptions('PeakSignalNoiseRatio', options, { dataRange: positive });
    this.#range = options.dataRange ?? 1;
  }

  update(predicted: Values, target: Values): void {
    const [a, b] = pairOf('PeakSignalNoiseRatio', predicted, target);
    for (let i = 0; i < a.length; i++) {
      const d = (a[i] as number) - (b[i] as number);
      this.#sum += d * d;
    }
    this.#count += a.length;
  }
  compute(): number {
    if (this.#count === 0) return NaN;
    if (this.#sum === 0) return Infinity;
    return (10 * math('log', (this.#range * this.#range * this.#count) / this.#sum)) / math('log', 10);
  }
  reset(): void {
    this.#sum = this.#count = 0;
  }
}

export interface SsimOptions {
  /** The greatest value less the least; default 1. */
  readonly dataRange?: number;
  /** Pixels of the window's side, odd; default 11. */
  readonly kernelSize?: number;
  /** Of the window, a Gaussian; default 1.5. */
  readonly sigma?: number;
}

/**
 * Structural similarity, the mean of all windows that lie within the picture, of channels and of images [N, C, H, W];
 * k1 = 0.01, k2 = 0.03. In float64. Wang et al., Image Quality Assessment, 2004.
 */
export class StructuralSimilarityIndexMeasure implements Metric<[predicted: Tensor, target: Tensor], number> {
  readonly #range: number;
  readonly #size: number;
  readonly #window: readonly number[];
  #sum = 0;
  #count = 0;

  constructor(options: SsimOptions = {}) {
    const odd = {
      text: 'an odd number from 1 to 999',
      test: (v: unknown) => whole(1, 999).test(v) && (v as number) % 2 === 1,
    };
    checkOptions('StructuralSimilarityIndexMeasure', options, {
      dataRange: positive,
      kernelSize: odd,
      sigma: positive,
    });
    const { dataRange = 1, kernelSize = 11, sigma = 1.5 } = options;
    this.#range = dataRange;
    this.#size = kernelSize;
    const middle = (kernelSize - 1) / 2;
    const bell = Array.from({ length: kernelSize }, (_, i) =>
      math('exp', (-(i - middle) * (i - middle)) / (2 * sigma * sigma)),
    );
    const total = bell.reduce((a, b) => a + b, 0);
    this.#window = bell.map((value) => value / total);
  }

  update(predicted: Tensor, target: Tensor): void {
    const name = 'StructuralSimilarityIndexMeasure';
    checkValue(name, 'predicted', predicted, aTensor);
    checkValue(name, 'target', target, aTensor);
    const [, , h = 0, w = 0] = target.shape;
    const shapes = `predicted is [${predicted.shape.join(', ')}], target [${target.shape.join(', ')}]`;
    if (predicted.shape.join() !== target.shape.join() || target.ndim !== 4)
      throw failure(name, 'shape', `${shapes}; they must be equal, [N, C, H, W]`);
    if (h < this.#size || w < this.#size)
      throw failure(name, 'shape', `${shapes}; a window of ${this.#size} does not fit`);
    const means = noGrad(() =>
      scope(() => this.#similarity(predicted.cast('float64'), target.cast('float64')).toTypedArray()),
    );
    for (const mean of means) this.#sum += Number(mean);
    this.#count += means.length;
  }

  // One value an image, [N].
  #similarity(x: Tensor, y: Tensor): Tensor {
    const [, channels = 0] = x.shape;
    const size = this.#size;
    const kernel = (shape: readonly number[]): Tensor =>
      tensor([...this.#window], { dtype: 'float64', shape })
        .expand([channels, -1, -1, -1])
        .clone();
    const [down, across] = [kernel([1, 1, size, 1]), kernel([1, 1, 1, size])];
    const blurred = (image: Tensor): Tensor =>
      conv(conv(image, down, { groups: channels }), across, { groups: channels });
    const [c1, c2] = [0.01 * this.#range, 0.03 * this.#range].map((k) => k * k) as [number, number];
    const [mx, my] = [blurred(x), blurred(y)];
    const [mxx, myy, mxy] = [mx.square(), my.square(), mx.mul(my)];
    const vx = blurred(x.square()).sub(mxx);
    const vy = blurred(y.square()).sub(myy);
    const cov = blurred(x.mul(y)).sub(mxy);
    const above = mxy.mul(2).add(c1).mul(cov.mul(2).add(c2));
    const below = mxx.add(myy).add(c1).mul(vx.add(vy).add(c2));
    return above.div(below).mean([1, 2, 3]);
  }

  compute(): number {
    return this.#sum / this.#count;
  }
  reset(): void {
    this.#sum = this.#count = 0;
  }
}
