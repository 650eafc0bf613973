// What all metrics share: they are updated batch by batch, and give the same, to the bit, however the samples were cut
// into batches, since they add up sample by sample. They hold numbers, no tensors.

import { isHalf } from '../dtype.js';
import { failure, shown } from '../errors.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';

/** A measure of many batches. */
export interface Metric<Inputs extends unknown[], Result> {
  /** Takes in a batch. */
  update(...inputs: Inputs): void;
  /** The measure of all batches since the start or `reset`; NaN where there were none. */
  compute(): Result;
  reset(): void;
}

/** Numbers one after the other: a tensor's in row order, or a list's. */
export type Values = Tensor | ArrayLike<number | bigint>;

/** Values as numbers, and their shape. @throws OmnigradError `argument` */
export function valuesOf(
  op: string,
  name: string,
  values: Values,
): { data: ArrayLike<number>; shape: readonly number[] } {
  if (!isTensor(values)) {
    const { length } = Object(values) as { length?: unknown };
    const data =
      typeof length === 'number' && typeof values !== 'string' ? Array.from(values, Number) : [NaN];
    if (typeof length !== 'number' || typeof values === 'string')
      throw failure(op, 'argument', `${name} is ${shown(values)}; it must be a Tensor or a list of numbers`);
    return { data, shape: [length] };
  }
  const { shape, dtype } = values;
  const typed = isHalf(dtype) ? scope(() => values.cast('float32').toTypedArray()) : values.toTypedArray();
  return {
    data: typed instanceof BigInt64Array ? Array.from(typed, Number) : typed,
    shape,
  };
}

/** Two of one shape. @throws OmnigradError `shape` */
export function pairOf(
  op: string,
  predicted: Values,
  target: Values,
): [ArrayLike<number>, ArrayLike<number>, readonly number[]] {
  const a = valuesOf(op, 'predicted', predicted);
  const b = valuesOf(op, 'target', target);
  if (a.shape.join() !== b.shape.join())
    throw failure(
      op,
      'shape',
      `predicted is [${a.shape.join(', ')}], target [${b.shape.join(', ')}]; they must be equal`,
    );
  return [a.data, b.data, a.shape];
}

/** The mean of numbers, each with a weight: of losses, say. */
export class MeanMetric implements Metric<[value: number, weight?: number], number> {
  #sum = 0;
  #weight = 0;

  update(value: number, weight = 1): void {
    if (typeof value !== 'number' || typeof weight !== 'number')
      throw failure(
        'MeanMetric',
        'argument',
        `value is ${shown(value)}, weight ${shown(weight)}; they must be numbers`,
      );
    this.#sum += value * weight;
    this.#weight += weight;
  }
  compute(): number {
    return this.#sum / this.#weight;
  }
  reset(): void {
    this.#sum = this.#weight = 0;
  }
}
