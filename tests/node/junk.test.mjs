// Everything that the package exports, called with what nobody should give it: each call returns, or throws an
// OmnigradError; none hangs, none breaks the module. Seeded: OMNIGRAD_SEED; OMNIGRAD_CALLS says how often each is called.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import * as og from 'omnigrad';
import * as data from 'omnigrad/data';
import * as io from 'omnigrad/io';
import * as metrics from 'omnigrad/metrics';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import * as train from 'omnigrad/train';

const calls = Number(process.env.OMNIGRAD_CALLS ?? 15);
const here = process.cwd();
const folder = mkdtempSync(join(tmpdir(), 'omnigrad-')); // some of them write files
before(async () => {
  await og.init({ variant: 'single', maxMemory: 2 ** 28 });
  process.chdir(folder);
});
after(() => {
  process.chdir(here);
  rmSync(folder, { recursive: true });
});

// What starts and ends the module; what is abstract, or made by functions only; what is 44 million parameters.
const others = new Set([
  ...['init', 'terminate', 'OmnigradError', 'Tensor', 'Module', 'Optimizer', 'ProgressEvent'],
  'Transformer',
]);

const start = Number(process.env.OMNIGRAD_SEED ?? 1);
let seed = start;
const random = (n) => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * n);
};

class Mine extends Error {}
const mine = () => {
  throw new Mine();
};

/** Things, some of them good. */
let layer;
function things() {
  const dead = og.ones([2]);
  dead.dispose();
  const [x, weight] = [og.randn([2, 3]), og.randn([3, 3], { requiresGrad: true })];
  const index = og.tensor([0, 1], { dtype: 'int64' });
  const circle = [];
  circle.push(circle);
  return [
    ...[undefined, null, true, NaN, -1, 0, 1, 2, 3, 1e300, 2 ** 53, Infinity, 5n, Symbol('s'), '', 'x'],
    ...[[], {}, [NaN], [1, 2], [[1, 2], [3, 4]], [-1], [1e9, 1e9, 1e9], [2 ** 31], circle], // prettier-ignore
    ...[
      () => 1,
      () => x,
      mine,
      async () => 1,
      Promise.resolve(1),
      new Date(0),
      new Map(),
      Object.create(null),
    ],
    ...[new Float32Array(3), new Uint8Array(100), new Proxy({}, { get: mine })],
    ...[{ lr: NaN }, { dim: 7 }, { dtype: 'nope' }, { shape: [1e9, 1e9] }, { size: [1e9] }],
    ...[dead, x, x, x, weight, weight, weight, index, index, og.zeros([0, 3]), [x, x], [x, dead], [x, 3]],
    layer,
  ];
}
const pick = (pool, most) => Array.from({ length: random(most + 1) }, () => pool[random(pool.length)]);

const shown = (value) => {
  if (value instanceof og.Tensor) return 'a tensor';
  return typeof value === 'object' || typeof value === 'function' ? typeof value : String(value);
};

async function callsOf(name, fn) {
  // Its own: the same calls, whatever else there is.
  seed = [...name].reduce((sum, char) => (Math.imul(sum, 31) + char.charCodeAt(0)) >>> 0, start);
  const made = [];
  const wrong = [];
  const note = (args, error) => {
    if (!og.OmnigradError.is(error) && !(error instanceof Mine))
      wrong.push(`${name}(${args.map(shown).join(', ')}): ${error?.stack ?? error}`);
  };
  const isClass = /^class/.test(Function.prototype.toString.call(fn));
  for (let i = 0; i < calls; i++) {
    og.scope(() => {
      layer = new nn.Linear(3, 3);
      const pool = things();
      const args = pick(pool, 3);
      try {
        const result = isClass ? new fn(...args) : fn(...args);
        if (typeof result?.then === 'function') {
          result.then(undefined, () => undefined); // asked for below
          made.push([args, result]);
        }
        if (!(isClass && result instanceof nn.Module)) return;
        const inputs = pick(pool, 2);
        try {
          result.call(...inputs);
        } catch (error) {
          note([...args, 'then', ...inputs], error);
        }
        result.dispose();
      } catch (error) {
        note(args, error);
      }
      layer.dispose();
    });
  }
  for (const [args, promise] of made) {
    const late = new Promise((_, reject) => setTimeout(reject, 10000, new Error('has not ended')).unref());
    await Promise.race([promise, late]).catch((error) => note(args, error));
  }
  return wrong;
}

for (const [entry, lib] of Object.entries({ og, nn, init: nn.init, optim, data, io, metrics, train })) {
  test(`${entry}: junk is refused, or does no harm`, async (t) => {
    t.mock.method(console, 'warn', () => {});
    const wrong = [];
    for (const [name, fn] of Object.entries(lib))
      if (typeof fn === 'function' && !others.has(name))
        wrong.push(...(await callsOf(`${entry}.${name}`, fn)));
    assert.deepEqual(wrong, []);
    assert.deepEqual(og.ones([2]).add(1).tolist(), [2, 2]);
  });
}
