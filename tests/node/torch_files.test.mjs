// Files of torch.save: what is in them, and that nothing in them runs.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { zipSync } from 'fflate';
import * as og from 'omnigrad';
import { decodeTorch, load } from 'omnigrad/io';
import * as nn from 'omnigrad/nn';
import { fixture, fuzz, refuses } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const told = (dict) =>
  Object.fromEntries(Object.entries(dict).map(([name, x]) => [name, [x.dtype, x.tolist()]]));

test('every dtype', () => {
  assert.deepEqual(told(decodeTorch(fixture('dtypes.pt'))), {
    float32: ['float32', [[1.5, -2], [3.25, 0]]], // prettier-ignore
    float64: ['float64', [1e300, -0.5]],
    float16: ['float16', [1.5, 65504]],
    bfloat16: ['bfloat16', [1.5, -3]],
    int64: ['int64', [2 ** 40, -1]],
    int32: ['int32', [7, -7]],
    int16: ['int32', [300, -300]],
    int8: ['int32', [-128, 127]],
    uint8: ['uint8', [0, 255]],
    bool: ['bool', [true, false, true]],
    scalar: ['float32', 2.5],
    empty: ['float32', []],
  });
});

test('views of storages: strides, offsets, expanded; a tensor that is there twice is one', () => {
  const views = decodeTorch(fixture('views.pt'));
  const rows = Array.from({ length: 24 }, (_, i) => i);
  assert.deepEqual(views.transposed.shape, [6, 4]);
  assert.deepEqual(views.transposed.at(1).tolist(), [1, 7, 13, 19]);
  assert.deepEqual(views.slice.tolist(), [5, 6, 7, 8]);
  assert.deepEqual(views.strided.tolist(), [[6, 8, 10], [12, 14, 16]]); // prettier-ignore
  assert.deepEqual(views.expanded.tolist(), [[1, 1, 1], [2, 2, 2]]); // prettier-ignore
  assert.deepEqual(views.tied.tolist(), rows);
  assert.equal(views.tied, views.tied_again);
});

test('a state dict fits a module of ours; each protocol is read', () => {
  const layer = new nn.Linear(3, 2);
  const dict = decodeTorch(fixture('module.pt'));
  layer.loadStateDict({ weight: dict['0.weight'], bias: dict['0.bias'] });
  assert.deepEqual(layer.call(og.tensor([[1, 1, 1]])).tolist(), [[4, 14]]);
  assert.equal(dict['1.num_batches_tracked'].dtype, 'int64');
  for (const protocol of [3, 4, 5])
    assert.deepEqual(told(decodeTorch(fixture(`protocol${protocol}.pt`))), told(dict));
});

test('a checkpoint: optimizer, numbers, texts, lists', async () => {
  const { optimizer, ...rest } = await load(new Blob([fixture('checkpoint.pt')]));
  assert.deepEqual(rest, {
    ...{ epoch: 3, best: 0.25, name: 'größe', done: false, none: null, big: 2n ** 70n },
    ...{ list: [1, [2, 3]], shape: [2, 3] },
  });
  assert.equal(optimizer.param_groups[0].lr, 0.01);
  assert.deepEqual(optimizer.state['0'].exp_avg.shape, [2, 3]);
  assert.equal(decodeTorch(fixture('parameter.pt')).p.requiresGrad, true);
});

