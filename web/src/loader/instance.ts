// The one running module: starts it, falls back, ends it. Chooses by select.ts, starts by start.ts. Which builds there
// are to choose from is said by the entry of the package: init.ts or init_single.ts.

import { type Assets, type AssetUrls, type BuiltIn, type Variant, assetUrls } from '../assets.js';
import { failure } from '../errors.js';
import { type Rule, boolean, checkOptions, oneOf, positive, whole } from '../options.js';
import type { PlatformWasmModule } from '../platform.js';
import { installRuntime, runtimeIfAny, uninstallRuntime } from '../runtime.js';
import { endPool } from './binding.js';
import { type Features, features } from './features.js';
import { type Reason, type ReasonCode, selectVariant, threadLimit } from './select.js';
import { StartError, type Started, largestMemory, startModule } from './start.js';

export interface InitOptions {
  /** The build to start; `auto` (default) takes threads where they can run. A forced build is never replaced. */
  readonly variant?: Variant | 'auto';
  /** Threads that compute, the caller's included; default: the processors, 8 at most. */
  readonly threads?: number;
  /** Where the builds' files are: a folder's URL, or the URLs of each build. Default: `assets/` beside the library. */
  readonly assets?: Assets;
  /** Wasm compiled beforehand, of the build that will be started. */
  readonly wasmModule?: PlatformWasmModule;
  /** Bytes the heap may grow to, 33554432 at least; default and largest 2147483648. */
  readonly maxMemory?: number;
  /** Milliseconds after which the start of a build counts as failed; default 20000. */
  readonly timeout?: number;
  /** `false` allows scatters whose sums depend on timing, where that is faster. Default true. */
  readonly deterministic?: boolean;
}

export interface InitResult {
  readonly variant: Variant;
  /** Threads that compute, the caller's included. */
  readonly threads: number;
  /** Why this build; where it is not the one with threads, or has less memory than asked for, what kept it from that. */
  readonly reason: Reason;
  /** Bytes the heap may grow to. */
  readonly maxMemory: number;
}

interface Running {
  readonly options: InitOptions;
  readonly given: AbortController;
  readonly result: Promise<InitResult>;
}

let running: Running | undefined;

/** `init` of an entry that comes with these builds. Takes its place before anything is awaited. */
export async function initWith(builtIn: BuiltIn, options: InitOptions): Promise<InitResult> {
  checkOptions('init', options, rules);
  if (running) {
    const crash = runtimeIfAny()?.crash;
    if (crash !== undefined) throw failure('init', 'crashed', `${crash}; call terminate() first`);
    if (sameOptions(running.options, options)) return running.result;
    throw failure(
      'init',
      'already-initialised',
      'already started with other options; call terminate() first',
    );
  }
  const given = new AbortController();
  const mine: Running = { options: { ...options }, given, result: start(builtIn, options, given.signal) };
  running = mine;
  mine.result.catch(() => {
    if (running === mine) running = undefined;
  });
  return mine.result;
}

/**
 * Stops the pool and frees the module with every tensor in it; a start under way rejects with code `terminated`. `init`
 * may be called again, at once.
 */
export function terminate(): void {
  const ended = running;
  running = undefined;
  ended?.given.abort(failure('init', 'terminated', 'terminate() was called during the start'));
  uninstallRuntime();
}

/** What is to be started. */
interface Choice {
  readonly variant: Variant;
  readonly threads: number;
  readonly reason: Reason;
}

async function start(builtIn: BuiltIn, options: InitOptions, signal: AbortSignal): Promise<InitResult> {
  const found = features();
  const { threads: threadsUrls, single: singleUrls } = urlsOf(builtIn, options, found);
  const choice = selectVariant(found, {
    ...(options.variant === undefined ? {} : { variant: options.variant }),
    ...(options.threads === undefined ? {} : { threads: options.threads }),
    glueUrl: threadsUrls?.glue ?? null,
  });
  if (choice.unsupported) throw failure('init', choice.unsupported.code, choice.unsupported.message);
  const start = (chosen: Choice, wasmModule: WebAssembly.Module | undefined): Promise<InitResult> =>
    startChoice(
      chosen,
      chosen.variant === 'threads' ? threadsUrls : singleUrls,
      { ...options },
      wasmModule,
      signal,
    );
  let result: InitResult;
  try {
    result = await start(choice, options.wasmModule);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    if (choice.variant === 'single' || options.variant === 'threads') {
      throw failure('init', error.code, error.message, error);
    }
    const { code, message } = error;
    // A module compiled by the caller was of the build that failed.
    result = await start({ variant: 'single', threads: 1, reason: { code, message } }, undefined).catch(
      (second: unknown) => {
        if (!(second instanceof StartError)) throw second;
        throw failure('init', second.code, `no build came up: ${message}; ${second.message}`, second);
      },
    );
  }
  if ((options.threads ?? 1) > 1 && result.variant === 'single' && options.variant !== 'single') {
    warnOnce(`omnigrad: ${options.threads} threads were asked for, one runs: ${result.reason.message}`);
  }
  return result;
}

