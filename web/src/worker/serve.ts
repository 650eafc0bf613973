// The worker's side: runs handlers one after the other, and calls of plain ones between two steps of a generator. Never
// waits for the page. What a handler makes of its arguments is its own business.

import { OmnigradError, failure } from '../errors.js';
import { nodeBuiltin } from '../loader/features.js';
import { aTensor } from '../options.js';
import { reachable } from '../reachable.js';
import { packError } from './errors.js';
import { type Again, type Greeting, type Reply, type Request, isGreeting } from './messages.js';
import { turn, turnAfter } from './turn.js';
import type { Context, Handlers, Served } from './types.js';

/** Milliseconds between two messages with reports. */
const reportsEvery = 50;

type Steps = AsyncGenerator | Generator;

/** A call that the page made. */
interface Call {
  readonly id: number;
  readonly name: string;
  readonly arg: unknown;
  readonly aborter: AbortController;
  readonly state: unknown;
  skip: number;
  paused: boolean;
  /** Whether the page knows that it stands still. */
  told: boolean;
}

/** A generator that was called. */
interface Started {
  readonly call: Call;
  readonly steps: Steps;
}

let serving = false;

/**
 * Offers these handlers to the page that made this worker, where `connect` calls them. A handler takes one argument and
 * a context. A generator is a training loop: what it yields is reported to the page; between two steps, which is where
 * it yields, other calls are answered, and it can be held or ended. Runs take turns: one begins when the one before is
 * over.
 *
 * @throws OmnigradError `worker` outside a worker, `argument` for what are no handlers, `already-serving`.
 */
export function serve<const H extends Handlers>(handlers: H): Served<H> {
  checkHandlers(handlers);
  const parent = parentOf();
  if (serving) throw failure('serve', 'already-serving', 'a worker serves once, with all its handlers');
  serving = true;
  parent.receive((data) => {
    if (!isGreeting(data) || data.omnigrad !== 'port') return;
    const server = new Server(handlers, data.port);
    data.port.onmessage = (event: MessageEvent<Request>) => {
      server.receive(event.data);
    };
  });
  holdLock((lock) => {
    parent.send(lock === undefined ? { omnigrad: 'serve' } : { omnigrad: 'serve', lock });
  });
  return { handlers };
}

const reserved = ['then', 'close'];

function checkHandlers(handlers: unknown): void {
  if (typeof handlers !== 'object' || handlers === null || Object.keys(handlers).length === 0) {
    throw failure('serve', 'argument', 'give an object of handlers, e.g. { async *train(options) { ... } }');
  }
  for (const [name, handler] of Object.entries(handlers)) {
    if (typeof handler !== 'function') throw failure('serve', 'argument', `${name} must be a function`);
    if (reserved.includes(name)) throw failure('serve', 'argument', `a handler cannot be called ${name}`);
  }
}

interface Parent {
  send(message: Greeting): void;
  receive(listener: (data: unknown) => void): void;
}

function parentOf(): Parent {
  const threads = nodeBuiltin<{
    parentPort: {
      postMessage(m: unknown): void;
      on(event: 'message', fn: (data: unknown) => void): void;
    } | null;
  }>('worker_threads');
  const port = threads?.parentPort;
  if (port) {
    return {
      send: (message) => {
        port.postMessage(message);
      },
      receive: (listener) => {
        port.on('message', listener);
      },
    };
  }
  const scope = globalThis as unknown as {
    WorkerGlobalScope?: unknown;
    postMessage(m: unknown): void;
    addEventListener(type: 'message', fn: (event: { data: unknown }) => void): void;
  };
  if (scope.WorkerGlobalScope === undefined || typeof scope.postMessage !== 'function') {
    throw failure('serve', 'worker', 'this is no worker; call it in the module that connect() starts');
  }
  return {
    send: (message) => {
      scope.postMessage(message);
    },
    receive: (listener) => {
      scope.addEventListener('message', ({ data }) => {
        listener(data);
      });
    },
  };
}

