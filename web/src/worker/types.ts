// What callers see of a job: the handlers of a worker, and the same from the page's side. Types only.

import type { PlatformAbortSignal } from '../platform.js';

/** What a handler gets besides its argument. `State`: what its checkpoints hold. */
export interface Context<State = unknown> {
  /** Aborted when the page no longer wants the run. */
  readonly signal: PlatformAbortSignal;
  /** The last checkpoint of this run, after the worker that wrote it died; undefined in a run that begins. */
  readonly restored: State | undefined;
  /**
   * Keeps `state` on the page. A new worker goes on from it if this one dies: the handler runs again with the same
   * argument and this state in `restored`, and yields next what it would have yielded here.
   */
  checkpoint(state: State): void;
}

/** One argument, so that the context has its place; anything that can be cloned, tensors excepted. */
interface AnyHandler {
  handler(arg: never, context: Context): unknown;
}
export type Handlers = Readonly<Record<string, AnyHandler['handler']>>;

/** What `serve` gives; its type is what `connect` needs to know. */
export interface Served<H> {
  readonly handlers: H;
}

/** What the page calls: a function for each handler. A generator gives a run, everything else a promise. */
export type Connection<Job> = (Job extends Served<infer H> ? Remote<H> : never) & {
  /** Ends the worker. Runs and calls that it owes are rejected with code `closed`. */
  close(): void;
};

type Remote<H> = {
  readonly [K in keyof H]: H[K] extends (...args: infer A) => infer R
    ? (...args: ArgumentOf<A>) => Answer<R>
    : never;
};
type ArgumentOf<A extends readonly unknown[]> = A extends readonly []
  ? []
  : A extends readonly [infer X, ...unknown[]]
    ? [arg: X]
    : A extends readonly [(infer X)?, ...unknown[]]
      ? [arg?: X]
      : never;
type Answer<R> =
  R extends AsyncGenerator<infer Y, infer T>
    ? Run<Y, T>
    : R extends Generator<infer Y, infer T>
      ? Run<Y, T>
      : Promise<Awaited<R>>;

/**
 * A generator that runs in the worker. Iterate over it for its reports: each arrives once and in order, also those made
 * while nobody asked. Leaving the loop cancels the run. Await it for the generator's return value.
 */
export interface Run<Report, Result = void> extends AsyncIterable<Report>, PromiseLike<Result> {
  /** Holds the run between two steps; resolves when it stands still and all its reports are here, or when it is over. */
  pause(): Promise<void>;
  resume(): void;
  /**
   * Ends the run between two steps, after which the generator's `finally` blocks run. Resolves when that is done; the
   * loop over it ends, and a promise for its result is rejected with code `cancelled`.
   */
  cancel(): Promise<void>;
  /** What the run last handed to `checkpoint`. */
  readonly checkpoint: unknown;
  catch<T = never>(onRejected?: (reason: unknown) => T | PromiseLike<T>): Promise<Result | T>;
  finally(onSettled?: () => void): Promise<Result>;
}

/** A worker of the page, or of Node's `worker_threads`. */
export interface WorkerLike {
  postMessage(message: unknown, transfer: never): void;
  terminate(): unknown;
}

export interface ConnectOptions {
  /** Milliseconds in which the worker must have called `serve`; default 20000. */
  readonly timeout?: number;
  /** How often a run may go on in a new worker after its own has died; default 0: it is rejected with `worker-died`. */
  readonly restarts?: number;
}
