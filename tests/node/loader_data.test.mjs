// The loader: order, prefetch, streams, samplers, who frees what, and going on where it was left.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { DataLoader, RandomSampler, SubsetRandomSampler, TensorDataset, WeightedRandomSampler, csvRows, shuffled } from 'omnigrad/data'; // prettier-ignore
import { withFolder } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const code = (run, expected) =>
  assert.throws(run, (error) => og.OmnigradError.is(error) && error.code === expected);
async function all(loader, most = Infinity) {
  const rows = [];
  for await (const batch of loader) {
    rows.push(og.scope(() => String(batch?.tolist?.() ?? batch)));
    if (rows.length >= most) break;
  }
  return rows;
}
const tensors = (n) => new TensorDataset(og.arange(n));
const first = ([x]) => x.mul(1);

test('samples of every kind of data set', async () => {
  const options = { batchSize: 2 };
  const expected = ['0,1', '2'];
  assert.deepEqual(await all(new DataLoader([0, 1, 2], options)), expected);
  assert.deepEqual(await all(new DataLoader({ length: 3, get: (i) => i }, options)), expected);
  assert.deepEqual(await all(new DataLoader({ length: 3, get: async (i) => i }, options)), expected);
  assert.deepEqual(await all(new DataLoader({ length: 3, batch: (i) => og.tensor(i) }, options)), expected);
  assert.deepEqual(
    await all(new DataLoader({ length: 3, batch: async (i) => og.tensor(i) }, options)),
    expected,
  );
  assert.deepEqual(await all(new DataLoader(new Set([0, 1, 2]), options)), expected);
  const stream = { async *[Symbol.asyncIterator]() { for (const i of [0, 1, 2]) yield i; } }; // prettier-ignore
  assert.deepEqual(await all(new DataLoader(stream, options)), expected);
  assert.deepEqual(await all(new DataLoader(stream, { ...options, dropLast: true })), ['0,1']);
  assert.ok(Number.isNaN(new DataLoader(stream).length));
  assert.deepEqual(await all(new DataLoader(tensors(3), { ...options, transform: first })), expected);
  // collate wins over a data set's own batches.
  const lists = new DataLoader(tensors(3), { batchSize: 2, collate: (samples) => samples.length });
  assert.deepEqual(await all(lists), ['2', '1']);
});

test('bad sources and options are refused', async () => {
  code(() => new DataLoader(5), 'argument');
  code(() => new DataLoader({ length: 3 }), 'argument');
  code(() => new DataLoader([1], { nonsense: 1 }), 'option');
  code(() => new DataLoader([1], { prefetch: -1 }), 'option');
  code(() => new DataLoader([1], { sampler: {} }), 'option');
  code(() => new DataLoader(new Set([1]), { shuffle: true }), 'option');
  code(() => new DataLoader([1], { shuffle: true, sampler: new RandomSampler(1) }), 'option');
  await assert.rejects(all(new DataLoader([1], { sampler: { length: 1, order: () => [1] } })), /no sample 1/);
  code(() => new RandomSampler(3, { numSamples: 4 }), 'option');
  code(() => new WeightedRandomSampler([0, 0], 1), 'argument');
  code(() => new WeightedRandomSampler([1, NaN], 1), 'argument');
  code(() => new WeightedRandomSampler([1, 0], 2, { replacement: false }), 'option');
  code(() => new SubsetRandomSampler([0.5]), 'argument');
  code(() => shuffled([1], {}), 'option');
  code(() => shuffled(5, { bufferSize: 2 }), 'argument');
  code(() => new DataLoader([1]).loadStateDict({ epoch: 1 }), 'option');
});

test('prefetch fetches ahead, in order, and no further', async () => {
  let [running, most, asked] = [0, 0, 0];
  const set = {
    length: 8,
    async get(i) {
      asked++;
      most = Math.max(most, ++running);
      await later(8 - i);
      running--;
      return i;
    },
  };
  assert.deepEqual(await all(new DataLoader(set, { batchSize: 2, prefetch: 2 })), [
    '0,1',
    '2,3',
    '4,5',
    '6,7',
  ]);
  assert.equal(most, 6);
  asked = 0;
  await all(new DataLoader(set, { batchSize: 2, prefetch: 1 }), 1);
  assert.equal(asked, 4);
  await later(20);
});