// The browser gives the lock to the page when this worker is gone, however it went.
function holdLock(then: (lock: string | undefined) => void): void {
  const { navigator } = globalThis as { navigator?: { locks?: LockManager } };
  const locks = nodeBuiltin('worker_threads') === undefined ? navigator?.locks : undefined;
  if (!locks) {
    then(undefined);
    return;
  }
  const name = `omnigrad-worker-${crypto.randomUUID()}`;
  locks
    .request(name, () => {
      then(name);
      return new Promise(() => undefined);
    })
    // Sandboxed frames have no locks.
    .catch(() => {
      then(undefined);
    });
}

class Server {
  readonly #handlers: Handlers;
  readonly #port: MessagePort;
  #calls: Call[] = [];
  readonly #runs: Started[] = [];
  #current: Started | undefined;
  #reports: unknown[] = [];
  #sent = 0;
  #turned = 0;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;
  /** Ends the wait of a run that is held. */
  #wake: () => void = () => undefined;

  constructor(handlers: Handlers, port: MessagePort) {
    this.#handlers = handlers;
    this.#port = port;
  }

  receive(request: Request): void {
    if (request.type === 'call') {
      this.#calls.push(this.#newCall(request));
      this.#wake();
      if (!this.#busy) void this.#work();
      return;
    }
    const call = this.#find(request.id);
    if (!call) return;
    if (request.type === 'cancel') {
      call.aborter.abort(failure('worker', 'cancelled', 'the page ended the run'));
      if (call !== this.#current?.call) this.#forget(call);
    } else {
      call.paused = request.type === 'pause';
      call.told = false;
      // One that has not begun stands still already.
      if (call.paused && call !== this.#current?.call) this.#tellPaused(call);
    }
    this.#wake();
  }

  #newCall({ id, name, arg, again }: Request & { type: 'call' }): Call {
    const { state, skip }: Again = again ?? { state: undefined, skip: 0 };
    return { id, name, arg, aborter: new AbortController(), state, skip, paused: false, told: false };
  }

  #find(id: number): Call | undefined {
    const waiting = [...this.#runs, ...(this.#current ? [this.#current] : [])].map(({ call }) => call);
    return [...this.#calls, ...waiting].find((call) => call.id === id);
  }

  /** Ends what has not begun, without waiting for its turn. */
  #forget(call: Call): void {
    this.#calls = this.#calls.filter((other) => other !== call);
    const place = this.#runs.findIndex((run) => run.call === call);
    if (place >= 0) void this.#runs.splice(place, 1)[0]?.steps.return(undefined);
    this.#fail(call, call.aborter.signal.reason);
  }

  async #work(): Promise<void> {
    this.#busy = true;
    for (;;) {
      await this.#answer();
      this.#current = this.#runs.shift();
      if (!this.#current) break;
      await this.#finish(this.#current.call, this.#loop(this.#current));
      this.#current = undefined;
    }
    this.#busy = false;
  }

  /** Answers what was called. A generator does nothing before its first step: it waits for its turn. */
  async #answer(): Promise<void> {
    for (let call = this.#calls.shift(); call; call = this.#calls.shift()) {
      const { name, arg } = call;
      const handler = Object.hasOwn(this.#handlers, name) ? this.#handlers[name] : undefined;
      try {
        if (!handler) {
          const names = Object.keys(this.#handlers).join(', ');
          throw failure('worker', 'argument', `it has no handler '${name}'; it has ${names}`);
        }
        const result = handler(arg as never, this.#contextOf(call));
        if (isSteps(result)) {
          this.#runs.push({ call, steps: result });
          this.#post({ type: 'run', id: call.id });
        } else await this.#finish(call, Promise.resolve(result));
      } catch (error) {
        this.#fail(call, error);
      }
    }
  }

  #contextOf({ id, aborter, state, name }: Call): Context {
    return {
      signal: aborter.signal,
      restored: state,
      checkpoint: (next) => {
        this.#flush();
        refuseTensors(name, 'its checkpoint', next);
        this.#send(name, { type: 'checkpoint', id, state: next });
      },
    };
  }

  async #loop({ call, steps }: Started): Promise<unknown> {
    const { signal } = call.aborter;
    for (;;) {
      await this.#between(call);
      if (signal.aborted) {
        await steps.return(undefined);
        throw signal.reason as Error;
      }
      const result: IteratorResult<unknown> = await steps.next();
      if (result.done) return result.value;
      this.#report(call, result.value);
    }
  }

  /** What there is to do between two steps. */
  async #between(call: Call): Promise<void> {
    const now = performance.now();
    if (this.#reports.length > 0 && now - this.#sent >= reportsEvery) this.#flush();
    if (now - this.#turned >= turnAfter) {
      await turn();
      this.#turned = performance.now();
    }
    for (;;) {
      await this.#answer();
      if (!call.paused || call.aborter.signal.aborted) return;
      this.#flush();
      this.#tellPaused(call);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #tellPaused(call: Call): void {
    if (call.told) return;
    call.told = true;
    this.#post({ type: 'paused', id: call.id });
  }

  #report(call: Call, value: unknown): void {
    if (call.skip > 0) {
      call.skip--;
      return;
    }
    refuseTensors(call.name, 'what it yields', value);
    this.#reports.push(value);
    // A step may wait long for something else.
    this.#flushTimer ??= setTimeout(() => {
      this.#flush();
    }, reportsEvery);
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    const values = this.#reports;
    const call = this.#current?.call;
    if (values.length === 0 || !call) return;
    this.#reports = [];
    this.#sent = performance.now();
    try {
      this.#send(call.name, { type: 'reports', id: call.id, values });
    } catch (error) {
      // One of them cannot be cloned: the others are not lost with it, and the run ends with the error.
      for (const value of values) {
        try {
          this.#port.postMessage({ type: 'reports', id: call.id, values: [value] } satisfies Reply);
        } catch {
          call.aborter.abort(error);
        }
      }
    }
  }

