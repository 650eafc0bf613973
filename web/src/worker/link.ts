// The page's end of a connection: one worker at a time, the calls it owes, and what becomes of them when it dies.

import { failure } from '../errors.js';
import { unpackError } from './errors.js';
import { Host } from './host.js';
import { type Again, type Reply, type Request, isGreeting } from './messages.js';
import { RemoteRun } from './run.js';
import { turn } from './turn.js';
import type { WorkerLike } from './types.js';

interface Pending {
  readonly id: number;
  readonly name: string;
  readonly arg: unknown;
  readonly run: RemoteRun;
  readonly calledFrom: string | undefined;
}

/** A worker and the port to it. */
interface Line {
  readonly host: Host;
  readonly port: MessagePort & { ref?(): void; unref?(): void };
  /** The last error that nobody in the worker caught: what it may have died of. */
  lastError: string | undefined;
  /** Running until the worker has said hello. */
  timer: ReturnType<typeof setTimeout> | undefined;
}

export class Link {
  readonly #make: () => WorkerLike;
  readonly #timeout: number;
  readonly #restarts: number;
  readonly #pending = new Map<number, Pending>();
  #line: Line | undefined;
  #lastId = 0;
  #closed = false;

  constructor(make: () => WorkerLike, timeout: number, restarts: number) {
    this.#make = make;
    this.#timeout = timeout;
    this.#restarts = restarts;
    this.#open();
  }

  call(name: string, arg: unknown): RemoteRun {
    const id = ++this.#lastId;
    const send = (type: 'pause' | 'resume' | 'cancel') => () => {
      if (this.#pending.has(id)) this.#line?.port.postMessage({ type, id } satisfies Request);
    };
    const run = new RemoteRun(
      { pause: send('pause'), resume: send('resume'), cancel: send('cancel') },
      this.#restarts,
    );
    if (this.#closed) {
      run.settle({ error: failure('worker', 'closed', `${name}: the connection was closed`) });
      return run;
    }
    const calledFrom = new Error().stack?.split('\n').slice(3).join('\n');
    this.#pending.set(id, { id, name, arg, run, calledFrom });
    this.#send({ type: 'call', id, name, arg });
    return run;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
    for (const { id, name } of [...this.#pending.values()]) {
      this.#settle(id, { error: failure('worker', 'closed', `${name}: the connection was closed`) });
    }
  }

  #send(request: Request & { type: 'call' }): void {
    try {
      if (!this.#line) this.#open();
      this.#line?.port.postMessage(request);
      this.#keepAlive();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#settle(request.id, {
        error: failure(
          'worker',
          'clone',
          `the argument of ${request.name} cannot be sent to the worker: ${text}`,
          error,
        ),
      });
    }
  }

  /** Starts a worker. What is sent from now on waits in the port until it serves. */
  #open(): void {
    const { port1, port2 } = new MessageChannel();
    let worker: WorkerLike;
    try {
      worker = this.#make();
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      port1.close();
      queueMicrotask(() => {
        this.#died('start-failed', `the worker cannot be made: ${text}`, error);
      });
      return;
    }
    const host = new Host(worker, {
      message: (data) => {
        if (!isGreeting(data) || data.omnigrad !== 'serve') return;
        this.#clearTimer(line);
        if (data.lock !== undefined) host.watch(data.lock);
        host.post({ omnigrad: 'port', port: port2 }, [port2]);
        this.#keepAlive();
      },
      error: (text) => {
        line.lastError = text;
        // Before it serves, an error is the end: nothing would ever come.
        if (line.timer !== undefined) this.#died('start-failed', `the worker did not start: ${text}`);
      },
      exit: (text) => {
        void this.#exited(line, text);
      },
    });
    const line: Line = { host, port: port1, lastError: undefined, timer: undefined };
    line.timer = setTimeout(() => {
      const text = `the worker has not called serve() in ${this.#timeout} ms`;
      this.#died('start-timeout', text);
    }, this.#timeout);
    port1.onmessage = ({ data }: MessageEvent<Reply>) => {
      this.#receive(data);
    };
    port1.onmessageerror = () => {
      line.lastError = 'it sent a message that cannot be read here';
    };
    this.#line = line;
    this.#keepAlive();
  }

  async #exited(line: Line, text: string): Promise<void> {
    // What it sent before it died comes first.
    await turn();
    if (this.#line !== line) return;
    const cause = line.lastError === undefined ? '' : `; its last error: ${line.lastError}`;
    if (line.timer !== undefined) this.#died('start-failed', `the worker did not start: ${text}${cause}`);
    else this.#died('worker-died', `the worker died: ${text}${cause}`);
  }

  #clearTimer(line: Line): void {
    clearTimeout(line.timer);
    line.timer = undefined;
  }

  /** Node waits for the worker only while it owes something, or has yet to start. */
  #keepAlive(): void {
    const line = this.#line;
    if (!line) return;
    const on = this.#pending.size > 0 || line.timer !== undefined;
    line.host.keepAlive(on);
    if (on) line.port.ref?.();
    else line.port.unref?.();
  }

  #receive(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    const { run, calledFrom } = pending;
    if (reply.type === 'run') run.isRun = true;
    else if (reply.type === 'reports') run.addReports(reply.values);
    else if (reply.type === 'checkpoint') run.addCheckpoint(reply.state);
    else if (reply.type === 'paused') run.standsStill();
    else if (reply.type === 'done') this.#settle(reply.id, { value: reply.value });
    else this.#settle(reply.id, { error: unpackError(reply.error, calledFrom) });
  }

  #settle(id: number, outcome: { readonly value: unknown } | { readonly error: unknown }): void {
    const run = this.#pending.get(id)?.run;
    this.#pending.delete(id);
    run?.settle(outcome);
    this.#keepAlive();
  }

  #drop(): void {
    const line = this.#line;
    this.#line = undefined;
    if (!line) return;
    this.#clearTimer(line);
    line.port.close();
    line.host.end();
  }

  /** Runs that may go on do so in a new worker, from their checkpoint; everything else is rejected. */
  #died(code: string, text: string, cause?: unknown): void {
    this.#drop();
    const owed = [...this.#pending.values()];
    const again = code === 'worker-died' ? owed.filter(({ run }) => run.goesOn()) : [];
    for (const { id, name } of owed.filter((pending) => !again.includes(pending))) {
      this.#settle(id, { error: failure('worker', code, `${name}: ${text}`, cause) });
    }
    for (const { id, name, arg, run } of again) {
      const restored: Again = { state: run.checkpoint, skip: run.sinceCheckpoint };
      this.#send({ type: 'call', id, name, arg, again: restored });
      if (run.paused) this.#line?.port.postMessage({ type: 'pause', id } satisfies Request);
    }
  }
}
