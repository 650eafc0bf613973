// init and terminate: the only ways in and out. Chooses (select.ts), starts (start.ts), falls back, installs the module.

import { type Assets, type Variant, assetUrls } from '../assets.js';
import { failure } from '../errors.js';
import { type Rule, boolean, checkOptions, instance, oneOf, positive, whole } from '../options.js';
import { installRuntime, uninstallRuntime } from '../runtime.js';
import { endPool } from './binding.js';
import { type Features, features } from './features.js';
import { type Reason, selectVariant, threadLimit } from './select.js';
import { StartError, type Started, largestMemory, startModule } from './start.js';

export interface InitOptions {
  /** The build to start; `auto` (default) takes threads where they can run. A forced build is never replaced. */
  readonly variant?: Variant | 'auto';
  /** Threads that compute, the caller's included; default: the processors, 8 at most. */
  readonly threads?: number;
  /** Where the builds' files are: a folder's URL, or the URLs of each build. Default: `assets/` beside the library. */
  readonly assets?: Assets;
  /** Wasm compiled beforehand, of the build that will be started. */
  readonly wasmModule?: WebAssembly.Module;
  /** Bytes the heap may grow to; default and largest 2147483648. */
  readonly maxMemory?: number;
  /** Milliseconds after which a start counts as failed; default 20000. */
  readonly timeout?: number;
  /** `false` allows scatters whose sums depend on timing, where that is faster. Default true. */
  readonly deterministic?: boolean;
}

export interface InitResult {
  readonly variant: Variant;
  readonly threads: number;
  readonly reason: Reason;
}

interface Running {
  readonly options: InitOptions;
  readonly result: Promise<InitResult>;
  stop?: () => void;
}

let running: Running | undefined;

/**
 * Starts the WebAssembly module; everything else is synchronous afterwards. Called again with the same options it
 * gives the same result; with others it is an error until `terminate()`.
 *
 * @throws OmnigradError `option` for bad options, `no-simd` and the like where nothing can run, `start-failed`,
 *   `start-timeout` or `memory` where no build came up.
 */
export function init(options: InitOptions = {}): Promise<InitResult> {
  try {
    checkOptions('init', options, rules);
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
  if (running) {
    if (sameOptions(running.options, options)) return running.result;
    return Promise.reject(
      failure('init', 'already-initialised', 'already started with other options; call terminate() first'),
    );
  }
  const mine: Running = { options: { ...options }, result: start(options, () => running === mine) };
  running = mine;
  mine.result.catch(() => {
    if (running === mine) running = undefined;
  });
  return mine.result;
}

/** Stops the pool and frees the module with every tensor in it. `init` may be called again. */
export function terminate(): void {
  running = undefined;
  uninstallRuntime();
}

async function start(options: InitOptions, wanted: () => boolean): Promise<InitResult> {
  const found = features();
  const selection = selectVariant(found, {
    ...(options.variant === undefined ? {} : { variant: options.variant }),
    ...(options.threads === undefined ? {} : { threads: options.threads }),
    glueUrl: urlsOf('threads', options, found).glue,
  });
  if (selection.unsupported) throw failure('init', selection.unsupported.code, selection.unsupported.message);
  let result: InitResult = selection;
  let started: Started;
  try {
    started = await startOne(result, options, found);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    if (result.variant === 'single' || options.variant === 'threads') {
      throw failure('init', error.code, error.message, error);
    }
    result = { variant: 'single', threads: 1, reason: { code: error.code, message: error.message } };
    // A module compiled by the caller was of the build that failed.
    started = await startOne(result, withoutModule(options), found).catch((second: unknown) => {
      const text = second instanceof Error ? second.message : String(second);
      const { code } = second instanceof StartError ? second : error;
      throw failure('init', code, `no build came up: ${error.message}; ${text}`, second);
    });
  }
  if (!wanted()) {
    endPool(started.module.PThread);
    throw failure('init', 'terminated', 'terminate() was called during the start');
  }
  installRuntime(started.module, started.memory);
  started.module.setThreads(result.threads);
  started.module.setDeterministic(options.deterministic ?? true);
  return { variant: result.variant, threads: result.threads, reason: result.reason };
}

function urlsOf(variant: Variant, options: InitOptions, found: Features): ReturnType<typeof assetUrls> {
  return assetUrls(variant, options.assets, found.base);
}

function startOne(choice: InitResult, options: InitOptions, found: Features): Promise<Started> {
  return startModule({
    variant: choice.variant,
    threads: choice.threads,
    urls: urlsOf(choice.variant, options, found),
    wasmModule: options.wasmModule,
    maxMemory: options.maxMemory ?? largestMemory,
    timeout: options.timeout ?? 20000,
  });
}

function withoutModule(options: InitOptions): InitOptions {
  const rest: { -readonly [K in keyof InitOptions]: InitOptions[K] } = { ...options };
  delete rest.wasmModule;
  return rest;
}

const rules: Record<keyof InitOptions, Rule> = {
  variant: oneOf('auto', 'threads', 'single'),
  threads: {
    text: `a whole number from 1 to ${threadLimit}`,
    test: (n) => whole(1).test(n) && Number(n) <= threadLimit,
  },
  assets: {
    text: 'a URL, or those of each build',
    test: (v) => typeof v === 'string' || typeof v === 'object',
  },
  wasmModule: instance(WebAssembly.Module),
  maxMemory: positive,
  timeout: positive,
  deterministic: boolean,
};

function sameOptions(a: InitOptions, b: InitOptions): boolean {
  const keys = Object.keys(rules) as (keyof InitOptions)[];
  return keys.every((key) => {
    if (a[key] === b[key]) return true;
    // Only asset URLs are compared by what they say; two compiled modules are the same if they are one object.
    return key === 'assets' && JSON.stringify(a.assets) === JSON.stringify(b.assets);
  });
}
