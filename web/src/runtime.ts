// The one place that talks to the module: its memory, its scratch area, its statuses. Handles are plain integers here;
// what a tensor is, and who frees it, is tensor.ts and scope.ts.

import { isTrap, withTraps } from './crash.js';
import { type DType, type TypedArray, dtypes, itemSize, typedView } from './dtype.js';
import { OmnigradError, failure, shown } from './errors.js';
import { type Binding, type WasmModule, endPool } from './loader/binding.js';
import type { WasmMemory } from './platform.js';
import type { OpSchema, Schema } from './schema.js';
import { type OpCodec, Pen, compileOp } from './wire.js';

/** A running module. */
export class Runtime {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
  /** Writes a call's arguments into the scratch area. */
  readonly pen = new Pen();
  readonly #codecs = new Map<string, OpCodec>();
  #schema: Schema | undefined;
  #scratch: Float64Array;
  readonly #scratchAt: number;
  readonly #scratchSize: number;
  #crash: string | undefined;

  constructor(module: WasmModule, memory: WasmMemory) {
    this.module = withTraps(
      module,
      () => {
        this.refuseAfterCrash('omnigrad');
      },
      (error) => this.#trapped(error),
    );
    this.memory = memory;
    this.#scratchAt = module.scratch();
    this.#scratchSize = module.scratchSize();
    this.#scratch = new Float64Array(memory.buffer, this.#scratchAt, this.#scratchSize);
  }

  get schema(): Schema {
    return (this.#schema ??= JSON.parse(this.module.schemaJson()) as Schema);
  }

  /** How a call of the op is written; made at the first one, so that the start pays for no op. */
  codec(name: string): OpCodec {
    return this.#codecs.get(name) ?? this.#makeCodec(name);
  }

  #makeCodec(name: string): OpCodec {
    const index = this.module.opIndex(name);
    if (index < 0) throw failure(name, 'internal', 'this build of the module has no such operation');
    const codec = compileOp(JSON.parse(this.module.opJson(index)) as OpSchema, index);
    this.#codecs.set(name, codec);
    return codec;
  }

  /**
   * The scratch area, never to be held across a call: growing detaches memory that is not shared, and its views are
   * empty then. (A view of shared memory stays good. Asking `memory.buffer` each time would cost as much as a small op.)
   */
  get scratch(): Float64Array {
    if (this.#scratch.length === 0) {
      this.#scratch = new Float64Array(this.memory.buffer, this.#scratchAt, this.#scratchSize);
    }
    return this.#scratch;
  }

  /** Runs the op whose arguments lie in the scratch area; gives its first output, 0 if that is hidden or there is none. */
  call(index: number, op: string): number {
    let handle: number;
    try {
      handle = this.module._omnigrad_call(index);
    } catch (error) {
      throw isTrap(error) ? this.#trapped(error, op) : error;
    }
    return this.answer(handle, op);
  }

  /** The handle that the module answered with. Throws its last error where it gave a negative status instead. */
  answer(handle: number, op: string): number {
    if (handle < 0) throw this.#lastError(op);
    return handle;
  }

  release(handle: number): void {
    if (this.#crash === undefined) this.module._omnigrad_release(handle);
  }

  /** Why nothing can be computed any more, until `terminate()`; undefined as long as all is well. */
  get crash(): string | undefined {
    return this.#crash;
  }

  /** Throws after a crash, naming `op`. */
  refuseAfterCrash(op: string): void {
    if (this.#crash !== undefined) throw failure(op, 'crashed', `${this.#crash}; ${afterCrash}`);
  }

  #trapped(error: unknown, op = 'omnigrad'): OmnigradError {
    this.#crash ??= `the module trapped: ${error instanceof Error ? error.message : String(error)}`;
    return failure(op, 'crashed', `${this.#crash}; ${afterCrash}`, error);
  }

  /** Throws the module's last error unless `status` is 0. */
  check(status: number, op: string): void {
    if (status !== 0) throw this.#lastError(op);
  }

  #lastError(op: string): OmnigradError {
    const told = JSON.parse(this.module.lastError()) as {
      op?: string;
      code?: string;
      message?: string;
      shapes?: number[][];
    };
    const name = told.op === undefined || told.op === '' ? op : told.op;
    if (told.code === 'crashed') this.#crash ??= told.message ?? 'lost';
    const more = { memory: advice(), crashed: `; ${afterCrash}` }[told.code ?? ''] ?? '';
    const text = (told.message ?? 'failed') + more;
    return new OmnigradError(text.startsWith(`${name}:`) ? text : `${name}: ${text}`, {
      op: name,
      code: told.code ?? 'internal',
      shapes: told.shapes ?? [],
    });
  }
}