test('an error of the data set comes when its batch does, and frees what was fetched', async () => {
  const before = og.memory().tensors;
  const set = { length: 4, get: (i) => (i === 3 ? Promise.reject(new Error('damaged')) : og.tensor([i])) };
  const seen = [];
  await assert.rejects(async () => {
    for await (const batch of new DataLoader(set, { prefetch: 3 })) seen.push(batch.item());
  }, /damaged/);
  assert.deepEqual(seen, [0, 1, 2]);
  og.zeros([1]).dispose();
  assert.equal(og.memory().tensors, before);
});

test('of what a loader makes, one batch lives, and nothing once it is left', async () => {
  const own = og.keep(og.arange(12).reshape([6, 2]));
  // What is made after an await is in no scope but one's own.
  const row = (i) => og.scope(() => own.at(i).clone());
  const sources = {
    sync: { length: 6, get: (i) => own.at(i).mul(2) },
    async: { length: 6, get: async (i) => (await later(1), og.scope(() => own.at(i).mul(2))) },
    batches: {
      length: 6,
      batch: (rows) =>
        own
          .at(og.tensor(Int32Array.from(rows)))
          .mul(2)
          .add(1),
    },
    list: [0, 1, 2, 3, 4, 5].map((i) => og.keep(own.at(i).clone())),
    stream: { *[Symbol.iterator]() { for (let i = 0; i < 6; i++) yield row(i); } }, // prettier-ignore
    buffered: shuffled({ async *[Symbol.asyncIterator]() { for (let i = 0; i < 6; i++) yield row(i); } }, { bufferSize: 3 }), // prettier-ignore
  };
  for (const [name, source] of Object.entries(sources))
    for (const prefetch of [0, 2]) {
      const before = og.memory().tensors;
      let last;
      for await (const batch of new DataLoader(source, {
        batchSize: 2,
        prefetch,
        transform: (x) => x.add(1).mul(1),
      })) {
        assert.deepEqual(batch.shape, [2, 2]);
        if (last)
          assert.throws(
            () => last.shape.length + last.numel + last.item(),
            (error) => error.code === 'disposed',
            name,
          );
        last = batch;
      }
      assert.equal(og.memory().tensors, before, `${name}, prefetch ${prefetch}`);
      for await (const batch of new DataLoader(source, { batchSize: 2, prefetch })) {
        assert.equal(batch.numel, 4);
        break;
      }
      await later(5);
      // What a stream holds back is not the loader's.
      if (name !== 'buffered')
        assert.equal(og.memory().tensors, before, `${name}, prefetch ${prefetch}, left`);
    }
  for (const kept of sources.list) assert.equal(kept.numel, 2);
});

test('samples that last are not freed', async () => {
  const lasting = [og.ones([2]), og.zeros([2])];
  const loader = new DataLoader(lasting, { collate: ([x]) => x });
  for await (const x of loader) assert.equal(x.numel, 2);
  assert.equal(lasting[0].numel, 2);
});

test('samplers: orders, weights, the same for a seed and epoch', async () => {
  const options = (sampler) => ({ batchSize: 100, sampler, seed: 3 });
  const set = { length: 5, get: (i) => i };
  const [once] = await all(new DataLoader(set, options(new RandomSampler(5))));
  assert.deepEqual(once.split(',').sort(), ['0', '1', '2', '3', '4']);
  const [three] = await all(new DataLoader(set, options(new RandomSampler(5, { numSamples: 3 }))));
  assert.equal(new Set(three.split(',')).size, 3);
  const part = new DataLoader(set, options(new SubsetRandomSampler([1, 3])));
  assert.deepEqual((await all(part))[0].split(',').sort(), ['1', '3']);
  const many = new DataLoader(set, {
    ...options(new RandomSampler(5, { replacement: true, numSamples: 1000 })),
    batchSize: 1000,
  });
  assert.equal(new Set((await all(many))[0].split(',')).size, 5);

  const weighted = () =>
    new DataLoader(set, {
      batchSize: 10000,
      sampler: new WeightedRandomSampler([1, 0, 2, 1, 0], 10000),
      seed: 5,
    });
  const loader = weighted();
  const [[a], [b]] = [await all(loader), await all(loader)];
  assert.deepEqual(await all(weighted()), [a]);
  assert.notEqual(a, b);
  const counts = [0, 0, 0, 0, 0];
  for (const i of a.split(',')) counts[i]++;
  assert.deepEqual([counts[1], counts[4]], [0, 0]);
  // Five deviations of a binomial count.
  for (const [i, p] of [[0, 0.25], [2, 0.5], [3, 0.25]]) assert.ok(Math.abs(counts[i] - 1e4 * p) < 5 * Math.sqrt(1e4 * p * (1 - p)), String(counts)); // prettier-ignore
  const apart = new DataLoader(
    set,
    options(new WeightedRandomSampler([1, 0, 2, 1, 0], 3, { replacement: false })),
  );
  assert.deepEqual((await all(apart))[0].split(',').sort(), ['0', '2', '3']);
});

