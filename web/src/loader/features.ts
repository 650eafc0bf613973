// What this engine can do, probed once. No decisions here: those are select.ts.

/** The facts that choose a build. */
export interface Features {
  /** Node, or what passes for it: files are read, worker threads are there. */
  readonly node: boolean;
  /** Deno, whose worker threads do not run the pool. */
  readonly deno: boolean;
  /** Wasm SIMD128. */
  readonly simd: boolean;
  /** Wasm exceptions. */
  readonly exceptions: boolean;
  /** `SharedArrayBuffer` exists and can be the buffer of a shared wasm memory. */
  readonly sharedMemory: boolean;
  /** A shared buffer may be posted to a worker: the page is cross-origin isolated, or this is Node. */
  readonly isolated: boolean;
  /** `Worker`, or Node's worker threads. */
  readonly workers: boolean;
  /** Processors that may be used. */
  readonly cores: number;
  /** Origin of the page or worker; empty in Node. */
  readonly origin: string;
  /** What relative URLs are relative to. */
  readonly base: string;
}

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  cwd(): string;
  getBuiltinModule?(name: string): unknown;
}

/** Node's `process`, or undefined in a browser. */
export function nodeProcess(): Required<NodeProcess> | undefined {
  const candidate = (globalThis as { process?: NodeProcess }).process;
  const isNode =
    typeof candidate?.versions?.node === 'string' && typeof candidate.getBuiltinModule === 'function';
  return isNode ? (candidate as Required<NodeProcess>) : undefined;
}

/** A module built into Node, without an import that bundlers would follow; undefined in a browser. */
// The caller says what it expects of the module: Node's types are not a dependency.

export function nodeBuiltin<T>(name: string): T | undefined {
  return nodeProcess()?.getBuiltinModule(name) as T | undefined;
}

// The smallest modules that use each feature: `i32.const 0; i8x16.splat; i8x16.popcnt` and `try ... catch_all`.
const simdModule = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98,
  11,
];
const exceptionsModule = [
  0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 8, 1, 6, 0, 6, 64, 25, 11, 11,
];

function validates(bytes: readonly number[]): boolean {
  return typeof WebAssembly === 'object' && WebAssembly.validate(new Uint8Array(bytes));
}

function hasSharedMemory(): boolean {
  if (typeof SharedArrayBuffer !== 'function' || typeof WebAssembly !== 'object') return false;
  try {
    return (
      new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer instanceof SharedArrayBuffer
    );
  } catch {
    return false;
  }
}

let probed: Features | undefined;

/** The features of this engine; probed at the first call. */
export function features(): Features {
  probed ??= probe();
  return probed;
}

function probe(): Features {
  const process = nodeProcess();
  const scope = globalThis as {
    crossOriginIsolated?: boolean;
    navigator?: { hardwareConcurrency?: number };
    location?: { origin: string; href: string; protocol: string };
    document?: { baseURI: string };
  };
  const os = nodeBuiltin<{ availableParallelism?(): number; cpus(): unknown[] }>('os');
  const url = nodeBuiltin<{ pathToFileURL(path: string): URL }>('url');
  const { location } = scope;
  // Nothing is relative to a worker's blob: URL, but to the page that made it.
  const here = location?.protocol === 'blob:' ? `${location.origin}/` : location?.href;
  return {
    node: process !== undefined,
    deno: 'Deno' in globalThis,
    simd: validates(simdModule),
    exceptions: validates(exceptionsModule),
    sharedMemory: hasSharedMemory(),
    isolated: process !== undefined || scope.crossOriginIsolated === true,
    workers: process !== undefined || typeof Worker === 'function',
    cores: os
      ? (os.availableParallelism?.() ?? os.cpus().length)
      : (scope.navigator?.hardwareConcurrency ?? 1),
    origin: process ? '' : (location?.origin ?? ''),
    base:
      process && url ? url.pathToFileURL(`${process.cwd()}/`).href : (scope.document?.baseURI ?? here ?? ''),
  };
}
