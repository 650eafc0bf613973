/// <reference lib="esnext.disposable" preserve="true" />
// The Tensor class: a handle on a tensor of the module, what it is, and reading it. Its ops come from the generated
// table; who frees it is scope.ts.

import { backward as runBackward, type BackwardOptions } from './autograd.js';
import { type DType, type TypedArray, isFloating, isHalf } from './dtype.js';
import { disposeSymbol } from './dispose.js';
import { failure, tooMany } from './errors.js';
import { type Index, index } from './indexing.js';
import { type TensorMethods, methodTable } from './methods.generated.js';
import { tensorTest } from './options.js';
import { printTensor } from './print.js';
import { type Meta, type Runtime, metaOf, readHandle, runtime, runtimeIfAny } from './runtime.js';
import { type Frame, scope, track, untrack } from './scope.js';
import { type ViewMethods, viewTable } from './views.js';

/** Nested arrays of numbers, as deep as the tensor has dimensions. */
export type Nested<T> = T | Nested<T>[];

/** The handle of a live tensor. @throws OmnigradError `disposed`, naming `op`. */
export let handleOf: (tensor: Tensor, op: string) => number;

/** What a finaliser needs to free a tensor that is gone. Only for scope.ts. */
export let remainsOf: (tensor: Tensor) => Remains;
export interface Remains {
  readonly handle: number;
  readonly runtime: Runtime;
}

/** A tensor for a handle that the module just gave out, owned by the innermost scope. */
export let wrap: (handle: number) => Tensor;

/** Makes a tensor stand for what `source`, which ends with that, was: whoever holds it sees the new one. */
export let takeOver: (tensor: Tensor, source: Tensor) => void;

/** The scope that will free a tensor, or undefined where the garbage collector will. Only for scope.ts. */
export let ownerOf: (tensor: Tensor) => Frame | undefined;
export let setOwner: (tensor: Tensor, owner: Frame | undefined, place: number) => void;
/** A tensor's place among its owner's. Only for scope.ts. */
export let placeOf: (tensor: Tensor) => number;
/** Marks a tensor disposed; gives the handle that is to be released, 0 if `home` does not hold it. Only for scope.ts. */
export let surrender: (tensor: Tensor, home: Runtime | undefined) => number;

tensorTest(isTensor);

