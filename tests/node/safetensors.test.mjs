// safetensors: every dtype there and back, files of other writers, and files that lie.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { decodeSafetensors, encodeSafetensors, parseSafetensors } from 'omnigrad/io';
import { fuzz, refuses } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));

/** A file of this header (text, or an object) and data. */
function file(header, data = [], size) {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.length + data.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(size ?? json.length), true);
  bytes.set(json, 8);
  bytes.set(data, 8 + json.length);
  return bytes;
}
const entry = (dtype, shape, ...offsets) => ({ dtype, shape, data_offsets: offsets });

test('every dtype comes back with its bits, shape and name', () => {
  const dict = {
    'net.weight': og.tensor([[1.5, NaN], [-0, Infinity]]), // prettier-ignore
    double: og.tensor([0.1, 1e300], { dtype: 'float64' }),
    half: og.tensor([1.5, -2], { dtype: 'float16' }),
    brain: og.tensor([1.5, -2], { dtype: 'bfloat16' }),
    int: og.tensor([-5, 5], { dtype: 'int32' }),
    long: og.tensor([1n << 62n, -1n]),
    byte: og.tensor([0, 255, 7], { dtype: 'uint8' }),
    flag: og.tensor([true, false]),
    'größe 0': og.tensor(3),
    empty: og.zeros([0, 4]),
  };
  const bytes = encodeSafetensors(dict, { metadata: { format: 'pt' } });
  const back = decodeSafetensors(bytes);
  assert.deepEqual(Object.keys(back), Object.keys(dict));
  for (const [name, x] of Object.entries(dict)) {
    assert.deepEqual([back[name].dtype, back[name].shape], [x.dtype, x.shape], name);
    assert.deepEqual(back[name].toTypedArray(), x.toTypedArray(), name);
  }
  const { metadata, tensors } = parseSafetensors(bytes);
  assert.deepEqual(metadata, { format: 'pt' });
  for (const [name, { offset }] of tensors)
    assert.equal(offset % dict[name].toTypedArray().BYTES_PER_ELEMENT, 0, name);
  // Also where the bytes begin at an odd address.
  const shifted = new Uint8Array(bytes.length + 1);
  shifted.set(bytes, 1);
  assert.deepEqual(decodeSafetensors(shifted.subarray(1)).double.tolist(), [0.1, 1e300]);
});

test('dtypes that the library lacks are widened without loss', () => {
  const data = [
    0x80, 127, 0xff, 0xff, 0, 0x80, 1, 0, 0xff, 0xff, 0xff, 0xff, 255, 0, 0, 0, 0, 0, 0, 0, 0x38, 0x7e, 1,
    0x3c, 0x7c, 0x01,
  ];
  const bytes = file(
    {
      i8: entry('I8', [2], 0, 2),
      u16: entry('U16', [1], 2, 4),
      i16: entry('I16', [2], 4, 8),
      u32: entry('U32', [1], 8, 12),
      u64: entry('U64', [1], 12, 20),
      e4m3: entry('F8_E4M3', [3], 20, 23),
      e5m2: entry('F8_E5M2', [3], 23, 26),
    },
    data,
  );
  const back = decodeSafetensors(bytes);
  assert.deepEqual(
    Object.fromEntries(Object.entries(back).map(([name, x]) => [name, [x.dtype, x.tolist()]])),
    {
      i8: ['int32', [-128, 127]],
      u16: ['int32', [65535]],
      i16: ['int32', [-32768, 1]],
      u32: ['int64', [4294967295]],
      u64: ['int64', [255]],
      e4m3: ['float32', [1, 448, 2 ** -9]],
      e5m2: ['float32', [1, Infinity, 2 ** -16]],
    },
  );
  refuses(decodeSafetensors, file({ a: entry('U64', [1], 0, 8) }, Array(8).fill(255)), /does not fit int64/);
});

test('a file that the Python library wrote is read', () => {
  const bytes = readFileSync(new URL('../golden/data/binary.safetensors', import.meta.url));
  const { metadata, tensors } = parseSafetensors(bytes);
  assert.ok(JSON.parse(metadata.cases).length > 0);
  const dict = decodeSafetensors(bytes);
  assert.equal(Object.keys(dict).length, tensors.size);
  for (const [name, { shape }] of tensors) assert.deepEqual(dict[name].shape, shape);
});