test('transforms draw the same numbers for a seed, epoch and step, prefetched or not', async () => {
  const draws = (options) =>
    all(
      new DataLoader([0, 1, 2, 3], {
        seed: 7,
        ...options,
        transform: (_, { generator }) => og.rand([2], { generator }),
      }),
    );
  const plain = await draws({});
  assert.equal(new Set(plain).size, 4);
  assert.deepEqual(await draws({ prefetch: 3 }), plain);
  assert.notDeepEqual(await draws({ seed: 8 }), plain);
});

const makers = {
  numbers: () => ({ source: { length: 7, get: (i) => i }, options: { shuffle: true } }),
  batches: () => ({ source: { length: 7, batch: (i) => og.tensor(i) }, options: { shuffle: true } }),
  waiting: () => ({ source: { length: 7, get: async (i) => i }, options: { shuffle: true, prefetch: 3 } }),
  weighted: () => ({
    source: [0, 1, 2, 3],
    options: { sampler: new WeightedRandomSampler([1, 2, 3, 4], 7) },
  }),
  stream: () => ({
    source: shuffled(new Set([0, 1, 2, 3, 4, 5, 6]), { bufferSize: 4, seed: 1 }),
    options: { prefetch: 1 },
  }),
};

test('a loader goes on where another was left, in any epoch, with any kind of data', async () => {
  const changed = { transform: (x, { generator }) => x.add(og.rand([1], { generator })) };
  for (const [name, make] of Object.entries(makers)) {
    const loader = () => {
      const { source, options } = make();
      return new DataLoader(source, { batchSize: 2, seed: 4, ...options, ...changed });
    };
    const whole = loader();
    const epochs = [await all(whole), await all(whole), await all(whole)];
    assert.notDeepEqual(epochs[0], epochs[1]);
    for (const [epoch, taken] of [
      [0, 0],
      [0, 1],
      [1, 2],
      [1, 4],
      [2, 3],
    ]) {
      const one = loader();
      for (let i = 0; i < epoch; i++) await all(one);
      if (taken > 0) await all(one, taken);
      const state = JSON.parse(JSON.stringify(one.stateDict()));
      const other = loader();
      other.loadStateDict(state);
      const rest = [...(await all(other)), ...(await all(other))];
      const place = epoch * 4 + taken;
      const expected = [...epochs.flat(), ...(await all(whole))];
      whole.loadStateDict({ epoch: 3, position: 0 });
      const count = taken === 4 ? 4 : 8 - taken;
      // Left right after its last batch, an epoch is over once one goes on.
      assert.deepEqual(
        rest.slice(0, Math.min(count, 12 - place)),
        expected.slice(place, place + Math.min(count, 12 - place)),
        `${name} ${epoch} ${taken}`,
      );
    }
  }
});

test('after a break the next pass is the next epoch', async () => {
  const loader = () => new DataLoader([0, 1, 2, 3, 4, 5], { batchSize: 6, shuffle: true, seed: 2 });
  const [a, b] = [loader(), loader()];
  await all(a);
  const [second] = await all(a);
  await all(b, 1);
  assert.deepEqual(b.stateDict(), { epoch: 0, position: 1 });
  assert.deepEqual(await all(b), [second]);
  assert.deepEqual(b.stateDict(), { epoch: 2, position: 0 });
});

test('a file larger than a chunk, read as a stream: every row once, in another order each epoch', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'rows.csv');
    const count = 20000;
    writeFileSync(path, `a,b\n${Array.from({ length: count }, (_, i) => `${i},${2 * i}`).join('\n')}\n`);
    const rows = shuffled(csvRows(path), { bufferSize: 256, seed: 1 });
    const loader = new DataLoader(rows, { batchSize: 1000 });
    const epochs = [];
    for (let epoch = 0; epoch < 2; epoch++) {
      const seen = [];
      for await (const { a, b } of loader) {
        seen.push(...a.tolist());
        assert.equal(b.at(0).item(), 2 * a.at(0).item());
      }
      epochs.push(seen);
    }
    assert.notDeepEqual(epochs[0], epochs[1]);
    const sorted = Array.from({ length: count }, (_, i) => i);
    for (const seen of epochs)
      assert.deepEqual(
        [...seen].sort((a, b) => a - b),
        sorted,
      );
  }));
