// What ops cost: time, bytes and calls, as a table and as a file for a browser's performance panel. The core writes the
// calls down; here they are summed.

import { failure } from '../errors.js';
import { checkValue, func } from '../options.js';
import { type Runtime, at, runtime } from '../runtime.js';
import { refusePromise } from '../scope.js';
import { short } from './progress.js';

/** What the calls of one op cost together. */
export interface OpCost {
  /** The op; with ` backward` where a backward pass went through it. */
  readonly name: string;
  readonly calls: number;
  /** Milliseconds, what was called inside included. */
  readonly ms: number;
  /** Bytes of the tensors that were made, inside included. Memory that was reused counts again. */
  readonly bytes: number;
}

/** What was measured. */
export interface Profile {
  /** Milliseconds from start to end, JavaScript included. */
  readonly ms: number;
  /** What the program called and what its backward passes went through, the most expensive first. */
  readonly ops: readonly OpCost[];
  /** As `ops`, but every call by itself, also those inside of others, without what was called inside. */
  readonly inner: readonly OpCost[];
  /** Either as a table; at most so many rows. */
  table(options?: { readonly rows?: number; readonly inner?: boolean }): string;
  /** A trace-event file: save it as .json and open it in Chrome's performance panel or ui.perfetto.dev. */
  trace(): string;
  toString(): string;
}

/** A profile under way. */
export interface Profiling {
  stop(): Profile;
}

// One call, in microseconds since the start.
interface Entry {
  readonly name: string;
  readonly depth: number;
  readonly backward: boolean;
  readonly begin: number;
  readonly end: number;
  readonly bytes: number;
}

let running: Runtime | undefined;

/**
 * Writes down every call of an op until `stop`. Costs about a microsecond and 40 bytes a call.
 *
 * @throws OmnigradError `state` if a profile is under way
 */
export function startProfile(): Profiling {
  const rt = runtime('profile');
  if (running === rt) throw failure('profile', 'state', 'a profile is under way; stop it first');
  running = rt;
  const begun = performance.now();
  rt.module.startProfile();
  let done: Profile | undefined;
  return {
    stop() {
      if (done) return done;
      running = undefined;
      const ms = performance.now() - begun;
      rt.check(rt.module.stopProfile(), 'profile');
      return (done = new Measured(ms, read(rt)));
    },
  };
}

/**
 * Runs `fn`, which is synchronous, and gives what its ops cost with its result.
 *
 *     console.log(profile(() => optimizer.minimize(() => loss())).table());
 */
export function profile<T>(fn: () => T): Profile & { readonly result: T } {
  checkValue('profile', 'fn', fn, func);
  const profiling = startProfile();
  let result: T;
  try {
    result = fn();
    refusePromise('profile', result, 'use startProfile() around code that awaits');
  } finally {
    profiling.stop();
  }
  return Object.assign(profiling.stop(), { result });
}

const columns = 6;

function read(rt: Runtime): Entry[] {
  const [address, count] = [at(rt.scratch, 0), at(rt.scratch, 1)];
  const rows = new Float64Array(rt.memory.buffer, address, columns * count);
  return Array.from({ length: count }, (_, i) => {
    const [op = -1, depth = 0, vjp, begin = 0, end = 0, bytes = 0] = rows.subarray(
      columns * i,
      columns * (i + 1),
    );
    const name = rt.schema.ops[op]?.name ?? 'customGrad';
    return { name, depth, backward: vjp === 1, begin, end, bytes };
  });
}

// Calls by name, as they come.
class Sums {
  readonly #all = new Map<string, { calls: number; ms: number; bytes: number }>();

  add(name: string, us: number, bytes: number, calls = 1): void {
    const sum = this.#all.get(name) ?? { calls: 0, ms: 0, bytes: 0 };
    this.#all.set(name, { calls: sum.calls + calls, ms: sum.ms + us / 1000, bytes: sum.bytes + bytes });
  }

  get sorted(): OpCost[] {
    return Array.from(this.#all, ([name, sum]) => ({ name, ...sum })).sort((a, b) => b.ms - a.ms);
  }
}

const label = ({ name, backward }: Entry): string => (backward ? `${name} backward` : name);

class Measured implements Profile {
  readonly ms: number;
  readonly ops: readonly OpCost[];
  readonly inner: readonly OpCost[];
  readonly #entries: readonly Entry[];

  constructor(ms: number, entries: readonly Entry[]) {
    this.ms = ms;
    this.#entries = entries;
    const outer = new Sums();
    const inner = new Sums();
    // Those that the next entry may be inside of; what is inside of an entry follows it.
    const open: Entry[] = [];
    for (const entry of entries) {
      open.length = entry.depth;
      const parent = open.at(-1);
      const us = entry.end - entry.begin;
      if (parent) {
        inner.add(label(parent), -us, 0, 0);
        outer.add(label(open[0] as Entry), 0, entry.bytes, 0);
      } else outer.add(label(entry), us, entry.bytes);
      inner.add(label(entry), us, entry.bytes);
      open.push(entry);
    }
    this.ops = outer.sorted;
    this.inner = inner.sorted;
  }

  table({ rows = 20, inner = false }: { readonly rows?: number; readonly inner?: boolean } = {}): string {
    const all = inner ? this.inner : this.ops;
    const total = all.reduce((sum, { ms }) => sum + ms, 0);
    const cells = [
      ['op', 'calls', 'ms', 'share', 'us a call', 'MB made'],
      ...all.slice(0, rows).map((cost) => this.#row(cost)),
      ...(all.length > rows ? [this.#row(rest(all.slice(rows)))] : []),
      this.#row({ name: 'outside of ops', calls: 0, ms: this.ms - total, bytes: 0 }),
      this.#row({ ...rest(all), name: 'all', ms: this.ms }).with(4, ''),
    ];
    const widths = (cells[0] as string[]).map((_, i) =>
      Math.max(...cells.map((row) => (row[i] as string).length)),
    );
    return cells
      .map((row) =>
        row
          .map((cell, i) => pad(cell, widths[i] as number, i === 0))
          .join('  ')
          .trimEnd(),
      )
      .join('\n');
  }

  #row({ name, calls, ms, bytes }: OpCost): string[] {
    const each = calls === 0 ? '' : short(Number(((ms * 1000) / calls).toPrecision(3)));
    return [
      ...[name, calls === 0 ? '' : String(calls), ms.toFixed(2), `${((100 * ms) / this.ms).toFixed(1)} %`],
      ...[each, bytes === 0 ? '' : short(Number((bytes / 1e6).toPrecision(3)))],
    ];
  }

  trace(): string {
    const events = this.#entries.map((entry) => ({
      name: label(entry),
      cat: entry.backward ? 'backward' : 'op',
      ...{ ph: 'X', pid: 1, tid: 1, ts: entry.begin, dur: entry.end - entry.begin },
      args: { bytes: entry.bytes },
    }));
    const named = { name: 'thread_name', ph: 'M', pid: 1, tid: 1, args: { name: 'omnigrad' } };
    return JSON.stringify({ traceEvents: [named, ...events], displayTimeUnit: 'ms' });
  }

  toString(): string {
    return this.table();
  }
}

const pad = (cell: string, width: number, left: boolean): string =>
  left ? cell.padEnd(width) : cell.padStart(width);

function rest(all: readonly OpCost[]): OpCost {
  const sum = (of: (cost: OpCost) => number): number => all.reduce((total, cost) => total + of(cost), 0);
  return {
    name: `${all.length} others`,
    calls: sum(({ calls }) => calls),
    ms: sum(({ ms }) => ms),
    bytes: sum(({ bytes }) => bytes),
  };
}
