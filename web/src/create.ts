// Tensors from JavaScript values, and the constant ones. Dtype rules: numbers make float32, booleans bool, bigints
// int64, typed arrays keep theirs.

import { type DType, type TypedArray, dtypeOfArray, dtypes, isFloating, isHalf, rangeOf } from './dtype.js';
import { failure, shown } from './errors.js';
import * as ops from './ops.generated.js';
import {
  aTensor,
  boolean,
  checkOptions,
  checkValue,
  dtypeOf,
  finite,
  number,
  shape as shapeRule,
  whole,
} from './options.js';
import { scope } from './scope.js';
import { createHandle, runtime } from './runtime.js';
import { Tensor, wrap } from './tensor.js';

/** What `tensor` takes: a value, nested arrays of values of equal lengths, or a typed array. */
export type TensorData = number | boolean | bigint | TypedArray | Uint8ClampedArray | readonly TensorData[];

export interface CreateOptions {
  /** Default: told by the data; float32 for the constant ones. */
  readonly dtype?: DType;
  /** Record what is computed from it. Floating dtypes only. */
  readonly requiresGrad?: boolean;
}

const createRules = { dtype: dtypeOf(...dtypes), requiresGrad: boolean };

/** A new tensor with these elements; `shape` arranges a flat or typed array. */
export function tensor(
  data: TensorData,
  options: CreateOptions & { readonly shape?: readonly number[] } = {},
): Tensor {
  const rt = runtime('tensor');
  checkOptions('tensor', options, { ...createRules, shape: shapeRule });
  const typed = ArrayBuffer.isView(data);
  if (typed && !('length' in data)) throw failure('tensor', 'argument', 'a DataView has no elements');
  const { flat, shape: found } = typed ? { flat: data, shape: [data.length] } : flatten(data);
  const shape = options.shape ?? found;
  const count = shape.reduce((product, size) => product * size, 1);
  if (count !== flat.length) {
    throw failure('tensor', 'shape', `${flat.length} elements do not fill shape [${shape.join(', ')}]`);
  }
  const dtype = options.dtype ?? (typed ? dtypeOfArray(data) : dtypeOfValue(flat[0]));
  if (dtype === undefined)
    throw failure('tensor', 'dtype', 'no dtype for such a typed array; give { dtype }');
  checkFloating(dtype, options);
  // Halves come as their bits, or as numbers that the core rounds.
  if (isHalf(dtype) && !(data instanceof Uint16Array)) {
    return scope(() => ops.cast(tensor(data, { shape, dtype: 'float32' }), dtype));
  }
  checkRange('tensor', flat, dtype);
  const { handle, elements } = createHandle(rt, dtype, shape, 'tensor');
  const made = wrap(handle);
  fill(elements, flat, dtype);
  return withGrad(made, options);
}

// NaN is not zero, as in every cast to bool.
const isTrue = (value: unknown): boolean => Boolean(value) || Number.isNaN(value);

type Flat = ArrayLike<number | boolean | bigint>;

function fill(target: TypedArray, source: Flat, dtype: DType): void {
  if (ArrayBuffer.isView(source) && source.constructor === target.constructor && dtype !== 'bool') {
    target.set(source as unknown as ArrayLike<never>);
  } else if (target instanceof BigInt64Array) {
    for (let i = 0; i < target.length; i++) target[i] = BigInt(source[i] as number);
  } else {
    const numbers = target;
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = dtype === 'bool' ? Number(isTrue(source[i])) : Number(source[i]);
    }
  }
}

// Integers are given as they are, or refused: nothing is cut off and nothing wraps around.
function checkRange(op: string, values: Flat, dtype: DType): void {
  const range = rangeOf(dtype);
  if (!range || (ArrayBuffer.isView(values) && dtypeOfArray(values) === dtype)) return;
  const [least, most] = range;
  // By number: an ArrayLike is no Iterable.
  // eslint-disable-next-line @typescript-eslint/prefer-for-of
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number | boolean | bigint;
    if (typeof value === 'boolean') continue;
    if (typeof value === 'number' && !Number.isInteger(value))
      throw failure(op, 'range', `${value} is no whole number; for ${dtype} cut it off first, or cast`);
    if (value < least || value > most)
      throw failure(op, 'range', `${shown(value)} does not fit ${dtype}, which is ${least} to ${most}`);
  }
}

const maxRank = 16; // the core's

function flatten(data: TensorData): { flat: Flat; shape: number[] } {
  const shape: number[] = [];
  for (let level: unknown = data; Array.isArray(level); level = level[0]) {
    shape.push(level.length);
    // Before an array that holds itself is followed for ever.
    if (shape.length > maxRank) throw failure('tensor', 'shape', `arrays are nested deeper than ${maxRank}`);
  }
  const flat: (number | boolean | bigint)[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (!Array.isArray(value)) {
      if (depth !== shape.length) throw failure('tensor', 'shape', 'nested arrays are ragged');
      if (typeof value !== 'number' && typeof value !== 'boolean' && typeof value !== 'bigint') {
        throw failure('tensor', 'argument', `elements are numbers, booleans or bigints; got ${shown(value)}`);
      }
      flat.push(value);
      return;
    }
    if (value.length !== shape[depth]) throw failure('tensor', 'shape', 'nested arrays are ragged');
    for (const item of value) visit(item, depth + 1);
  };
  visit(data, 0);
  return { flat, shape };
}

