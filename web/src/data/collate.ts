// Makes one batch of samples: tensors are stacked, numbers become tensors, records and lists are gone into.

import { tensor } from '../create.js';
import type { TypedArray } from '../dtype.js';
import { failure, shown } from '../errors.js';
import { items } from '../options.js';
import { stack } from '../ops.generated.js';
import { type Tensor, isTensor } from '../tensor.js';

/** What samples of this type are as a batch. */
export type Collated<Sample> = Sample extends Tensor | number | boolean | bigint | TypedArray
  ? Tensor
  : Sample extends string
    ? string[]
    : Sample extends object
      ? { -readonly [K in keyof Sample]: Collated<Sample[K]> }
      : Sample[];

/**
 * A batch of samples: tensors of one shape are stacked, [N, ...]; numbers become a float32 tensor [N], booleans bool,
 * bigints int64, typed arrays [N, length]; texts a list; lists and records the same of each entry.
 *
 * @throws OmnigradError `shape` where samples differ: pad them, or give the loader `collate`
 */
export function collate<Sample>(samples: readonly Sample[]): Collated<Sample> {
  return together(items('collate', 'samples', samples, 'a list'), 'sample') as Collated<Sample>;
}

function together(values: readonly unknown[], what: string, depth = 0): unknown {
  if (depth > 32) throw failure('collate', 'argument', 'samples are nested without end');
  const [first] = values;
  const kind = kindOf(first);
  const other = values.find((value) => kindOf(value) !== kind);
  if (values.length === 0 || other !== undefined)
    throw failure('collate', 'argument', `a ${what} is ${shown(first)}, another ${shown(other)}`);
  switch (kind) {
    case 'tensor':
      return stack(values as Tensor[], 0);
    case 'string':
      return [...values];
    case 'number':
    case 'boolean':
    case 'bigint':
      return tensor(values as number[]);
    case 'typed':
      return typed(values as TypedArray[], what);
    case 'list':
      return (first as unknown[]).map((_, i) =>
        together(entries(values, i, what), `${what}[${i}]`, depth + 1),
      );
    case 'record':
      return Object.fromEntries(
        Object.keys(first as object).map((key) => [
          key,
          together(entries(values, key, what), `${what}.${key}`, depth + 1),
        ]),
      );
    default:
      throw failure('collate', 'argument', `a ${what} is ${shown(first)}; give the loader { collate }`);
  }
}

function kindOf(value: unknown): string {
  if (isTensor(value)) return 'tensor';
  if (ArrayBuffer.isView(value)) return 'typed';
  if (Array.isArray(value)) return 'list';
  if (typeof value !== 'object' || value === null) return typeof value;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? 'record' : 'other';
}

function entries(values: readonly unknown[], key: string | number, what: string): unknown[] {
  const size = (value: unknown): number => Object.keys(value as object).length;
  const odd = values.find((value) => size(value) !== size(values[0]) || !Object.hasOwn(value as object, key));
  if (odd !== undefined) throw failure('collate', 'shape', `one ${what} has other entries than another`);
  return values.map((value) => (value as Record<string | number, unknown>)[key]);
}

function typed(values: readonly TypedArray[], what: string): Tensor {
  const [first] = values as [TypedArray, ...TypedArray[]];
  const size = first.length;
  const odd = values.find((value) => value.length !== size || value.constructor !== first.constructor);
  if (odd)
    throw failure(
      'collate',
      'shape',
      `a ${what} has ${size} elements, another ${odd.length}, or of another type`,
    );
  const whole = new (first.constructor as new (length: number) => TypedArray)(values.length * size);
  values.forEach((value, i) => {
    whole.set(value as never, i * size);
  });
  return tensor(whole, { shape: [values.length, size] });
}
