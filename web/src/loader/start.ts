// Brings one build up: memory, wasm bytes, glue, pool. Every failure rejects with a StartError that says which step;
// what to do about it (smaller memory, the other build) is init.ts's business.

import type { AssetUrls, Variant } from '../assets.js';
import {
  type ModuleFactory,
  type ModuleSettings,
  type PThread,
  type WasmModule,
  endPool,
} from './binding.js';
import { buildId } from './build_id.js';
import { nodeBuiltin } from './features.js';
import type { ReasonCode } from './select.js';

const pageBytes = 65536;
/** Must be no smaller than the memory the builds were linked with. */
const initialPages = 512;
/** The builds are linked for 2 GB: above it pointers turn negative in JavaScript. */
export const largestMemory = 2147483648;
const smallestMemory = initialPages * pageBytes;

export interface StartSettings {
  readonly variant: Variant;
  readonly threads: number;
  readonly urls: AssetUrls;
  readonly wasmModule: WebAssembly.Module | undefined;
  /** Bytes. */
  readonly maxMemory: number;
  /** Milliseconds. */
  readonly timeout: number;
}

export interface Started {
  readonly module: WasmModule;
  readonly memory: WebAssembly.Memory;
}

export class StartError extends Error {
  readonly code: Extract<ReasonCode, 'start-timeout' | 'start-failed' | 'memory'>;
  constructor(code: StartError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** A start under way: what to clean up, and whether it was given up. */
interface Attempt {
  settings?: ModuleSettings;
  readonly given: AbortController;
}

/** Starts a build, or rejects with a StartError. Leaves no worker behind when it fails. */
export async function startModule(settings: StartSettings): Promise<Started> {
  const memory = makeMemory(settings);
  const attempt: Attempt = { given: new AbortController() };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(
        new StartError(
          'start-timeout',
          `the ${settings.variant} build did not start in ${settings.timeout} ms`,
        ),
      );
    }, settings.timeout);
  });
  try {
    const module = await Promise.race([bringUp(settings, memory, attempt), expired]);
    letNodeExit(module.PThread);
    return { module, memory };
  } catch (error) {
    attempt.given.abort();
    endPool(attempt.settings?.PThread);
    if (error instanceof StartError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new StartError('start-failed', `the ${settings.variant} build did not start: ${text}`, error);
  } finally {
    clearTimeout(timer);
  }
}

// A shared memory reserves its maximum at once, which phones refuse: ask for less until it is granted.
function makeMemory({ variant, maxMemory }: StartSettings): WebAssembly.Memory {
  let bytes = Math.min(maxMemory, largestMemory);
  if (bytes < smallestMemory) {
    throw new StartError(
      'memory',
      `maxMemory is ${maxMemory} bytes; the least that works is ${smallestMemory}`,
    );
  }
  for (;;) {
    try {
      const maximum = Math.floor(bytes / pageBytes);
      return new WebAssembly.Memory({ initial: initialPages, maximum, shared: variant === 'threads' });
    } catch (error) {
      const smaller = bytes / 2;
      if (variant === 'single' || smaller < smallestMemory) {
        throw new StartError('memory', `no memory of ${bytes} bytes is to be had`, error);
      }
      bytes = smaller;
    }
  }
}

async function bringUp(
  { urls, wasmModule, threads }: StartSettings,
  memory: WebAssembly.Memory,
  attempt: Attempt,
): Promise<WasmModule> {
  const [compiled, glue] = await Promise.all([
    wasmModule ? Promise.resolve(wasmModule) : compileWasm(urls.wasm),
    import(/* @vite-ignore */ /* webpackIgnore: true */ urls.glue) as Promise<{ default: ModuleFactory }>,
  ]);
  checkBuild(glue.default, urls.glue);
  attempt.given.signal.throwIfAborted();
  const module = await new Promise<WasmModule>((resolve, reject) => {
    const settings: ModuleSettings = {
      wasmMemory: memory,
      pthreadPoolSize: threads - 1,
      mainScriptUrlOrBlob: urls.glue,
      locateFile: (path) => (path.endsWith('.wasm') ? urls.wasm : urls.glue),
      instantiateWasm: (imports, receive) => {
        WebAssembly.instantiate(compiled, imports).then((instance) => {
          receive(instance, compiled);
        }, reject);
        return {};
      },
      print: ignore,
      printErr: ignore,
      onAbort: (what) => {
        reject(new Error(`the module aborted: ${String(what)}`));
      },
    };
    attempt.settings = settings;
    glue.default(settings).then(resolve, reject);
  });
  // Up after all, but nobody waits for it any more.
  if (attempt.given.signal.aborted) endPool(module.PThread);
  return module;
}

// Files of another version would fail later, and less clearly.
function checkBuild({ buildId: found }: ModuleFactory, url: string): void {
  if (found !== undefined && found !== buildId) {
    throw new Error(`${url} is of build ${found}, this library of ${buildId}; copy the assets again`);
  }
}

function ignore(): void {
  // The library prints nothing; what goes wrong comes as an error.
}

async function compileWasm(url: string): Promise<WebAssembly.Module> {
  const fs = nodeBuiltin<{ promises: { readFile(url: URL): Promise<Uint8Array<ArrayBuffer>> } }>('fs');
  if (fs && url.startsWith('file:')) return WebAssembly.compile(await fs.promises.readFile(new URL(url)));
  const response = await fetch(url, { credentials: 'same-origin' });
  if (!response.ok) throw new Error(`${url}: HTTP ${response.status}`);
  // Servers that know no .wasm send another media type, which the streaming compiler refuses.
  const streams = response.headers.get('content-type')?.startsWith('application/wasm') === true;
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** Pool workers wait for work for ever; Node must not wait for them. */
function letNodeExit(pool: PThread | undefined): void {
  for (const worker of pool?.unusedWorkers ?? []) worker.unref?.();
  for (const worker of pool?.runningWorkers ?? []) worker.unref?.();
}
