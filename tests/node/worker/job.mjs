// Handlers that the worker tests call: a real training loop, and every way a handler can behave.
import { OmnigradError, crossEntropy, init, manualSeed, ones, scope, tensor } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import { serve } from 'omnigrad/worker';

const spin = (ms) => {
  for (const end = performance.now() + ms; performance.now() < end;);
};
const exit = () => {
  if (typeof process === 'object') process.exit(7);
  self.close();
  spin(50);
};

let net;
let finals = 0;
const log = [];

export const handlers = {
  /** Points of two kinds; a checkpoint every 5 steps; dies at step `dieAt` unless it was restored. */
  async *train({ steps, seed = 1, dieAt, variant = 'single', threads }, { restored, checkpoint }) {
    await init({ variant, ...(threads && { threads }) });
    manualSeed(seed);
    net = new nn.Linear(2, 2);
    const opt = new optim.SGD(net.parameters(), { lr: 0.5 });
    const x = tensor([
      [1, 0],
      [0, 1],
      [2, 1],
      [1, 2],
    ]);
    const y = tensor([0n, 1n, 0n, 1n]);
    let first = 0;
    if (restored) {
      net.loadStateDict({ weight: tensor(restored.weight, { shape: [2, 2] }), bias: tensor(restored.bias) });
      first = restored.step;
    }
    try {
      for (let step = first; step < steps; step++) {
        const loss = opt.minimize(() => crossEntropy(net.call(x), y));
        yield { step: step + 1, loss };
        if ((step + 1) % 5 === 0)
          checkpoint({ step: step + 1, weight: net.weight.toTypedArray(), bias: net.bias.toTypedArray() });
        if (step + 1 === dieAt && !restored) exit();
      }
      return { steps };
    } finally {
      finals++;
      opt.dispose();
    }
  },
  predict: (point) => scope(() => Array.from(net.call(tensor([point])).toTypedArray())),
  state: () => ({ finals, log }),
  /** Counts, with `ms` of work a step. */
  *count({ to, ms = 0 }) {
    for (let i = 1; i <= to; i++) {
      if (ms > 0) spin(ms);
      log.push(i);
      yield i;
    }
    return 'counted';
  },
  mark: (what) => {
    log.push(what);
    return what;
  },
  fail: ({ kind }) => {
    if (kind === 'omnigrad') {
      return init({ variant: 'single' }).then(() => tensor([1, 2, 3]).matmul(ones([2, 2])));
    }
    if (kind === 'value') throw { reason: 'plain' };
    const cause = new RangeError('deeper');
    const error = new TypeError('outer', { cause });
    throw Object.assign(error, { field: [1, { a: 2 }], fn() {} });
  },
  async *failing() {
    yield 1;
    yield 2;
    throw new SyntaxError('after two');
  },
  async *tensors() {
    await init({ variant: 'single' });
    yield { ok: 1 };
    yield { x: ones([2]) };
  },
  async *functions() {
    yield 1;
    yield { fn() {} };
    yield 3;
  },
  returnsTensor: () => init({ variant: 'single' }).then(() => ones([1])),
  async *waits(_, { signal }) {
    yield 'waiting';
    await new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
  die: () => exit(),
  uncaught: () => {
    setTimeout(() => {
      throw new Error('nobody caught this');
    });
    return 'soon';
  },
  is: () => OmnigradError.is(new OmnigradError('x: y', { op: 'x', code: 'y' })),
  echo: (value) => value,
};
serve(handlers);
