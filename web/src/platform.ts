// Types of the platform that appear in public signatures, where the compiler knows them: the declarations must also be
// good without the DOM library and without Node's types.

type Instance<Name extends string, Otherwise> =
  typeof globalThis extends Record<Name, { prototype: infer T }> ? T : Otherwise;

export type PlatformURL = Instance<'URL', { readonly href: string }>;
export type PlatformAbortSignal = Instance<
  'AbortSignal',
  { readonly aborted: boolean; readonly reason: unknown; throwIfAborted(): void }
>;
export type PlatformWasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } }
  ? T
  : object;
/** The part of WebAssembly.Memory that is used where public declarations reach. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
}
