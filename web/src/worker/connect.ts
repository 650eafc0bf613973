// The page's side, as callers see it.

import { checkOptions, checkValue, func, positive, whole } from '../options.js';
import { Link } from './link.js';
import type { ConnectOptions, Connection, WorkerLike } from './types.js';

/**
 * Starts a worker whose module calls `serve`, and gives its handlers as functions of the page. A worker that dies is
 * noticed within a second: what it owes is rejected with `worker-died`, or goes on from its checkpoint (`restarts`). The
 * next call starts a new one. In Node the process does not wait for a worker that owes nothing.
 *
 * @param make Makes the worker; written out where bundlers can see it:
 *   `() => new Worker(new URL('./job.ts', import.meta.url), { type: 'module' })`.
 * @throws OmnigradError `option` or `argument`. Calls are rejected with `start-failed`, `start-timeout`, `worker-died`,
 *   `clone`, `closed`, `cancelled`, or what the handler threw.
 */
export function connect<Job>(make: () => WorkerLike, options: ConnectOptions = {}): Connection<Job> {
  checkValue('connect', 'make', make, func);
  checkOptions('connect', options, { timeout: positive, restarts: whole(0) });
  const { timeout = 20000, restarts = 0 } = options;
  const link = new Link(make, timeout, restarts);
  const known = new Map<string | symbol, unknown>([
    [
      'close',
      () => {
        link.close();
      },
    ],
    // No promise: `await connect(...)` gives the connection.
    ['then', undefined],
  ]);
  return new Proxy(Object.freeze({}), {
    get(_target, name) {
      if (typeof name === 'symbol') return undefined;
      if (!known.has(name)) known.set(name, (arg: unknown) => link.call(name, arg));
      return known.get(name);
    },
  }) as Connection<Job>;
}