  async #finish(call: Call, result: Promise<unknown>): Promise<void> {
    try {
      const value = await result;
      this.#flush();
      const { signal } = call.aborter;
      if (signal.aborted && OmnigradError.is(signal.reason) && signal.reason.code === 'clone')
        throw signal.reason;
      refuseTensors(call.name, 'what it returns', value);
      this.#send(call.name, { type: 'done', id: call.id, value });
    } catch (error) {
      this.#flush();
      // What a run throws because it was told to end is its end.
      this.#fail(call, call.aborter.signal.aborted ? call.aborter.signal.reason : error);
    }
  }

  #fail(call: Call, error: unknown): void {
    this.#post({ type: 'failed', id: call.id, error: packError(error) });
  }

  #send(name: string, reply: Reply): void {
    try {
      this.#port.postMessage(reply);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const rule = 'plain objects, arrays and typed arrays can be sent';
      throw failure(
        'worker',
        'clone',
        `${name} made what cannot be sent to the page: ${text}; ${rule}`,
        error,
      );
    }
  }

  #post(reply: Reply): void {
    this.#port.postMessage(reply);
  }
}

function isSteps(value: unknown): value is Steps {
  if (typeof value !== 'object' || value === null) return false;
  const { next, return: end } = value as Partial<Steps>;
  return typeof next === 'function' && typeof end === 'function';
}

// Cloned, a tensor would arrive as an empty object.
function refuseTensors(name: string, what: string, value: unknown): void {
  if (reachable(value, (item): item is object => aTensor.test(item)).size === 0) return;
  throw failure(
    'worker',
    'clone',
    `${name}: ${what} holds a Tensor; send its item(), tolist() or toTypedArray()`,
  );
}
