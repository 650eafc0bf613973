// Brings one build up: memory, files, glue, pool. Every failure rejects with a StartError that says which step, within
// the time limit, and leaves no worker behind. Asks for less memory where much is refused; taking the other build is
// init's business.

import type { AssetUrls, Variant } from '../assets.js';
import { type PThread, type WasmModule, endPool } from './binding.js';
import { checkWasm, loadGlue, loadWasm } from './files.js';
import type { ModuleFactory, ModuleSettings } from './glue.js';
import type { ReasonCode } from './select.js';

const pageBytes = 65536;
/** Must be no smaller than the memory the builds were linked with. */
const initialPages = 512;
/** The builds are linked for 2 GB: above it pointers turn negative in JavaScript. */
export const largestMemory = 2147483648;
export const smallestMemory = initialPages * pageBytes;

export interface StartSettings {
  readonly variant: Variant;
  readonly threads: number;
  readonly urls: AssetUrls;
  readonly wasmModule: WebAssembly.Module | undefined;
  /** Bytes. */
  readonly maxMemory: number;
  /** Milliseconds. */
  readonly timeout: number;
  /** Gives the start up; the promise rejects with its reason. */
  readonly signal: AbortSignal;
}

export interface Started {
  readonly module: WasmModule;
  readonly memory: WebAssembly.Memory;
  /** Bytes the heap may grow to. */
  readonly maxMemory: number;
}

export class StartError extends Error {
  readonly code: Extract<ReasonCode, 'start-timeout' | 'start-failed' | 'memory'>;
  constructor(code: StartError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** What a start needs from the files of its build. */
interface Build {
  /** Not waited for: the pool's workers start while it is compiled. */
  readonly compiled: Promise<WebAssembly.Module>;
  readonly factory: ModuleFactory;
}

/** Starts a build, or rejects with a StartError or the signal's reason. Leaves no worker behind when it fails. */
export async function startModule(settings: StartSettings): Promise<Started> {
  const { variant, timeout, signal } = settings;
  signal.throwIfAborted();
  const given = new AbortController();
  const late = new StartError('start-timeout', `the ${variant} build did not start in ${timeout} ms`);
  let giveUp: () => void = () => undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    giveUp = () => {
      reject(signal.aborted ? (signal.reason as Error) : late);
    };
  });
  // A loser of the race below is nobody's unhandled rejection.
  ended.catch(() => undefined);
  signal.addEventListener('abort', giveUp);
  const timer = setTimeout(giveUp, timeout);
  try {
    return await Promise.race([startInMemory(settings, given.signal), ended]);
  } catch (error) {
    if (error === signal.reason || error instanceof StartError) throw error;
    throw new StartError('start-failed', `the ${variant} build did not start: ${textOf(error)}`, error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
    // Ends what is still under way after a failure; nothing is left of a success.
    given.abort();
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Maxima to ask for, in bytes: each half of the one before, down to the least that works; none if that is more. */
export function memorySizes(maxMemory: number): number[] {
  const sizes: number[] = [];
  const toPages = (bytes: number): number => Math.floor(bytes / pageBytes) * pageBytes;
  for (let bytes = Math.min(maxMemory, largestMemory); bytes > smallestMemory; bytes /= 2)
    sizes.push(toPages(bytes));
  return maxMemory < smallestMemory ? [] : [...sizes, smallestMemory];
}

// A shared memory reserves its maximum at once, which phones refuse, here or in a worker: less, until it is granted.
async function startInMemory(settings: StartSettings, given: AbortSignal): Promise<Started> {
  const sizes = memorySizes(settings.maxMemory);
  let refused = new StartError(
    'memory',
    `maxMemory is ${settings.maxMemory} bytes; the least that works is ${smallestMemory}`,
  );
  const build = sizes.length > 0 ? await loadBuild(settings, given) : undefined;
  for (const maxMemory of build ? sizes : []) {
    try {
      const memory = new WebAssembly.Memory({
        initial: initialPages,
        maximum: maxMemory / pageBytes,
        shared: settings.variant === 'threads',
      });
      const module = await bringUp(settings, build as Build, memory, given);
      letNodeExit(module.PThread);
      return { module, memory, maxMemory };
    } catch (error) {
      if (!isMemoryError(error)) throw error;
      refused = new StartError(
        'memory',
        `a memory of ${maxMemory} bytes was refused: ${textOf(error)}`,
        error,
      );
    }
  }
  throw refused;
}

// Engines have no class of error for it. V8 and SpiderMonkey say it with a RangeError, JavaScriptCore with words.
function isMemoryError(error: unknown): boolean {
  return error instanceof RangeError || /out of memory|memory allocat/i.test(textOf(error));
}

async function loadBuild({ urls, variant, wasmModule }: StartSettings, given: AbortSignal): Promise<Build> {
  if (wasmModule) checkWasm(wasmModule, variant, 'wasmModule');
  const compiled = wasmModule ? Promise.resolve(wasmModule) : loadWasm(urls.wasm, variant, given);
  // Whoever instantiates it learns of a failure.
  compiled.catch(() => undefined);
  return { compiled, factory: await loadGlue(urls.glue, given) };
}

async function bringUp(
  { urls, threads }: StartSettings,
  { compiled, factory }: Build,
  memory: WebAssembly.Memory,
  given: AbortSignal,
): Promise<WasmModule> {
  given.throwIfAborted();
  let settings: ModuleSettings | undefined;
  const end = (): void => {
    endPool(settings?.PThread);
  };
  // Also ends what comes up when nobody waits for it any more.
  let up = false;
  given.addEventListener('abort', () => {
    if (!up) end();
  });
  try {
    const module = await new Promise<WasmModule>((resolve, reject) => {
      settings = {
        wasmMemory: memory,
        pthreadPoolSize: threads - 1,
        mainScriptUrlOrBlob: urls.glue,
        locateFile: (path) => (path.endsWith('.wasm') ? urls.wasm : urls.glue),
        instantiateWasm: (imports, receive) => {
          compiled
            .then(async (ready) => {
              receive(await WebAssembly.instantiate(ready, imports), ready);
            })
            .catch(reject);
          return {};
        },
        print: ignore,
        printErr: ignore,
        onAbort: (what) => {
          reject(new Error(`the module aborted: ${String(what)}`));
        },
        onWorkerError: (event) => {
          reject(workerError(urls.glue, event));
        },
      };
      factory(settings).then(resolve, reject);
    });
    given.throwIfAborted();
    up = true;
    return module;
  } catch (error) {
    end();
    throw error;
  }
}

// An event without a message: the script did not load. Node gives the error itself.
function workerError(url: string, event: { readonly message?: string }): Error {
  if (event instanceof RangeError) return event;
  const { message } = event;
  const why = message === undefined || message === '' ? 'the script cannot be loaded as a worker' : message;
  return new Error(`a worker of the pool failed: ${why} (${url})`, { cause: event });
}

function ignore(): void {
  // The library prints nothing; what goes wrong comes as an error.
}

/** Pool workers wait for work for ever; Node must not wait for them. */
function letNodeExit(pool: PThread | undefined): void {
  for (const worker of pool?.unusedWorkers ?? []) worker.unref?.();
  for (const worker of pool?.runningWorkers ?? []) worker.unref?.();
}
