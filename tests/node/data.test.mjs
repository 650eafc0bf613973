// Data: the IDX format, the real MNIST files, batches and who frees them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as og from 'omnigrad';
import { DataLoader, decodeIdx, mnist, parseIdx } from 'omnigrad/data';
import { fuzz, refuses } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const idx = (shape, values) =>
  Uint8Array.of(0, 0, 8, shape.length, ...shape.flatMap((n) => [0, 0, 0, n]), ...values);

test('IDX files are read, and refused when they are none or cut short', () => {
  assert.deepEqual(parseIdx(idx([2, 2], [1, 2, 3, 4])).shape, [2, 2]);
  const bad = (bytes, pattern) => refuses(parseIdx, bytes, pattern);
  bad(Uint8Array.of(), /byte 0: the file ends within the magic number/);
  bad(Uint8Array.of(0, 0, 9, 1, 0, 0, 0, 0), /byte 2: the elements are I8/);
  bad(Uint8Array.of(0, 0, 7, 1, 0, 0, 0, 0), /byte 0: no IDX file/);
  bad(idx([2], [1]), /byte 8: the header says \[2\], 2 bytes, but 1 follow/);
  bad(idx([3], []).subarray(0, 6), /byte 4: the file ends within the sizes/);
  bad(Uint8Array.of(0, 0, 8, 4, ...Array(16).fill(255)), /Infinity bytes/);
  fuzz(parseIdx, idx([2, 2], [1, 2, 3, 4]), 1000, 13);
});

test('IDX files of every kind become tensors', () => {
  const file = (type, ...bytes) => Uint8Array.of(0, 0, type, 1, 0, 0, 0, 2, ...bytes);
  const told = (bytes) => [decodeIdx(bytes).dtype, decodeIdx(bytes).tolist()];
  assert.deepEqual(told(file(8, 1, 255)), ['uint8', [1, 255]]);
  assert.deepEqual(told(file(9, 1, 255)), ['int32', [1, -1]]);
  assert.deepEqual(told(file(11, 1, 2, 255, 255)), ['int32', [258, -1]]);
  assert.deepEqual(told(file(12, 0, 0, 1, 0, 255, 255, 255, 254)), ['int32', [256, -2]]);
  assert.deepEqual(told(file(13, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0)), ['float32', [1, -2]]);
  assert.deepEqual(told(file(14, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0)), [
    'float64',
    [1, -2],
  ]);
  fuzz(decodeIdx, file(13, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0), 1000, 14);
});

test('the MNIST test half is what it should be', async () => {
  const data = await mnist('test');
  assert.equal(data.length, 10000);
  const [x, y] = data.batch([0, 1, 2]);
  assert.deepEqual([...x.shape, x.dtype, y.dtype], [3, 1, 28, 28, 'float32', 'int64']);
  assert.deepEqual(y.tolist(), [7, 2, 1]);
  assert.equal(x.at(0, 0, 0, 0).item(), Math.fround(-0.1307 / 0.3081));
});

test('files may be packed with gzip; what is missing is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  try {
    writeFileSync(join(folder, 't10k-images-idx3-ubyte.gz'), gzipSync(idx([1, 2, 2], [0, 1, 2, 255])));
    await assert.rejects(mnist('test', { source: folder }), /t10k-labels-idx1-ubyte is neither/);
    writeFileSync(join(folder, 't10k-labels-idx1-ubyte'), idx([1], [5]));
    const data = await mnist('test', { source: folder });
    assert.deepEqual([data.length, data.batch([0])[1].tolist()], [1, [5]]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const numbers = { length: 10, batch: (indices) => og.tensor(indices) };
async function epoch(loader) {
  const rows = [];
  for await (const batch of loader) rows.push(batch.tolist());
  return rows;
}

test('batches: order, sizes, last one', async () => {
  assert.deepEqual(await epoch(new DataLoader(numbers, { batchSize: 4 })), [
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9],
  ]);
  const loader = new DataLoader(numbers, { batchSize: 4, dropLast: true });
  assert.deepEqual([loader.length, (await epoch(loader)).length], [2, 2]);
});

test('the seed decides the order; each epoch has another', async () => {
  const loader = () => new DataLoader(numbers, { batchSize: 10, shuffle: true, seed: 4 });
  const [a, b] = [loader(), loader()];
  const [first, second] = [await epoch(a), await epoch(a)];
  assert.deepEqual(first, await epoch(b));
  assert.notDeepEqual(first, second);
  assert.deepEqual([...first[0]].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('a batch lives until the next is asked for, through scopes', async () => {
  const batches = [];
  for await (const batch of new DataLoader(numbers, { batchSize: 5 })) {
    og.scope(() => batch.add(1));
    assert.equal(batch.numel, 5);
    batches.push(batch);
  }
  for (const batch of batches)
    assert.throws(
      () => batch.item(),
      (error) => error.code === 'disposed',
    );
});