test('what is no state dict is refused by name', async () => {
  refuses(decodeTorch, fixture('whole_module.pt'), /Python's 'torch\.nn\.modules\.container\.Sequential'/);
  refuses(decodeTorch, fixture('arrays.npz'), /no data\.pkl/);
  await assert.rejects(load(fixture('legacy.pt')), /the bytes, byte 0: a file of PyTorch's old format/);
});

// Pickles by hand: opcodes as text, so that nothing writes them for us that Python would not.
const latin = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const archive = (pickle, files = {}) =>
  zipSync({ 'x/data.pkl': latin(pickle), 'x/data/0': new Uint8Array(8), ...files }, { level: 0 });
const text = (value) => `X${String.fromCharCode(value.length)}\0\0\0${value}`;
const storage = (key = '0', count = 2, type = 'FloatStorage') =>
  `(${text('storage')}ctorch\n${type}\n${text(key)}${text('cpu')}K${String.fromCharCode(count)}tQ`;
const rebuild = (inside) => `\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(${inside}tR.`;
const tensorOf = (start, shape, strides, from = storage()) =>
  rebuild(`${from}K${start}(${shape}t(${strides}t\x89N`);

test('pickles that would run something are refused, and run nothing', () => {
  const bad = (pickle, pattern, files) => refuses(decodeTorch, archive(pickle, files), pattern);
  bad(
    `\x80\x02cos\nsystem\n(${text('touch /tmp/hacked')}tR.`,
    /byte 2: the file wants Python's 'os\.system'/,
  );
  bad(`\x80\x02cbuiltins\neval\n(${text('1')}tR.`, /'builtins\.eval'/);
  bad(`\x80\x04\x8c\x02os\x8c\x06system\x93.`, /byte 14: the file wants Python's 'os\.system'/);
  bad(`\x80\x02c__builtin__\neval\n.`, /'__builtin__\.eval'/);
  bad(`\x80\x02ctorch\nconstructor\n.`, /'torch\.constructor'/);
  bad(`\x80\x02(i__main__\nX\n.`, /opcode 'i'/);
  bad(`\x80\x02ccollections\nOrderedDict\n)\x81.`, /opcode 0x81/);
  bad(`\x80\x02ccollections\nOrderedDict\n(K\x01tR.`, /'collections\.OrderedDict' cannot be called so/);
  bad(`\x80\x02ctorch\nFloatStorage\n)R.`, /cannot be called so/);
  bad(`\x80\x02K\x01)R.`, /no function that was named/);
  bad(`\x80\x02ccollections\nOrderedDict\n.`, /the name 'collections\.OrderedDict' stands where/);
  bad(`\x80\x02Vtext\n.`, /opcode 'V'/);
  bad(`\x80\x09N.`, /protocol 9/);
});

test('tensors that lie about their storage are refused', () => {
  const good = tensorOf('\0', 'K\x02', 'K\x01');
  assert.deepEqual(decodeTorch(archive(good)).tolist(), [0, 0]);
  const bad = (pickle, pattern, files) => refuses(decodeTorch, archive(pickle, files), pattern);
  bad(tensorOf('\0', 'K\x03', 'K\x01'), /shape \[3\], strides \[1\], from 0 goes beyond its storage of 2/);
  bad(tensorOf('\x01', 'K\x02', 'K\x01'), /goes beyond/);
  bad(tensorOf('\0', 'K\x02', 'K\x02'), /goes beyond/);
  bad(tensorOf('\0', 'J\xff\xff\xff\x7f'.repeat(3), 'K\0K\0K\0'), /goes beyond/);
  bad(tensorOf('\0', 'J\xff\xff\xff\x7f', 'K\0'), /repeat their storages/);
  bad(tensorOf('\0', 'J\xff\xff\xff\xff', 'K\0'), /cannot be called so/);
  bad(tensorOf('\0', 'K\x02', 'K\x01K\x01'), /cannot be called so/);
  bad(tensorOf('\0', 'K\x02', 'K\x01', storage('0', 3)), /has 8 bytes; 3 of F32/);
  bad(tensorOf('\0', 'K\x02', 'K\x01', storage('7')), /storage '7' is not in the archive/);
  bad(tensorOf('\0', 'K\x02', 'K\x01', storage('../data.pkl')), /not in the archive/);
  bad(`\x80\x02${storage()}.`, /stands where a tensor/);
  bad(`\x80\x02K\x01Q.`, /no storage/);
});

test('pickles that are nested, circular, cut short or no pickles are refused', () => {
  const bad = (pickle, pattern) => refuses(decodeTorch, archive(pickle), pattern);
  bad('', /ends within the pickle/);
  bad('\x80\x02', /ends within the pickle/);
  bad('.', /no value here/);
  bad('(.', /no value here/);
  bad('t.', /no mark/);
  bad('K\x01s.', /no value here/);
  bad('K\x01K\x02K\x03s.', /what is no dict/);
  bad('}]K\x01s.', /neither a text nor a number/);
  bad('}(K\x01u.', /what is no dict/);
  bad('K\x01K\x02a.', /what is no list/);
  bad('h\x01.', /memo 1 is empty/);
  bad('X\xff\xff\xff\xffabc', /ends within a text: 4294967295 bytes/);
  bad('\x8e\xff\xff\xff\xff\xff\xff\xff\x7f', /more than any file/);
  bad('X\x01\0\0\0\xff.', /not UTF-8/);
  bad('\x8b\xff\xff\xff\x7f.', /number of 2147483647 bytes/);
  bad(`${']'.repeat(20000)}${'a'.repeat(19999)}.`, /nested deeper than 100/);
  bad(']q\x00h\x00a.', /in a circle/);
  bad('}(K\x01N' + text('1') + 'Nu.', /a number and its text/);
});

test('damaged files: 3000', () => {
  fuzz(decodeTorch, fixture('module.pt'), 1500, 5);
  fuzz(decodeTorch, fixture('views.pt'), 1000, 6);
  // Damage to the pickle itself, past what CRCs catch.
  const pickle = tensorOf('\0', 'K\x02', 'K\x01');
  fuzz(
    (bytes, options) => decodeTorch(archive(String.fromCharCode(...bytes)), options),
    latin(pickle),
    2000,
    7,
  );
});
