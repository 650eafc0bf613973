// Ends the process if one case takes too long, and says which: a thread that died in a kernel leaves the main one waiting
// for ever, where nothing else could speak.
import { writeSync } from 'node:fs';
import { Worker, isMainThread, workerData } from 'node:worker_threads';

const limit = 120; // seconds; the slowest case takes two on a busy machine

/** { watch(name) } to be called before each case. */
export function startWatchdog() {
  const shared = new SharedArrayBuffer(1024);
  const [count, text] = [new Int32Array(shared, 0, 1), new Uint8Array(shared, 4)];
  new Worker(new URL(import.meta.url), { workerData: shared }).unref();
  const watch = (name) => {
    text.fill(0);
    new TextEncoder().encodeInto(name, text);
    Atomics.add(count, 0, 1);
  };
  return { watch };
}

if (!isMainThread && workerData instanceof SharedArrayBuffer) {
  const count = new Int32Array(workerData, 0, 1);
  let [seen, since] = [0, performance.now()];
  setInterval(() => {
    const now = Atomics.load(count, 0);
    if (now !== seen) [seen, since] = [now, performance.now()];
    if (seen === 0 || performance.now() - since < limit * 1000) return;
    const name = new TextDecoder().decode(Uint8Array.from(new Uint8Array(workerData, 4))).replace(/\0+$/, '');
    writeSync(2, `golden: ${name} has not ended after ${limit} s; a thread may have died in a kernel\n`);
    process.kill(process.pid, 'SIGKILL');
  }, 1000);
}