const afterCrash = 'what it holds is lost; terminate(), then init() start anew, from a checkpoint';

let advice = (): string => '';

/** Sets what is added to errors of memory. Only for scope.ts, which knows what is held. */
export function memoryAdvice(text: () => string): void {
  advice = text;
}

let current: Runtime | undefined;

export function installRuntime(module: WasmModule, memory: WasmMemory): void {
  current = new Runtime(module, memory);
}

export function uninstallRuntime(): void {
  endPool(current?.module.PThread);
  current = undefined;
}

/** The running module. @throws OmnigradError `not-initialised` before `init`, `crashed` after a crash, naming `op`. */
export function runtime(op: string): Runtime {
  if (!current) throw failure(op, 'not-initialised', 'omnigrad has not been started; await init() first');
  current.refuseAfterCrash(op);
  return current;
}

/** The running module, or undefined; for releases that may come after the end. */
export function runtimeIfAny(): Runtime | undefined {
  return current;
}

/** Shape and type of a handle. */
export interface Meta {
  readonly dtype: DType;
  readonly requiresGrad: boolean;
  readonly isLeaf: boolean;
  readonly shape: readonly number[];
}

export function metaOf(rt: Runtime, handle: number, op: string): Meta {
  rt.check(rt.module.meta(handle), op);
  const s = rt.scratch;
  const ndim = at(s, 3);
  const dtype = dtypes[at(s, 0)];
  if (dtype === undefined) throw failure(op, 'internal', `the module knows a dtype ${at(s, 0)}`);
  return {
    dtype,
    requiresGrad: at(s, 1) !== 0,
    isLeaf: at(s, 2) !== 0,
    shape: Object.freeze(Array.from(s.subarray(4, 4 + ndim))),
  };
}

/** A new tensor of this shape and a view of its (uninitialised) elements, valid until the next call. */
export function createHandle(
  rt: Runtime,
  dtype: DType,
  shape: readonly number[],
  op: string,
): { handle: number; elements: TypedArray } {
  const s = rt.scratch;
  s[0] = shape.length;
  s.set(shape, 1);
  rt.check(rt.module.create(dtypes.indexOf(dtype)), op);
  const [handle, pointer] = [at(rt.scratch, 0), at(rt.scratch, 1)];
  const count = shape.reduce((product, size) => product * size, 1);
  return { handle, elements: typedView(dtype, rt.memory.buffer, pointer, count) };
}

/** A copy of a tensor's elements, in row order. */
export function readHandle(rt: Runtime, handle: number, dtype: DType, op: string): TypedArray {
  rt.check(rt.module.read(handle), op);
  const [pointer, bytes] = [at(rt.scratch, 0), at(rt.scratch, 1)];
  return typedView(dtype, rt.memory.buffer, pointer, bytes / itemSize(dtype)).slice();
}

/** The core's transcendentals, whose bits are the same in every engine; unlike Math's. */
export function math(fn: MathFunction, x: number, y = 0): number {
  const index = mathFunctions.indexOf(fn);
  if (index < 0)
    throw failure('math', 'argument', `no function ${shown(fn)}; there are ${mathFunctions.join(', ')}`);
  if (typeof x !== 'number' || typeof y !== 'number')
    throw failure('math', 'argument', `${fn} takes numbers; got ${typeof x} and ${typeof y}`);
  return runtime('math').module.math(index, x, y);
}

/** The operations of the running module: inputs, options, outputs. */
export function schema(): Schema {
  return runtime('schema').schema;
}

const mathFunctions = ['exp', 'log', 'sin', 'cos', 'tan', 'tanh', 'pow'] as const;
export type MathFunction = (typeof mathFunctions)[number];

/** An element that is there by the binding's contract. */
export function at(values: ArrayLike<number>, index: number): number {
  return values[index] ?? NaN;
}

export type { Binding };
