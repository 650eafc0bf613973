// Tensors from JavaScript values, and the constant ones. Dtype rules: numbers make float32, booleans bool, bigints
// int64, typed arrays keep theirs.

import { type DType, type TypedArray, dtypeOfArray, isFloating, isHalf } from './dtype.js';
import { checkedOptions } from './dispatch.js';
import { failure } from './errors.js';
import * as ops from './ops.generated.js';
import { scope } from './scope.js';
import { createHandle, runtime } from './runtime.js';
import { Tensor, wrap } from './tensor.js';

/** What `tensor` takes: a value, nested arrays of values of equal lengths, or a typed array. */
export type TensorData = number | boolean | bigint | TypedArray | readonly TensorData[];

export interface CreateOptions {
  /** Default: told by the data; float32 for the constant ones. */
  readonly dtype?: DType;
  /** Record what is computed from it. Floating dtypes only. */
  readonly requiresGrad?: boolean;
}

const createOptions = ['dtype', 'requiresGrad'];

/** A new tensor with these elements; `shape` arranges a flat or typed array. */
export function tensor(
  data: TensorData,
  options: CreateOptions & { readonly shape?: readonly number[] } = {},
): Tensor {
  const rt = runtime('tensor');
  checkedOptions('tensor', options, [...createOptions, 'shape']);
  const typed = ArrayBuffer.isView(data);
  const { flat, shape: found } = typed ? { flat: data, shape: [data.length] } : flatten(data);
  const shape = options.shape ?? found;
  const count = shape.reduce((product, size) => product * size, 1);
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0) || count !== flat.length) {
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
  const { handle, elements } = createHandle(rt, dtype, shape, 'tensor');
  const made = wrap(handle);
  fill(elements, flat, dtype);
  return withGrad(made, options);
}

type Flat = ArrayLike<number | boolean | bigint>;

function fill(target: TypedArray, source: Flat, dtype: DType): void {
  if (ArrayBuffer.isView(source) && source.constructor === target.constructor && dtype !== 'bool') {
    target.set(source as unknown as ArrayLike<never>);
  } else if (target instanceof BigInt64Array) {
    for (let i = 0; i < target.length; i++) target[i] = BigInt(source[i] as number);
  } else {
    const numbers = target;
    for (let i = 0; i < numbers.length; i++) {
      numbers[i] = dtype === 'bool' ? Number(Boolean(source[i])) : Number(source[i]);
    }
  }
}

function flatten(data: TensorData): { flat: Flat; shape: number[] } {
  const shape: number[] = [];
  for (let level: unknown = data; Array.isArray(level); level = level[0]) shape.push(level.length);
  const flat: (number | boolean | bigint)[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (!Array.isArray(value)) {
      if (depth !== shape.length) throw failure('tensor', 'shape', 'nested arrays are ragged');
      if (typeof value !== 'number' && typeof value !== 'boolean' && typeof value !== 'bigint') {
        throw failure('tensor', 'argument', `elements are numbers, booleans or bigints; got ${typeof value}`);
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
  checkedOptions('full', options, createOptions);
  return withGrad(ops.full(shape, value, { dtype: options.dtype ?? 'float32' }), options);
}

/** Every element 0. */
export function zeros(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return full(shape, 0, options);
}

/** Every element 1. */
export function ones(shape: readonly number[], options: CreateOptions = {}): Tensor {
  return full(shape, 1, options);
}

/** Zeros of another tensor's shape and dtype. */
export function zerosLike(x: Tensor, options: CreateOptions = {}): Tensor {
  return zeros(x.shape, { dtype: x.dtype, ...options });
}

/** Ones of another tensor's shape and dtype. */
export function onesLike(x: Tensor, options: CreateOptions = {}): Tensor {
  return ones(x.shape, { dtype: x.dtype, ...options });
}

/** `start, start + step, ...` up to but not including `stop`; `arange(stop)` starts at 0. Shape [ceil(range / step)]. */
export function arange(stop: number, options?: CreateOptions): Tensor;
export function arange(start: number, stop: number, options?: CreateOptions): Tensor;
export function arange(start: number, stop: number, step: number, options?: CreateOptions): Tensor;
export function arange(...args: (number | CreateOptions | undefined)[]): Tensor {
  const numbers = args.filter((arg) => typeof arg === 'number');
  const options = args.find((arg) => typeof arg === 'object') ?? {};
  checkedOptions('arange', options, createOptions);
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
  if (!Number.isSafeInteger(steps) || steps < 0) {
    throw failure('linspace', 'option', `steps is ${steps}; it is a whole number from 0`);
  }
  const gap = steps > 1 ? (stop - start) / (steps - 1) : 0;
  // From both ends, as PyTorch does: the last value is `stop` exactly.
  const values = Float64Array.from({ length: steps }, (_, i) =>
    i < steps / 2 ? start + gap * i : stop - gap * (steps - 1 - i),
  );
  return tensor(values, { ...options, dtype: options.dtype ?? 'float32' });
}

/** The identity matrix, [n, m]; m defaults to n. */
export function eye(n: number, m = n, options: CreateOptions = {}): Tensor {
  const values = new Float32Array(n * m);
  for (let i = 0; i < Math.min(n, m); i++) values[i * m + i] = 1;
  return tensor(values, { ...options, shape: [n, m] });
}
