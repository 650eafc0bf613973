// What the glue's factory takes and gives. Apart from binding.ts, which public declarations reach: this needs the DOM's
// types.

import type { PThread, WasmModule } from './binding.js';

/** Settings the glue reads; it adds its exports to the same object. */
export interface ModuleSettings {
  wasmMemory: WebAssembly.Memory;
  pthreadPoolSize: number;
  mainScriptUrlOrBlob: string;
  locateFile(path: string): string;
  instantiateWasm(
    imports: WebAssembly.Imports,
    receive: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object;
  print(text: string): void;
  printErr(text: string): void;
  onAbort(what: unknown): void;
  /** A pool worker's error event, or in Node its error. */
  onWorkerError(event: { readonly message?: string }): void;
  readonly PThread?: PThread;
}

export interface ModuleFactory {
  (settings: ModuleSettings): Promise<WasmModule>;
  /** Of the sources that the build was made from. */
  readonly buildId?: string;
}
