// Who frees a tensor. A tensor made inside a scope is freed when the scope ends, unless the scope returns it or it was
// kept; one made outside belongs to the garbage collector, which is slow to notice wasm memory. No tensor logic here.

import { disposeSymbol } from './dispose.js';
import { failure } from './errors.js';
import { memoryAdvice, runtime, runtimeIfAny } from './runtime.js';
import { reachable } from './reachable.js';
import type { Tensor } from './tensor.js';
import { type Remains, isTensor, ownerOf, placeOf, remainsOf, setOwner, surrender } from './tensor.js';

/** The tensors of one open scope. Each knows its place in the list, so that it can leave at once. */
export class Frame {
  readonly tensors: Tensor[] = [];
  open = true;

  add(tensor: Tensor): void {
    setOwner(tensor, this, this.tensors.length);
    this.tensors.push(tensor);
  }

  /** The last one takes its place. */
  remove(tensor: Tensor): void {
    const last = this.tensors.pop();
    if (last === undefined || last === tensor) return;
    const place = placeOf(tensor);
    this.tensors[place] = last;
    setOwner(last, this, place);
  }

  has(tensor: Tensor): boolean {
    return ownerOf(tensor) === this;
  }

  free(): void {
    const home = runtimeIfAny();
    for (const tensor of this.tensors) {
      const handle = surrender(tensor, home);
      if (handle !== 0) home?.release(handle);
    }
    this.tensors.length = 0;
  }
}

const frames: Frame[] = [];
// Registering costs as much as a small op, so only tensors that no scope owns are registered.
const collected = new FinalizationRegistry<Remains>(({ handle, runtime: home }) => {
  unowned--;
  if (runtimeIfAny() === home) home.release(handle);
});
// Tensors that wait for the collector, and those that were kept on purpose.
let unowned = 0;
const held = new WeakSet<Tensor>();

/** Called for every tensor made: gives it to the innermost scope. */
export function track(tensor: Tensor): void {
  const frame = frames[frames.length - 1];
  give(tensor, frame);
  if (!frame && !warned) watch();
}

// A loop without a scope: the collector sees small objects, not what they hold, and never runs within one turn.
let warned = false;
const many = 10000;
const large = 0x40000000; // bytes

function watch(): void {
  if (unowned < many && !(unowned % 1000 === 999 && (runtimeIfAny()?.memory.buffer.byteLength ?? 0) > large))
    return;
  warned = true;
  console.warn(`omnigrad: ${unowned} tensors were made outside any scope and are still held. ${remedy}`);
}

const remedy =
  'Put the body of the loop into scope(() => { ... }), or train with optimizer.minimize(() => loss), which frees what ' +
  'a step made; keep(x) holds what should stay.';

memoryAdvice(() => (unowned < 100 ? '' : `; ${unowned} tensors are held outside any scope. ${remedy}`));

/** Called when a tensor is disposed. */
export function untrack(tensor: Tensor): void {
  const owner = ownerOf(tensor);
  take(tensor, owner);
  setOwner(tensor, undefined, 0);
}

function give(tensor: Tensor, frame: Frame | undefined): void {
  if (frame) {
    frame.add(tensor);
    return;
  }
  setOwner(tensor, undefined, 0);
  unowned++;
  collected.register(tensor, remainsOf(tensor), tensor);
}

// Undoes give.
function take(tensor: Tensor, owner: Frame | undefined): void {
  if (owner) owner.remove(tensor);
  else if (collected.unregister(tensor)) unowned--;
}

/**
 * Takes a tensor, or all in arrays, objects, Maps and Sets, out of every scope: it lives until `dispose()`, or until
 * nothing refers to it. Returns it.
 */
export function keep<T>(value: T): T {
  if (typeof value !== 'object' || value === null)
    throw failure('keep', 'argument', `a tensor, or what holds tensors, is kept; got ${String(value)}`);
  for (const tensor of tensorsIn(value)) {
    move(tensor, undefined);
    held.add(tensor);
  }
  return value;
}

/** Gives a tensor to a frame that is in no stack, unless it was kept. */
export function adopt(tensor: Tensor, frame: Frame): void {
  if (!held.has(tensor)) move(tensor, frame);
}

function move(tensor: Tensor, frame: Frame | undefined): void {
  const owner = ownerOf(tensor);
  if (owner === frame) return;
  take(tensor, owner);
  give(tensor, frame);
}

/**
 * Runs `fn` and frees every tensor it made, except those it returns, also inside arrays, objects, Maps and Sets.
 * Synchronous: a promise is an error, since the work it stands for would outlive the scope.
 */
export function scope<T>(fn: () => T): T {
  if (typeof fn !== 'function') throw failure('scope', 'argument', `fn must be a function; got ${typeof fn}`);
  const frame = new Frame();
  frames.push(frame);
  let result: T;
  try {
    result = fn();
    refusePromise('scope', result, 'scopes are synchronous, use openScope()');
    const kept = tensorsIn(result);
    const outer = frames.at(-2);
    for (const tensor of kept) if (ownerOf(tensor) === frame) move(tensor, outer);
  } finally {
    close(frame);
  }
  return result;
}

/** Runs `fn` with what it makes going to a frame that is in no stack, and outlives the call. */
export function within<T>(frame: Frame, fn: () => T): T {
  frames.push(frame);
  try {
    return fn();
  } finally {
    frames.splice(frames.lastIndexOf(frame));
  }
}

/** A scope that is closed by hand, for code that awaits. */
export interface OpenScope {
  /** Frees what was made since, and not kept. Scopes close in the reverse of the order they were opened. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Opens a scope: `using s = openScope()`, or `dispose()` in a `finally`. */
export function openScope(): OpenScope {
  const frame = new Frame();
  frames.push(frame);
  const dispose = (): void => {
    if (!frame.open) return;
    if (frames.at(-1) !== frame) {
      throw failure(
        'openScope',
        'order',
        'a scope opened later is still open; close scopes in reverse order',
      );
    }
    close(frame);
  };
  return { dispose, [disposeSymbol]: dispose } as unknown as OpenScope;
}

function close(frame: Frame): void {
  frame.open = false;
  const index = frames.lastIndexOf(frame);
  // Scopes that were opened inside and never closed end with it.
  for (const inner of frames.splice(index)) {
    inner.open = false;
    inner.free();
  }
}

/** Refuses what an async function returned, since the work it stands for goes on after the caller is done. */
export function refusePromise(op: string, result: unknown, rule: string): void {
  if (!isThenable(result)) return;
  result.then(undefined, () => undefined);
  throw failure(op, 'async', `the function returned a promise; ${rule}`);
}

/** True for promises and what behaves like one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}

/** Every tensor reachable through arrays, plain objects, Maps and Sets. */
export function tensorsIn(value: unknown): Set<Tensor> {
  return reachable(value, isTensor);
}

/** What the module holds. */
export interface MemoryInfo {
  /** Live tensors, those that only the graph holds included. */
  readonly tensors: number;
  /** Bytes of their storages. */
  readonly liveBytes: number;
  /** Bytes of the wasm heap; it never shrinks. */
  readonly heapBytes: number;
  /** The most that liveBytes ever was. */
  readonly peakBytes: number;
  /** Bytes freed and kept for reuse. */
  readonly cachedBytes: number;
}

/** What the module holds now. */
export function memory(): MemoryInfo {
  const rt = runtime('memory');
  rt.module.memoryStats();
  const [tensors = 0, liveBytes = 0, cachedBytes = 0, peakBytes = 0] = rt.scratch;
  return { tensors, liveBytes, heapBytes: rt.memory.buffer.byteLength, peakBytes, cachedBytes };
}
