// What lives on, and what a program is told that lets too much live.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as og from 'omnigrad';
import { DataLoader } from 'omnigrad/data';

await og.init({ variant: 'single' });

const pairs = {
  length: 3,
  batch: (numbers) => ({ x: og.tensor(numbers), parts: [og.tensor(numbers)] }),
};

test('a loader frees each batch, except what was kept', async () => {
  const [kept, freed] = [[], []];
  for await (const { x, parts } of new DataLoader(pairs)) {
    kept.push(og.keep(x));
    freed.push(parts[0]);
  }
  assert.deepEqual(kept.map(String), ['tensor([0])', 'tensor([1])', 'tensor([2])']);
  assert.deepEqual(freed.map(String), new Array(3).fill('tensor(disposed)'));
});

test('keep takes whole batches', async () => {
  const kept = [];
  for await (const batch of new DataLoader(pairs)) kept.push(og.keep(batch));
  assert.equal(String(kept[1].parts[0]), 'tensor([1])');
  assert.throws(() => og.keep(3), /^OmnigradError: keep: .*got 3/);
});

test('a loader leaves alone what the data set keeps', async () => {
  const all = og.keep(og.tensor([1, 2]));
  for await (const x of new DataLoader({ length: 1, batch: () => all })) assert.equal(x, all);
  assert.equal(all.numel, 2);
});

test('a batch asked for within an open scope is still the loader’s', async () => {
  const open = og.openScope();
  let kept;
  for await (const { x } of new DataLoader(pairs)) kept ??= og.keep(x);
  open.dispose();
  assert.equal(kept.item(), 0);
});

test('promises are refused where the work would go on without its mode', async () => {
  for (const run of [og.noGrad, og.enableGrad, og.detectAnomaly, og.scope]) {
    assert.throws(() => run(async () => og.zeros([1])), { code: 'async', op: run.name });
  }
});

test('a loop that forgets is warned once, with the line to write', () => {
  const said = [];
  const { warn } = console;
  console.warn = (text) => said.push(text);
  try {
    og.scope(() => {
      for (let i = 0; i < 20000; i++) og.zeros([1]);
    });
    assert.deepEqual(said, []);
    const mine = [];
    for (let i = 0; i < 20000; i++) mine.push(og.zeros([1]));
    assert.equal(said.length, 1);
    assert.match(said[0], /^omnigrad: 10000 tensors .*scope\(\(\) => .*minimize/);
    assert.throws(() => og.zeros([2 ** 30, 16]), { code: 'memory', message: /outside any scope.*scope\(/ });
    for (const x of mine) x.dispose();
    assert.throws(
      () => og.zeros([2 ** 30, 16]),
      (error) => !error.message.includes('scope('),
    );
  } finally {
    console.warn = warn;
  }
});
