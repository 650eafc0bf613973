// What the wasm module exports, typed. The meaning of each function and its use of the scratch area is told in
// wasm/binding.cpp; nobody but runtime.ts calls these.

/** 0: ok, 1: an error whose text is in lastError(), 2: out of memory. */
export type Status = number;
/** A handle, or a negative status. */
export type Answer = number;

export interface Binding {
  // Plain exports: Embind's way in would cost a third of a small op.
  _omnigrad_call(op: number): Answer;
  _omnigrad_release(handle: number): void;
  schemaJson(): string;
  /** The schema of one op. */
  opJson(op: number): string;
  /** The number of the op of that name; -1: there is none. */
  opIndex(name: string): number;
  buildId(): string;
  lastError(): string;
  scratch(): number;
  scratchSize(): number;
  create(dtype: number): Status;
  meta(handle: number): Status;
  read(handle: number): Status;
  alias(handle: number): Answer;
  detach(handle: number): Answer;
  setRequiresGrad(handle: number, on: boolean): Status;
  /** 0 where there is none. */
  gradOf(handle: number): Answer;
  setGrad(handle: number, grad: number): Status;
  backward(y: number, gy: number, retainGraph: boolean, createGraph: boolean): Status;
  grad(retainGraph: boolean, createGraph: boolean, allowUnused: boolean): Status;
  setGradMode(on: boolean): boolean;
  customGrad(inputs: number, outputs: number, callback: () => void): Status;
  checkpoint(inputs: number, callback: (again: boolean) => void): Status;
  setAnomalyDetection(on: boolean): boolean;
  memoryStats(): void;
  resetPeak(): void;
  startProfile(): void;
  stopProfile(): Status;
  setThreads(count: number): void;
  setDeterministic(on: boolean): void;
  threads(): number;
  math(fn: number, x: number, y: number): number;
}

/** The glue's own bookkeeping of pool workers. */
export interface PThread {
  readonly unusedWorkers: PoolWorker[];
  readonly runningWorkers: PoolWorker[];
}

interface PoolWorker {
  unref?(): void;
  terminate(): unknown;
}

/** Ends the pool's workers. Not the glue's terminateAllThreads: it frees stacks that a worker may still be using. */
export function endPool(pool: PThread | undefined): void {
  for (const worker of pool ? [...pool.runningWorkers, ...pool.unusedWorkers] : []) worker.terminate();
}

/** What the glue's factory makes. */
export interface WasmModule extends Binding {
  readonly PThread?: PThread;
}
