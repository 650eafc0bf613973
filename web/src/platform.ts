// Types of the platform that appear in public signatures, where the compiler knows them: the declarations must also be
// good without the DOM library and without Node's types.

type Instance<Name extends string, Otherwise> =
  typeof globalThis extends Record<Name, { prototype: infer T }> ? T : Otherwise;

export type PlatformURL = Instance<'URL', { readonly href: string }>;
export type PlatformAbortSignal = Instance<
  'AbortSignal',
  { readonly aborted: boolean; readonly reason: unknown; throwIfAborted(): void }
>;
export type PlatformBlob = Instance<'Blob', { readonly size: number; arrayBuffer(): Promise<ArrayBuffer> }>;
export type PlatformResponse = Instance<
  'Response',
  { readonly ok: boolean; readonly url: string; arrayBuffer(): Promise<ArrayBuffer> }
>;
export type PlatformReadableStream = Instance<'ReadableStream', { getReader(): unknown }>;
export type PlatformWritableStream = Instance<'WritableStream', { getWriter(): unknown }>;
export type PlatformFileHandle = Instance<
  'FileSystemFileHandle',
  { getFile(): Promise<unknown>; createWritable(): Promise<unknown> }
>;
export type PlatformEventTarget = Instance<'EventTarget', { dispatchEvent(event: never): boolean }>;
export type PlatformWasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } }
  ? T
  : object;
/** The part of WebAssembly.Memory that is used where public declarations reach. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer | SharedArrayBuffer;
}
