// A worker as its maker sees it: starting, hearing it, noticing its end. One face for the browser's Worker and that of
// Node's worker_threads.

import { nodeProcess } from '../loader/features.js';
import type { WorkerLike } from './types.js';

export interface HostEvents {
  message(data: unknown): void;
  /** An error that nobody in the worker caught, or a script that did not load. In a browser the worker may live on. */
  error(text: string): void;
  /** It is gone. */
  exit(text: string): void;
}

interface NodeWorker extends WorkerLike {
  on(event: string, listener: (value: never) => void): unknown;
  ref?(): void;
  unref?(): void;
}

interface WebWorker extends WorkerLike {
  addEventListener(type: string, listener: (event: never) => void): void;
}

export class Host {
  readonly #worker: WorkerLike;
  #locks: AbortController | undefined;
  #events: HostEvents | undefined;

  constructor(worker: WorkerLike, events: HostEvents) {
    this.#worker = worker;
    this.#events = events;
    // Events of a worker that was given up are nobody's.
    const tell = <E extends keyof HostEvents>(event: E, value: Parameters<HostEvents[E]>[0]): void => {
      (this.#events?.[event] as ((v: unknown) => void) | undefined)?.(value);
    };
    if (typeof (worker as Partial<NodeWorker>).on === 'function' && nodeProcess()) {
      const node = worker as NodeWorker;
      node.on('message', (data) => {
        tell('message', data);
      });
      node.on('error', (error: unknown) => {
        tell('error', error instanceof Error ? (error.stack ?? error.message) : String(error));
      });
      node.on('exit', (code: number) => {
        tell('exit', `it ended with code ${code}`);
      });
    } else {
      const web = worker as WebWorker;
      web.addEventListener('message', (event: MessageEvent) => {
        tell('message', event.data);
      });
      web.addEventListener('error', (event: Partial<ErrorEvent>) => {
        const where = event.filename ? ` (${event.filename}:${event.lineno ?? 0})` : '';
        tell('error', event.message ? `${event.message}${where}` : 'its script cannot be loaded');
      });
    }
  }

  post(message: unknown, transfer: readonly MessagePort[]): void {
    this.#worker.postMessage(message, transfer as never);
  }

  /** Tells of the worker's end when the lock that it holds is free. */
  watch(lock: string): void {
    const { navigator } = globalThis as { navigator?: { locks?: LockManager } };
    this.#locks = new AbortController();
    navigator?.locks
      ?.request(lock, { signal: this.#locks.signal }, () => {
        this.#events?.exit('it closed itself, or the browser ended it');
      })
      // Given up by end().
      .catch(() => undefined);
  }

  /** Whether Node waits for this worker before it exits. */
  keepAlive(on: boolean): void {
    const worker = this.#worker as Partial<NodeWorker>;
    if (on) worker.ref?.();
    else worker.unref?.();
  }

  end(): void {
    this.#events = undefined;
    this.#locks?.abort();
    this.#worker.terminate();
  }
}