async function startChoice(
  { variant, threads, reason }: Choice,
  urls: AssetUrls | undefined,
  { maxMemory = largestMemory, timeout = 20000, deterministic = true }: InitOptions,
  wasmModule: WebAssembly.Module | undefined,
  signal: AbortSignal,
): Promise<InitResult> {
  if (!urls) throw new StartError('start-failed', `assets tells no files of the ${variant} build`);
  const started = await startModule({ variant, threads, urls, wasmModule, maxMemory, timeout, signal });
  install(started, threads, deterministic, signal);
  const asked = Math.min(maxMemory, largestMemory);
  const less = asked - started.maxMemory >= 65536;
  return {
    variant,
    threads,
    reason:
      less && !isFallback(reason.code) ? { code: 'memory', message: lessMemory(asked, started) } : reason,
    maxMemory: started.maxMemory,
  };
}

function install(
  { module, memory }: Started,
  threads: number,
  deterministic: boolean,
  signal: AbortSignal,
): void {
  try {
    signal.throwIfAborted();
    installRuntime(module, memory);
    module.setThreads(threads);
    module.setDeterministic(deterministic);
  } catch (error) {
    endPool(module.PThread);
    throw error;
  }
}

const isFallback = (code: ReasonCode): boolean => code !== 'ok' && code !== 'forced';

const lessMemory = (asked: number, { maxMemory }: Started): string =>
  `${asked} bytes of memory were refused; the heap may grow to ${maxMemory}`;

/** Where the files of each build are; undefined where nothing says so. */
function urlsOf(
  builtIn: BuiltIn,
  { assets }: InitOptions,
  { base }: Features,
): Record<Variant, AssetUrls | undefined> {
  return {
    threads: assetUrls('threads', assets, base, builtIn),
    single: assetUrls('single', assets, base, builtIn),
  };
}

let warned = false;
function warnOnce(text: string): void {
  if (!warned) console.warn(text);
  warned = true;
}

const rules: Record<keyof InitOptions, Rule> = {
  variant: oneOf('auto', 'threads', 'single'),
  threads: {
    text: `a whole number from 1 to ${threadLimit}`,
    test: (n) => whole(1).test(n) && Number(n) <= threadLimit,
  },
  assets: {
    text: 'a URL, or { threads, single } with the URLs { glue, wasm } of each build',
    test: isAssets,
  },
  wasmModule: {
    text: 'a WebAssembly.Module',
    // Asked for in the call only: importing the library touches no WebAssembly.
    test: (v) => typeof WebAssembly === 'object' && v instanceof WebAssembly.Module,
  },
  maxMemory: positive,
  timeout: positive,
  deterministic: boolean,
};

function isAssets(value: unknown): boolean {
  if (typeof value === 'string' || value instanceof URL) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([variant, urls]: [string, Partial<AssetUrls> | undefined]) =>
      (variant === 'threads' || variant === 'single') &&
      (urls === undefined || (typeof urls.glue === 'string' && typeof urls.wasm === 'string')),
  );
}

const defaults: InitOptions = {
  variant: 'auto',
  maxMemory: largestMemory,
  timeout: 20000,
  deterministic: true,
};

// Only asset URLs are compared by what they say; two compiled modules are the same if they are one object.
function sameOptions(a: InitOptions, b: InitOptions): boolean {
  return (Object.keys(rules) as (keyof InitOptions)[]).every((key) => {
    const [one, other] = [a[key] ?? defaults[key], b[key] ?? defaults[key]];
    return one === other || (key === 'assets' && urlText(a.assets) === urlText(b.assets));
  });
}

const urlText = (assets: Assets | undefined): string | undefined => JSON.stringify(assets);
