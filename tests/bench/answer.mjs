// The loop of every JavaScript library: answers one request at a time, as JSON lines in a Node process, as messages in a
// page's worker. peers/native.py answers the same requests. What a library does for a kind of work is its own file's.
//
// { start: options }            -> { about }            versions and threads, or { error } where it cannot run
// { open: key, spec }           -> { results }          fingerprints of what the work gives, or { error: why it cannot }
// { time: key, runs, repeat }   -> { ms: [per run] }    each is the mean of `repeat` calls in a row
// { close: key }                -> {}
//
// A kind is (spec, inputs, options) => { run, results, close }: `run` does the work once and frees what it made (a
// promise only if the library has no other way), `results` gives what is compared, as a list of typed arrays.
import { fingerprint, makeInputs } from './inputs.mjs';

/** @param peer { start(options): about, kinds } */
export function answer(peer) {
  const jobs = new Map();
  const steps = {
    start: async ({ start }) => ({ about: await peer.start(start) }),
    async open({ open, spec }) {
      const kind = peer.kinds[spec.kind];
      if (!kind) throw new Error(`has no ${spec.kind}`);
      const job = await kind(spec, makeInputs(spec.inputs));
      jobs.set(open, job);
      return { results: (await job.results()).map(fingerprint) };
    },
    time: async ({ time, runs, repeat }) => ({ ms: await timed(jobs.get(time).run, runs, repeat) }),
    close({ close }) {
      jobs.get(close)?.close?.();
      jobs.delete(close);
      return {};
    },
  };
  serve(async (request) => {
    const step = Object.keys(steps).find((name) => name in request);
    try {
      return await steps[step](request);
    } catch (error) {
      return { error: String(error?.message ?? error).split('\n')[0] };
    }
  });
}

async function timed(run, runs, repeat) {
  const ms = [];
  for (let i = 0; i < runs; i++) {
    const begin = performance.now();
    for (let k = 0; k < repeat; k++) {
      const waiting = run();
      if (waiting) await waiting;
    }
    ms.push((performance.now() - begin) / repeat);
  }
  return ms;
}

function serve(reply) {
  const process = globalThis.process?.versions?.node ? globalThis.process : undefined;
  if (!process) {
    self.onmessage = async ({ data }) => self.postMessage(await reply(data));
    return;
  }
  // Standard output carries the answers alone.
  console.log = console.info = console.error;
  const lines = process.getBuiltinModule('readline').createInterface({ input: process.stdin });
  let turn = Promise.resolve();
  lines.on('line', (line) => {
    turn = turn.then(async () => process.stdout.write(`${JSON.stringify(await reply(JSON.parse(line)))}\n`));
  });
  lines.on('close', () => process.exit(0));
}

/** Makes a job of a function that gives what is to be freed by `free` after it was looked at. */
export function job(fn, { free, read, close }) {
  return {
    run: () => free(fn()),
    results() {
      const made = fn();
      const values = read(made);
      free(made);
      return values;
    },
    close,
  };
}

/** [N, C, H, W] in row order to [N, H, W, C], and back; also for weights, by the axes' order. */
export function permuted(values, shape, order) {
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((product, size) => product * size, 1));
  const sizes = order.map((axis) => shape[axis]);
  const steps = order.map((axis) => strides[axis]);
  const out = new values.constructor(values.length);
  const place = sizes.map(() => 0);
  let from = 0;
  for (let i = 0; i < out.length; i++) {
    out[i] = values[from];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      from += steps[axis];
      if (++place[axis] < sizes[axis]) break;
      from -= steps[axis] * sizes[axis];
      place[axis] = 0;
    }
  }
  return out;
}
