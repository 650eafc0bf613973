// Memory over long loops: as many live bytes after many steps as after few, whatever the optimizer; a heap as it was
// after small tensors by the million. (Layers, one by one, are nn_layers.test.mjs'; the warning is ownership.test.mjs'.)
// OMNIGRAD_STEPS runs longer loops: 10 000 steps are what is promised.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { init, manualSeed, memory, ones, openScope, randn, scope } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

const steps = Number(process.env.OMNIGRAD_STEPS ?? 100);
const tensors = Number(process.env.OMNIGRAD_TENSORS ?? 5000000);

await init({ variant: 'single' });
manualSeed(1);

const held = () => {
  const { tensors: count, liveBytes } = memory();
  return { count, liveBytes };
};

const classes = Object.entries(optim).filter(
  ([, value]) => typeof value === 'function' && value.prototype instanceof optim.Optimizer,
);

for (const [name, Optimizer] of classes) {
  test(`${name}: what a loop with minimize holds does not grow`, () => {
    const net = new nn.Sequential(new nn.Linear(4, 6), new nn.Tanh(), new nn.Linear(6, 2));
    // Muon is for matrices.
    const params = net.parameters().filter((p) => name !== 'Muon' || p.ndim === 2);
    const optimizer = new Optimizer(params, { lr: 1e-3 });
    const loss = () =>
      net
        .call(randn([8, 4]))
        .square()
        .mean();
    const step = () =>
      name === 'LBFGS'
        ? scope(() =>
            optimizer.step(() => {
              optimizer.zeroGrad();
              const value = loss();
              value.backward();
              return value;
            }),
          )
        : optimizer.minimize(loss, { clipNorm: 1 });
    // LBFGS fills its history first.
    for (let i = 0; i < 10; i++) step();
    const before = held();
    for (let i = 0; i < steps; i++) step();
    assert.deepEqual(held(), before);
    optimizer.dispose();
    net.dispose();
  });
}

test('every optimizer was there', () => assert.ok(classes.length >= 12));

test(`${tensors} small tensors in scopes leave the heap as it was`, () => {
  const x = ones([3]);
  const each = 1000;
  const body = () =>
    scope(() => {
      for (let i = 0; i < each / 2; i++) x.add(i).mul(2);
    });
  body();
  const before = memory();
  for (let i = 0; i < tensors / each; i++) body();
  const after = memory();
  assert.deepEqual(
    [after.tensors, after.liveBytes, after.heapBytes, after.cachedBytes],
    [before.tensors, before.liveBytes, before.heapBytes, before.cachedBytes],
  );
  x.dispose();
});

test('scopes within scopes, and scopes over awaits', async () => {
  const x = ones([64]);
  const body = async () => {
    const outer = openScope();
    try {
      const kept = scope(() => x.add(1).mul(scope(() => x.sum())));
      await undefined;
      return kept.sum().item();
    } finally {
      outer.dispose();
    }
  };
  await body();
  const before = held();
  for (let i = 0; i < steps; i++) assert.equal(await body(), 64 * 128);
  assert.deepEqual(held(), before);
  x.dispose();
});

test('graphs that are never walked, and those that are walked twice, are freed', () => {
  const w = randn([8, 8], { requiresGrad: true });
  const body = () =>
    scope(() => {
      const y = w.matmul(w).tanh().sum();
      y.backward(null, { retainGraph: true });
      y.backward();
      w.matmul(w).exp();
      w.grad = null;
    });
  body();
  const before = held();
  for (let i = 0; i < steps; i++) body();
  assert.deepEqual(held(), before);
  w.dispose();
});
