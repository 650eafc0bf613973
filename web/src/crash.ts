// A module that has trapped: its memory may hold anything, its locks may be held. Knows traps from errors that
// JavaScript threw in a callback, which pass through the module and leave it whole.

import type { Binding, WasmModule } from './loader/binding.js';

/** Wasm's own end: unreachable code, an access outside memory; or no room on the engine's stack. */
export function isTrap(error: unknown): boolean {
  if (error instanceof WebAssembly.RuntimeError) return true;
  // No class of error says it: V8 and JavaScriptCore throw a RangeError, SpiderMonkey an InternalError.
  return error instanceof Error && /^maximum call stack|^too much recursion/i.test(error.message);
}

// What computes, allocates or calls back; the rest reads a number.
const guarded = [
  ...[
    'schemaJson',
    'opJson',
    'create',
    'meta',
    'read',
    'alias',
    'detach',
    'setRequiresGrad',
    'gradOf',
    'setGrad',
  ],
  ...['backward', 'grad', 'customGrad', 'checkpoint', 'memoryStats', 'startProfile', 'stopProfile'],
] as (keyof Binding)[];

/** The module with `crashed(error)` thrown in place of each trap; asks `refuse` before each call. */
export function withTraps(
  module: WasmModule,
  refuse: () => void,
  crashed: (error: unknown) => Error,
): WasmModule {
  const wrapped = Object.create(module) as Record<string, unknown>;
  const plain = module as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const name of guarded) {
    wrapped[name] = (...args: unknown[]): unknown => {
      refuse();
      try {
        return plain[name]?.(...args);
      } catch (error) {
        throw isTrap(error) ? crashed(error) : error;
      }
    };
  }
  return wrapped as unknown as WasmModule;
}