function dtypeOfValue(value: unknown): DType {
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'int64' : 'float32';
}

function checkFloating(dtype: DType, options: CreateOptions): void {
  if (options.requiresGrad === true && !isFloating(dtype)) {
    throw failure('tensor', 'dtype', `requiresGrad needs float32 or float64; got ${dtype}`);
  }
}

/** Sets requiresGrad as the options say; returns the tensor. */
export function withGrad(made: Tensor, options: CreateOptions): Tensor {
  if (options.requiresGrad === true) {
    checkFloating(made.dtype, options);
    made.requiresGrad = true;
  }
  return made;
}

/** Every element `value`. */
export function full(shape: readonly number[], value: number, options: CreateOptions = {}): Tensor {
  return filled('full', shape, value, options);
}

function filled(op: string, shape: readonly number[], value: number, options: CreateOptions): Tensor {
  checkValue(op, 'shape', shape, shapeRule);
  checkValue(op, 'value', value, number);
  checkOptions(op, options, createRules);
  const { dtype = 'float32' } = options;
  checkRange(op, [value], dtype);
  return withGrad(ops.full(shape, value, { dtype }), options);
}

/** Every element 0. */
export function zeros(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return filled('zeros', shape, 0, options);
}

/** Every element 1. */
export function ones(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return filled('ones', shape, 1, options);
}

/** Zeros of another tensor's shape and dtype. */
export function zerosLike(x: Tensor, options: CreateOptions = {}): Tensor {
  checkValue('zerosLike', 'x', x, aTensor);
  checkOptions('zerosLike', options, createRules);
  return zeros(x.shape, { ...options, dtype: options.dtype ?? x.dtype });
}

/** Ones of another tensor's shape and dtype. */
export function onesLike(x: Tensor, options: CreateOptions = {}): Tensor {
  checkValue('onesLike', 'x', x, aTensor);
  checkOptions('onesLike', options, createRules);
  return ones(x.shape, { ...options, dtype: options.dtype ?? x.dtype });
}

/** `start, start + step, ...` up to but not including `stop`; `arange(stop)` starts at 0. Shape [ceil(range / step)]. */
export function arange(stop: number, options?: CreateOptions): Tensor;
export function arange(start: number, stop: number, options?: CreateOptions): Tensor;
export function arange(start: number, stop: number, step: number, options?: CreateOptions): Tensor;
export function arange(...args: (number | CreateOptions | undefined)[]): Tensor {
  const numbers = args.filter((arg) => typeof arg === 'number');
  const options = (args.slice(numbers.length).find((arg) => arg !== undefined) ?? {}) as CreateOptions;
  if (numbers.length === 0) checkValue('arange', 'stop', args[0], number);
  checkOptions('arange', options, createRules);
  const [start = 0, stop = 0, step = 1] = numbers.length === 1 ? [0, numbers[0]] : numbers;
  if (step === 0 || !Number.isFinite((stop - start) / step)) {
    throw failure(
      'arange',
      'option',
      `from ${start} to ${stop} by ${step}: step must not be 0, and all finite`,
    );
  }
  return withGrad(ops.arange(start, stop, step, { dtype: options.dtype ?? 'float32' }), options);
}

/** `steps` evenly spaced values from `start` to `stop`, both included. */
export function linspace(start: number, stop: number, steps: number, options: CreateOptions = {}): Tensor {
  checkValue('linspace', 'start', start, finite);
  checkValue('linspace', 'stop', stop, finite);
  checkValue('linspace', 'steps', steps, whole());
  checkOptions('linspace', options, createRules);
  const { dtype = 'float32' } = options;
  // The module's memory holds no more, and neither should JavaScript's on the way there.
  if (steps > mostElements) throw failure('linspace', 'memory', `out of memory: ${steps} elements`);
  const gap = steps > 1 ? (stop - start) / (steps - 1) : 0;
  // From both ends, as PyTorch does: the last value is `stop` exactly.
  const values = new Float64Array(steps);
  for (let i = 0; i < steps; i++) values[i] = i < steps / 2 ? start + gap * i : stop - gap * (steps - 1 - i);
  if (rangeOf(dtype)) for (let i = 0; i < steps; i++) values[i] = Math.trunc(values[i] ?? 0);
  return tensor(values, { ...options, dtype });
}

const mostElements = 0x10000000;

/** The identity matrix, [n, m]; m defaults to n. */
export function eye(n: number, options?: CreateOptions): Tensor;
export function eye(n: number, m?: number, options?: CreateOptions): Tensor;
export function eye(n: number, second: number | CreateOptions = n, third: CreateOptions = {}): Tensor {
  const [m, options]: [number, CreateOptions] = typeof second === 'object' ? [n, second] : [second, third];
  checkValue('eye', 'n', n, whole());
  checkValue('eye', 'm', m, whole());
  checkOptions('eye', options, createRules);
  const { requiresGrad, ...rest } = options;
  const made = zeros([n, m], rest);
  const diagonal = Math.min(n, m);
  if (diagonal > 0)
    scope(() =>
      made
        .reshape([-1])
        .at([0, (diagonal - 1) * (m + 1) + 1, m + 1])
        .fill_(1),
    );
  return withGrad(made, requiresGrad === undefined ? {} : { requiresGrad });
}
