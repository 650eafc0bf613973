// profile: every call is there, times and bytes add up, and what it writes can be read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conv, customGrad, init, ones, randn, scope, terminate } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import { SGD } from 'omnigrad/optim';
import { profile, startProfile } from 'omnigrad/train';

await init({ variant: 'threads', threads: 2 });

const named = (costs, name) => costs.find((cost) => cost.name === name);

test('calls and bytes of a forward pass', () => {
  const x = randn([1, 2, 8, 8]);
  const w = randn([4, 2, 3, 3]);
  const measured = profile(() =>
    scope(() => {
      for (let i = 0; i < 3; i++) conv(x, w, { padding: 1 });
      return conv(x, w).relu().sum().item();
    }),
  );
  assert.equal(typeof measured.result, 'number');
  const { ops } = measured;
  assert.equal(named(ops, 'conv').calls, 4);
  assert.equal(named(ops, 'conv').bytes, 4 * 4 * (3 * 64 + 36));
  assert.equal(named(ops, 'relu').calls, 1);
  assert.equal(named(ops, 'sum').bytes, 4);
  assert.ok(ops.every(({ ms }) => ms >= 0));
  assert.ok(ops.reduce((sum, { ms }) => sum + ms, 0) <= measured.ms * 1.01 + 0.1);
  assert.deepEqual(
    [...ops].sort((a, b) => b.ms - a.ms),
    ops,
  );
});

test('a training step: backward passes by the op they go through, and what is inside of them', () => {
  const net = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), new nn.Linear(8, 1));
  const optimizer = new SGD(net.parameters(), { lr: 0.1 });
  const x = randn([16, 4]);
  const { ops, inner } = profile(() => optimizer.minimize(() => net.call(x).square().mean()));
  assert.equal(named(ops, 'linear').calls, 2);
  assert.equal(named(ops, 'linear backward').calls, 2);
  assert.equal(named(ops, 'relu backward').calls, 1);
  // The products of a backward pass are within its steps.
  const products = inner.filter(({ name }) => /matmul|linear/i.test(name) && !name.endsWith('backward'));
  assert.ok(products.reduce((sum, { calls }) => sum + calls, 0) > 2);
  const total = (costs, key) => costs.reduce((sum, cost) => sum + cost[key], 0);
  assert.ok(Math.abs(total(ops, 'ms') - total(inner, 'ms')) < 1e-6);
  assert.equal(total(ops, 'bytes'), total(inner, 'bytes'));
});

test('a table and a trace', () => {
  const measured = profile(() =>
    scope(() => {
      const x = ones([100]);
      x.requiresGrad = true;
      x.exp().mul(2).sum().backward();
    }),
  );
  const rows = measured.table().split('\n');
  assert.match(rows[0], /^op +calls +ms +share +us a call +MB made$/);
  assert.match(rows.at(-1), /^all +\d+ +[\d.]+ +100\.0 %/);
  assert.ok(rows.some((row) => /^exp backward +1 /.test(row)));
  assert.match(measured.table({ rows: 2 }), /\n\d+ others +\d+/);
  assert.match(measured.table({ inner: true }), /\nmul +3 /);
  assert.equal(String(measured), measured.table());

  const { traceEvents } = JSON.parse(measured.trace());
  const calls = traceEvents.filter(({ ph }) => ph === 'X');
  const find = (name) => calls.find((event) => event.name === name);
  assert.deepEqual(Object.keys(find('exp')).sort(), ['args', 'cat', 'dur', 'name', 'ph', 'pid', 'tid', 'ts']);
  assert.equal(find('exp backward').cat, 'backward');
  assert.equal(find('exp').args.bytes, 400);
  assert.ok(calls.every(({ ts, dur }) => ts >= 0 && dur >= 0));
});

test('around code that awaits; one at a time; errors end it', async () => {
  const profiling = startProfile();
  assert.throws(() => startProfile(), { code: 'state' });
  scope(() => ones([2]).neg());
  await new Promise(setImmediate);
  scope(() => ones([2]).abs());
  const measured = profiling.stop();
  assert.equal(profiling.stop(), measured);
  assert.deepEqual(
    measured.ops
      .map(({ name }) => name)
      .filter((name) => name !== 'full')
      .sort(),
    ['abs', 'neg'],
  );
  scope(() => ones([2]).neg());

  assert.throws(() => profile(() => { throw new Error('mine'); }), /mine/); // prettier-ignore
  assert.throws(() => profile(async () => 1), /use startProfile\(\)/);
  assert.throws(() => profile(5), /fn is 5; it must be a function/);
  assert.equal(profile(() => 7).result, 7);
  assert.deepEqual(profile(() => 7).ops, []);
});

test("gradients of one's own are named so", () => {
  const twice = customGrad(
    (x) => x.mul(2),
    (g) => [g.mul(2)],
  );
  const { ops } = profile(() =>
    scope(() => {
      const x = ones([3]);
      x.requiresGrad = true;
      twice(x).sum().backward();
    }),
  );
  assert.ok(named(ops, 'customGrad backward'));
});

test('a module that was started again can be profiled again', async () => {
  startProfile();
  terminate();
  await init({ variant: 'single' });
  assert.equal(named(profile(() => scope(() => ones([2]).neg())).ops, 'neg').calls, 1);
});
