// Data sets: tensors, parts and joins of others, text, CIFAR, CSV, folders.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import * as data from 'omnigrad/data';
import { dice, mutated, withFolder } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const code = (run, expected, pattern = /./) =>
  assert.throws(
    run,
    (error) => og.OmnigradError.is(error) && error.code === expected && pattern.test(error.message),
  );
const list = { length: 5, get: (i) => i * 10 };

test('rows of tensors', () => {
  const set = new data.TensorDataset(og.arange(6).reshape([3, 2]), og.tensor([5n, 6n, 7n]));
  assert.equal(set.length, 3);
  assert.deepEqual(
    set.get(1).map((x) => x.tolist()),
    [[2, 3], 6],
  );
  assert.deepEqual(set.batch([2, 0]).map((x) => x.tolist()), [[[4, 5], [0, 1]], [7, 5]]); // prettier-ignore
  code(() => set.get(3), 'index', /TensorDataset: there is no sample 3; they are 0 to 2/);
  code(() => set.batch([-1]), 'index');
  code(() => new data.TensorDataset(), 'argument');
  code(() => new data.TensorDataset(og.ones([2]), og.ones([3])), 'shape', /\[2\], \[3\]/);
  code(() => new data.TensorDataset(og.tensor(1)), 'shape');
  code(() => new data.TensorDataset([1]), 'argument');
});

test('parts and joins', () => {
  const part = new data.Subset(list, [4, 0, 4]);
  assert.deepEqual([part.length, part.get(0), part.get(1), part.batch], [3, 40, 0, undefined]);
  const tensors = new data.TensorDataset(og.arange(5));
  assert.deepEqual(new data.Subset(tensors, [4, 1]).batch([1, 0])[0].tolist(), [1, 4]);
  const all = new data.ConcatDataset([list, part, list]);
  assert.deepEqual([all.length, ...[0, 4, 5, 7, 8, 12].map((i) => all.get(i))], [13, 0, 40, 40, 40, 0, 40]);
  code(() => part.get(3), 'index');
  code(() => new data.Subset(list, [5]), 'index');
  code(() => new data.Subset(5, [5]), 'argument', /length, and get\(index\) or batch/);
  code(() => new data.ConcatDataset(5), 'argument');
  code(() => new data.ConcatDataset([{ length: 1, batch() {} }]), 'argument', /data set 0 has no get/);
});