test('headers that lie are refused, with file and offset', () => {
  const ok = { a: entry('F32', [2], 0, 8) };
  const data = Array(8).fill(0);
  assert.deepEqual(decodeSafetensors(file(ok, data)).a.tolist(), [0, 0]);
  const bad = (header, pattern, bytes = data, size = undefined) =>
    refuses(decodeSafetensors, file(header, bytes, size), pattern);
  refuses(decodeSafetensors, new Uint8Array(3), /ends within the length/);
  bad(ok, /said to have 1000000000000 bytes/, data, 1e12);
  bad(ok, /more than any file/, data, 2n ** 63n);
  bad(ok, /said to have 99999999 bytes/, data, 99999999);
  bad('[]', /must be '\{'/);
  bad('{"a":', /no JSON/);
  bad(
    '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": {}}',
    /byte 70: 'a' is there twice/,
  );
  bad(
    '{"a": {"dtype": "F32", "dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}',
    /'dtype' is there twice/,
  );
  bad('{"a": {"dtype": "F32", "\\u0061": 1, "a": 2}}', /'a' is there twice/);
  bad({ a: entry('F33', [2], 0, 8) }, /byte 9: tensor 'a': no dtype 'F33'/);
  bad({ a: entry('toString', [2], 0, 8) }, /no dtype/);
  bad({ a: entry('F32', [3], 0, 8) }, /8 bytes are given; F32 of shape \[3\] takes 12/);
  bad({ a: entry('F32', [2 ** 30, 2 ** 30], 0, 8) }, /more than any file/);
  bad({ a: entry('F32', [2 ** 53, 0], 0, 0) }, /shape is/, []);
  bad({ a: entry('F32', [-1], 0, 8) }, /shape is/);
  bad({ a: entry('F32', [1.5], 0, 6) }, /shape is/);
  bad({ a: entry('F32', '2', 0, 8) }, /shape is/);
  bad({ a: entry('F32', [2], 0, 4, 8) }, /two whole numbers/);
  bad({ a: entry('F32', [2], 8, 0) }, /data_offsets are 8 to 0/);
  bad({ a: entry('F32', [2], 0, 9) }, /the data has 8 bytes/);
  bad({ a: { ...ok.a, more: 1 } }, /'more' is none of/);
  bad({ a: null }, /no dtype/);
  bad({ a: ok.a, b: entry('F32', [1], 4, 8) }, /tensor 'b' overlaps/);
  bad({ a: ok.a, b: ok.a }, /overlaps/);
  bad({ a: entry('F32', [1], 4, 8) }, /leaves 4 bytes before it/);
  bad({ a: entry('F32', [1], 0, 4) }, /4 bytes belong to no tensor/);
  bad({ __metadata__: { a: 1 }, ...ok }, /object of strings/);
  bad({ a: entry('F32', Array(100).fill(1), 0, 4) }, /no tensor of shape/, [0, 0, 0, 0]);
});

test('what cannot be encoded is named', () => {
  const code = (run, pattern) =>
    assert.throws(run, (error) => error.op === 'encodeSafetensors' && pattern.test(error.message));
  code(() => encodeSafetensors({ a: 1 }), /'a' is 1; it must be a Tensor/);
  code(() => encodeSafetensors(og.ones([1])), /record of tensors/);
  code(() => encodeSafetensors({ __metadata__: og.ones([1]) }), /__metadata__/);
  code(() => encodeSafetensors({}, { metadata: { a: 1 } }), /metadata 'a' is 1/);
  const gone = og.ones([1]);
  gone.dispose();
  assert.throws(
    () => encodeSafetensors({ gone }),
    (error) => error.code === 'disposed',
  );
});

test('names that mean something to JavaScript are names', () => {
  const dict = Object.fromEntries([['__proto__', og.ones([1])], ['constructor', og.zeros([2])], ['1', og.ones([3])]]); // prettier-ignore
  const back = decodeSafetensors(encodeSafetensors(dict));
  assert.deepEqual(Object.keys(back).sort(), ['1', '__proto__', 'constructor']);
  assert.equal(Object.getPrototypeOf(back), Object.prototype);
});

test('damaged files: 4000 of them', () => {
  const dict = {
    a: og.ones([2, 3]),
    bb: og.tensor([1n]),
    c: og.tensor([1, 2], { dtype: 'float16' }),
    d: og.ones([0]),
  };
  fuzz(decodeSafetensors, encodeSafetensors(dict, { metadata: { format: 'pt' } }), 4000, 1);
});