/** True for tensors of this copy of the library. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}

// The methods of the generated table, and those on shapes, are put on the prototype below.
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export interface Tensor extends TensorMethods, ViewMethods {}

/** An n-dimensional array in the module's memory. Made by `tensor`, `zeros` and the like, and by every op. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export class Tensor {
  #handle: number;
  readonly #runtime: Runtime;
  #meta: Meta | undefined;
  #owner: Frame | undefined;
  #place = 0;

  private constructor(handle: number) {
    this.#handle = handle;
    this.#runtime = runtime('tensor');
    track(this);
  }

  static {
    handleOf = (tensor, op) => tensor.#live(op);
    wrap = (handle) => new Tensor(handle);
    remainsOf = (tensor) => ({ handle: tensor.#handle, runtime: tensor.#runtime });
    ownerOf = (tensor) => tensor.#owner;
    takeOver = (tensor, source) => {
      const handle = source.#live('to');
      untrack(source);
      source.#handle = 0;
      const before = tensor.#live('to');
      untrack(tensor);
      tensor.#handle = handle;
      tensor.#meta = undefined;
      track(tensor);
      tensor.#runtime.release(before);
    };
    setOwner = (tensor, owner, place) => {
      tensor.#owner = owner;
      tensor.#place = place;
    };
    placeOf = (tensor) => tensor.#place;
    surrender = (tensor, home) => {
      const handle = tensor.#runtime === home ? tensor.#handle : 0;
      tensor.#handle = 0;
      tensor.#owner = undefined;
      return handle;
    };
    const prototype = this.prototype as unknown as Record<string | symbol, unknown>;
    const define = (name: string | symbol, value: unknown): void => {
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
    };
    for (const [name, fn] of Object.entries({ ...methodTable(), ...viewTable() })) {
      // Those that write in place are wrapped, and do not tell how many arguments they take.
      const most = name.endsWith('_') ? Infinity : fn.length - 1;
      define(name, function (this: Tensor, ...rest: unknown[]) {
        if (rest.length > most) throw tooMany(name, most, rest);
        return fn(this, ...rest);
      });
    }
    define(disposeSymbol, function (this: Tensor) {
      this.dispose();
    });
    // x + y would make a text of both, and x < y compare them.
    define(Symbol.toPrimitive, function (this: Tensor, hint: string) {
      if (hint === 'string') return this.toString();
      if (hint === 'number' && this.numel === 1) return this.item();
      const rule =
        hint === 'number'
          ? `of shape [${this.shape.join(', ')}] is no number: only one element is`
          : 'takes no operators: x.add(y) for x + y, x.eq(y) for x == y; a text of it is String(x)';
      throw failure('tensor', 'argument', `a tensor ${rule}`);
    });
    define(Symbol.for('nodejs.util.inspect.custom'), function (this: Tensor) {
      return this.toString();
    });
  }

  #live(op: string): number {
    if (this.#handle === 0 || this.#runtime !== runtimeIfAny()) {
      const why =
        this.#handle === 0 ? 'was disposed, by dispose() or at the end of its scope' : 'outlived terminate()';
      throw failure(
        op,
        'disposed',
        `a tensor${this.#meta ? ` of shape [${this.#meta.shape.join(', ')}]` : ''} ${why}`,
      );
    }
    return this.#handle;
  }

  #info(op: string): Meta {
    const handle = this.#live(op);
    return (this.#meta ??= metaOf(this.#runtime, handle, op));
  }

  /** Sizes of the dimensions; empty for a scalar. */
  get shape(): readonly number[] {
    return this.#info('shape').shape;
  }
  get dtype(): DType {
    return this.#info('dtype').dtype;
  }
  /** How many dimensions. */
  get ndim(): number {
    return this.shape.length;
  }
  /** How many elements. */
  get numel(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  /** Whether gradients flow to or through this tensor. Settable on leaves of a floating dtype. */
  get requiresGrad(): boolean {
    return metaOf(this.#runtime, this.#live('requiresGrad'), 'requiresGrad').requiresGrad;
  }
  set requiresGrad(on: boolean) {
    const handle = this.#live('requiresGrad');
    this.#runtime.check(this.#runtime.module.setRequiresGrad(handle, on), 'requiresGrad');
  }
  /** True unless an op that was recorded made this tensor. */
  get isLeaf(): boolean {
    return metaOf(this.#runtime, this.#live('isLeaf'), 'isLeaf').isLeaf;
  }

  /** The accumulated gradient, of this tensor's shape and dtype, or null. The module owns it; this is a view of it. */
  get grad(): Tensor | null {
    const handle = this.#runtime.answer(this.#runtime.module.gradOf(this.#live('grad')), 'grad');
    return handle === 0 ? null : wrap(handle);
  }
  set grad(value: Tensor | null) {
    const own = this.#live('grad');
    const other = value ? handleOf(value, 'grad') : 0;
    this.#runtime.check(this.#runtime.module.setGrad(own, other), 'grad');
  }

  /** A copy of the elements in row order; bool as 0 and 1, int64 as bigints, the halves as their 16 bits. */
  toTypedArray(): TypedArray {
    const { dtype } = this.#info('toTypedArray');
    return readHandle(this.#runtime, this.#live('toTypedArray'), dtype, 'toTypedArray');
  }

  /** As toTypedArray; asynchronous, so that code keeps working should a backend have to be waited for. */
  data(): Promise<TypedArray> {
    return new Promise((resolve) => {
      resolve(this.toTypedArray());
    });
  }

  // The elements as numbers: halves are read through float32.
  #values(): TypedArray {
    return isHalf(this.dtype) ? scope(() => this.cast('float32').toTypedArray()) : this.toTypedArray();
  }

  /** The one element, as a number. @throws OmnigradError unless there is one element, below 2^53 if int64. */
  item(): number {
    if (this.numel !== 1)
      throw this.#shapeFailure('item', 'has more or fewer than one element; use tolist()');
    return toNumber(this.#values()[0] ?? NaN, 'item');
  }

  /** The elements as nested arrays of numbers (booleans for bool); a plain value for a scalar. */
  tolist(): Nested<number> {
    const values = Array.from(this.#values() as ArrayLike<number | bigint>, (v) => toNumber(v, 'tolist'));
    const items: unknown[] = this.dtype === 'bool' ? values.map((v) => v !== 0) : values;
    return nest(items, this.shape) as Nested<number>;
  }

  /** The shape rule of item, told with the shape. */
  #shapeFailure(op: string, text: string): Error {
    return failure(op, 'shape', `tensor of shape [${this.shape.join(', ')}] ${text}`);
  }

  /**
   * Part of the tensor: `x.at(':', [0, 4], -1)`. Each argument is an integer (drops the dimension), `':'` (all of it),
   * `[start, stop?, step?]`, `'...'` (as many `':'` as fit), null (a new dimension of 1), or one integer or bool tensor.
   * All but tensors give views; what a tensor gives is a copy that writes back: `x.at(...).copy_(v)` writes into x.
   */
  at(...indices: readonly Index[]): Tensor {
    return index(this, indices);
  }

  /** The same elements, cut off from the graph. */
  detach(): Tensor {
    return wrap(this.#runtime.answer(this.#runtime.module.detach(this.#live('detach')), 'detach'));
  }

  /** The accumulated gradient of every leaf this depends on; see the function. */
  backward(gradient?: Tensor, options?: BackwardOptions): void {
    runBackward(this, gradient, options);
  }

  /** For JSON.stringify: what `tolist` gives. */
  toJSON(): unknown {
    return this.tolist();
  }

  /** Frees the tensor now. Twice is once; any other use is an error. */
  dispose(): void {
    if (this.#handle === 0) return;
    untrack(this);
    if (this.#runtime === runtimeIfAny()) this.#runtime.release(this.#handle);
    this.#handle = 0;
  }
  /** So that `using x = ...` disposes. */
  declare [Symbol.dispose]: () => void;

  /** `tensor([[1, 2], [3, 4]], dtype=float64)`; long ones are shortened. */
  toString(): string {
    if (this.#handle === 0 || this.#runtime !== runtimeIfAny()) return 'tensor(disposed)';
    const { shape, dtype } = this.#info('toString');
    return printTensor(this.#values(), shape, dtype, isFloating(dtype) && this.requiresGrad);
  }
}

function toNumber(value: number | bigint, op: string): number {
  if (typeof value === 'number') return value;
  const number = Number(value);
  if (!Number.isSafeInteger(number)) {
    throw failure(op, 'range', `${value} is above 2^53 and has no exact number; use toTypedArray()`);
  }
  return number;
}

function nest(values: readonly unknown[], shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  const [size = 0, ...rest] = shape;
  const stride = rest.reduce((product, n) => product * n, 1);
  return Array.from({ length: size }, (_, i) => nest(values.slice(i * stride, (i + 1) * stride), rest));
}