test('random splits: whole, apart, and the same for a seed', () => {
  const set = { length: 10, get: (i) => i };
  const samples = (parts) => parts.map((part) => Array.from({ length: part.length }, (_, i) => part.get(i)));
  const parts = samples(data.randomSplit(set, [7, 3], { seed: 1 }));
  assert.deepEqual(
    parts.map(({ length }) => length),
    [7, 3],
  );
  assert.deepEqual(
    parts.flat().sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.deepEqual(samples(data.randomSplit(set, [7, 3], { seed: 1 })), parts);
  assert.notDeepEqual(samples(data.randomSplit(set, [7, 3], { seed: 2 })), parts);
  assert.deepEqual(
    data.randomSplit(set, [0.55, 0.45]).map(({ length }) => length),
    [6, 4],
  );
  code(() => data.randomSplit(set, [7, 4]), 'option', /sum to 10/);
  code(() => data.randomSplit(set, [-1, 11]), 'option');
});

test('collate: tensors, numbers, texts, lists, records; what differs is told', () => {
  const batch = data.collate([
    { x: og.tensor([1, 2]), n: 0.5, b: true, i: 1n, s: 'a', f: Float64Array.of(1), l: [1, 'x'] },
    { x: og.tensor([3, 4]), n: 1.5, b: false, i: 2n, s: 'b', f: Float64Array.of(2), l: [2, 'y'] },
  ]);
  const told = (x) => [x.dtype, x.tolist()];
  assert.deepEqual(told(batch.x), ['float32', [[1, 2], [3, 4]]]); // prettier-ignore
  assert.deepEqual(told(batch.n), ['float32', [0.5, 1.5]]);
  assert.deepEqual(told(batch.b), ['bool', [true, false]]);
  assert.deepEqual(told(batch.i), ['int64', [1, 2]]);
  assert.deepEqual(told(batch.f), ['float64', [[1], [2]]]);
  assert.deepEqual([batch.s, batch.l[1]], [['a', 'b'], ['x', 'y']]); // prettier-ignore
  assert.deepEqual(told(batch.l[0]), ['float32', [1, 2]]);
  code(() => data.collate([1, 'a']), 'argument', /a sample is 1, another 'a'/);
  code(() => data.collate([[1], [1, 2]]), 'shape', /other entries/);
  code(() => data.collate([{ a: 1 }, { b: 1 }]), 'shape');
  code(() => data.collate([new Map()]), 'argument', /collate/);
  code(
    () => data.collate([{ a: [Float32Array.of(1)] }, { a: [Float32Array.of(1, 2)] }]),
    'shape',
    /sample\.a\[0\]/,
  );
  assert.throws(
    () => data.collate([og.ones([1]), og.ones([2])]),
    (error) => error.code === 'shape',
  );
});

test('characters and windows of text', () => {
  const tokenizer = data.CharTokenizer.from('hello 😀');
  assert.deepEqual(tokenizer.chars, [' ', 'e', 'h', 'l', 'o', '😀']);
  assert.deepEqual([...tokenizer.encode('hole😀')], [2, 4, 3, 1, 5]);
  assert.equal(tokenizer.decode(tokenizer.encode('hello 😀')), 'hello 😀');
  assert.equal(tokenizer.decode(og.tensor([2n, 1n])), 'he');
  assert.equal(new data.CharTokenizer(tokenizer.chars).size, 6);
  code(() => tokenizer.encode('hex'), 'argument', /"x" at 2/);
  code(() => tokenizer.decode([6]), 'index');
  code(() => new data.CharTokenizer('aa'), 'argument');

  const set = new data.SequenceDataset(Int32Array.of(0, 1, 2, 3, 4, 5, 6), { length: 3 });
  assert.equal(set.length, 2);
  assert.deepEqual(set.batch([1, 0]).map((x) => x.tolist()), [[[3, 4, 5], [0, 1, 2]], [[4, 5, 6], [1, 2, 3]]]); // prettier-ignore
  assert.deepEqual(set.get(0).map((x) => [x.dtype, x.tolist()]), [['int64', [0, 1, 2]], ['int64', [1, 2, 3]]]); // prettier-ignore
  assert.equal(new data.SequenceDataset([0, 1, 2, 3, 4, 5, 6], { length: 3, stride: 1 }).length, 4);
  code(() => new data.SequenceDataset([0, 1, 2], { length: 3 }), 'shape', /needs 4/);
  code(() => set.batch([2]), 'index');
});

test('CIFAR records', () =>
  withFolder(async (folder) => {
    const record = (label, value) => [
      ...label,
      ...Array(1024).fill(value),
      ...Array(1024).fill(1),
      ...Array(1024).fill(2),
    ];
    writeFileSync(join(folder, 'test_batch.bin'), Uint8Array.from([...record([3], 9), ...record([7], 8)]));
    const set = await data.cifar('test', { source: folder });
    const [x, y] = set.batch([1, 0]);
    assert.deepEqual([set.length, x.shape, x.dtype, y.tolist()], [2, [2, 3, 32, 32], 'uint8', [7, 3]]);
    assert.deepEqual(
      [0, 1, 2].map((c) => x.at(0, c, 31, 31).item()),
      [8, 1, 2],
    );
    assert.deepEqual(
      set.get(0).map((t) => [...t.shape]),
      [[3, 32, 32], []],
    );
    const hundred = new data.CifarDataset(Uint8Array.from(record([19, 99], 5)), 100);
    assert.equal(hundred.get(0)[1].item(), 99);
    code(() => new data.CifarDataset(Uint8Array.from(record([10], 5))), 'format', /byte 0: label 10/);
    code(() => new data.CifarDataset(new Uint8Array(3072)), 'format', /no multiple of 3073/);
    await assert.rejects(data.cifar('train', { source: folder }), (error) => error.code === 'not-found');
  }));

test('pictures in folders, a folder a class', () =>
  withFolder(async (folder) => {
    for (const [name, value] of Object.entries({ dog: 7, cat: 9 })) {
      mkdirSync(join(folder, name));
      for (const i of [2, 1]) {
        const png = data.encodePng(og.full([3, 2, 2], value + i, { dtype: 'uint8' }));
        writeFileSync(join(folder, name, `${i}.png`), png);
      }
    }
    writeFileSync(join(folder, 'dog/readme.txt'), 'none');
    writeFileSync(join(folder, 'cat/3.png'), 'none');
    const set = await data.imageFolder(folder, { extensions: /[12]\.png$/ });
    assert.deepEqual([set.classes, set.length], [['cat', 'dog'], 4]); // prettier-ignore
    const batches = [];
    for await (const [x, y] of new data.DataLoader(set, { batchSize: 3, prefetch: 2 }))
      batches.push([x.dtype, [...x.shape], x.at(':', 0, 0, 0).tolist(), y.tolist()]);
    assert.deepEqual(batches, [
      ['uint8', [3, 3, 2, 2], [10, 11, 8], [0, 0, 1]],
      ['uint8', [1, 3, 2, 2], [9], [1]],
    ]);
    const all = await data.imageFolder(folder);
    await assert.rejects(
      all.get(2),
      (error) => error.code === 'format' && /cat\/3\.png, byte 0/.test(error.message),
    );
    await assert.rejects(data.imageFolder(join(folder, 'dog')), /no picture/);
    await assert.rejects(data.imageFolder(join(folder, 'none')), (error) => error.code === 'not-found');
  }));

test('CSV: names, types, quotes, line ends, other delimiters', async () => {
  const text = '\ufeffid,name,"a ""b"""\r\n1,"x, y",2.5\r\n\r\n2,"two\nlines",-1e3\n';
  const table = data.parseCsv(text);
  assert.deepEqual(table.columns, ['id', 'name', 'a "b"']);
  assert.deepEqual(table.rows, [
    { id: 1, name: 'x, y', 'a "b"': 2.5 },
    { id: 2, name: 'two\nlines', 'a "b"': -1000 },
  ]);
  assert.deepEqual(table.tensor(['id', 'a "b"']).tolist(), [[1, 2.5], [2, -1000]]); // prettier-ignore
  assert.equal(table.tensor('id', { dtype: 'int32' }).dtype, 'int32');
  code(() => table.tensor('name'), 'dtype', /'name' has texts/);
  code(() => table.column('nothing'), 'argument', /there are id, name/);
  const plain = data.parseCsv('1;a;\n2;b;3', {
    header: false,
    delimiter: ';',
    dtypes: { 0: 'int64', 1: 'text', 2: 'float32' },
  });
  assert.deepEqual(plain.rows, [{ 0: 1, 1: 'a', 2: NaN }, { 0: 2, 1: 'b', 2: 3 }]); // prettier-ignore
  assert.equal(plain.tensor('0').dtype, 'int64');
  assert.deepEqual(
    data
      .parseCsv('a\ntrue\n0\n', { dtypes: { a: 'bool' } })
      .tensor('a')
      .tolist(),
    [true, false],
  );
  assert.deepEqual(data.parseCsv('a\n-inf\nNaN').column('a'), [-Infinity, NaN]);
  assert.deepEqual((await data.readCsv(new Blob(['a\n1']))).column('a'), [1]);
  assert.deepEqual([data.parseCsv('').length, data.parseCsv('a,b').length], [0, 0]);
});

test('CSV: what is wrong is told with its line', () => {
  const bad = (text, pattern, options) => code(() => data.parseCsv(text, options), 'format', pattern);
  bad('a,b\n1,2\n3\n', /the text, line 3: 1 fields; the first row has 2/);
  bad('a\n"b\nc"\nd"e', /line 4: a quote within/);
  bad('a\n"b', /line 2: the file ends within quotes/);
  bad('a\n"b"c', /line 2: 'c' behind the quote/);
  bad('a,a\n', /line 1: column 'a' is there twice/);
  bad('a\n1\nx', /line 3: column 'a' has 'x'; it must be a number of float64/);
  bad('a\n0x10', /has '0x10'/, { dtypes: { a: 'int32' } });
  bad('a\n256', /has '256'; it must be a number of uint8/, { dtypes: { a: 'uint8' } });
  bad('a\n1.5', /has '1.5'/, { dtypes: { a: 'int64' } });
  bad('a\nmaybe', /bool is true/, { dtypes: { a: 'bool' } });
  bad('a\n1', /no column 'b'/, { dtypes: { b: 'bool' } });
  code(() => data.parseCsv('a', { delimiter: ';;' }), 'option');
  code(() => data.parseCsv('a', { dtypes: { a: 'complex' } }), 'option');
  code(() => data.parseCsv(5), 'argument');
});

test('CSV: however the file is cut into pieces, its rows are the same', async () => {
  const text = 'a,b\r\n1,"x\r\n""y"""\r\n2,"größe 😀"\r\n3,\r\n';
  const rows = data.parseCsv(text).rows;
  assert.equal(rows.length, 3);
  const bytes = new TextEncoder().encode(text);
  const roll = dice(3);
  for (let round = 0; round < 50; round++) {
    const pieces = [];
    for (let at = 0; at < bytes.length;) pieces.push(bytes.subarray(at, (at += 1 + roll(9))));
    const stream = new ReadableStream({
      pull: (control) => (pieces.length > 0 ? control.enqueue(pieces.shift()) : control.close()),
    });
    const read = [];
    for await (const row of data.csvRows(stream)) read.push(row);
    assert.deepEqual(read, rows);
  }
});

test('CSV: 2000 damaged files are read, or refused with their line', () => {
  const bytes = new TextEncoder().encode('a,b,"c ""d"""\r\n1,"x, y",2.5\r\n\r\n2,"two\nlines",-1e3\n');
  const roll = dice(21);
  let refused = 0;
  for (let i = 0; i < 2000; i++) {
    const text = new TextDecoder().decode(mutated(bytes, roll));
    try {
      const { rows, columns } = data.parseCsv(text);
      for (const row of rows) assert.deepEqual(Object.keys(row).length, columns.length);
    } catch (error) {
      assert.ok(og.OmnigradError.is(error) && error.code === 'format', `case ${i}: ${error?.stack}`);
      assert.match(error.message, /^parseCsv: the text, line \d+: /);
      refused++;
    }
  }
  assert.ok(refused > 500, String(refused));
});
