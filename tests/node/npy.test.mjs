// npy and npz: what NumPy wrote, what it can read, and archives that lie.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import * as og from 'omnigrad';
import { decodeNpy, decodeNpz, encodeNpy, encodeNpz } from 'omnigrad/io';
import { fixture, fuzz, refuses } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const told = ({ dtype, shape, tolist }, x) => [dtype, [...shape], tolist.call(x)];

test("NumPy's arrays: every dtype, both byte orders, both orders of axes", () => {
  const arrays = decodeNpz(fixture('arrays.npz'));
  const values = [[0, 1, 2], [3, 4, 5]]; // prettier-ignore
  const dtypes = {
    ...{
      little_f2: 'float16',
      little_f4: 'float32',
      little_f8: 'float64',
      one_i1: 'int32',
      little_i2: 'int32',
    },
    ...{ little_i4: 'int32', little_i8: 'int64', one_u1: 'uint8', little_u2: 'int32', little_u4: 'int64' },
    ...{ little_u8: 'int64', big_f2: 'float16', big_f4: 'float32', big_f8: 'float64', big_i2: 'int32' },
    ...{ big_i4: 'int32', big_i8: 'int64', big_u2: 'int32', big_u4: 'int64', big_u8: 'int64' },
  };
  for (const [name, dtype] of Object.entries(dtypes)) {
    assert.ok(arrays[name], name);
    assert.deepEqual(told(arrays[name], arrays[name]), [dtype, [2, 3], values], name);
  }
  assert.deepEqual(arrays.one_b1.tolist(), [[false, true, true], [true, true, true]]); // prettier-ignore
  assert.deepEqual(
    arrays.fortran.reshape([-1]).tolist(),
    Array.from({ length: 24 }, (_, i) => i),
  );
  assert.deepEqual(arrays.fortran.shape, [2, 3, 4]);
  assert.deepEqual(arrays.fortran_big.tolist(), values);
  assert.deepEqual([arrays.scalar.shape, arrays.scalar.item()], [[], 2.5]);
  assert.deepEqual(arrays.empty.shape, [0, 3]);
  assert.equal(Object.keys(arrays).length, 25);
});

test('compressed archives are read', () => {
  const { zeros, count } = decodeNpz(fixture('compressed.npz'));
  assert.deepEqual([zeros.shape, zeros.sum().item()], [[100, 100], 0]);
  assert.equal(count.sum().item(), 499500);
});

test('what is written is read back, with its bits', () => {
  const dict = {
    a: og.tensor([[1.5, NaN], [-0, Infinity]]), // prettier-ignore
    b: og.tensor([0.1], { dtype: 'float64' }),
    c: og.tensor([1.5, -2], { dtype: 'float16' }),
    d: og.tensor([-5], { dtype: 'int32' }),
    e: og.tensor([1n << 62n, -1n]),
    f: og.tensor([0, 255], { dtype: 'uint8' }),
    'dir/g': og.tensor([true, false]),
    h: og.tensor(3),
    i: og.zeros([0, 4]),
  };
  for (const compress of [false, true]) {
    const back = decodeNpz(encodeNpz(dict, { compress }));
    for (const [name, x] of Object.entries(dict)) {
      assert.deepEqual([back[name].dtype, back[name].shape], [x.dtype, x.shape], name);
      assert.deepEqual(back[name].toTypedArray(), x.toTypedArray(), name);
    }
  }
  const head = new TextDecoder('latin1').decode(encodeNpy(dict.a).subarray(0, 128));
  assert.match(
    head,
    /^\x93NUMPY\x01\x00v\x00\{'descr': '<f4', 'fortran_order': False, 'shape': \(2, 2\), \} +\n/,
  );
  assert.match(new TextDecoder('latin1').decode(encodeNpy(dict.d)), /'shape': \(1,\), /);
  assert.throws(
    () => encodeNpy(og.tensor([1], { dtype: 'bfloat16' })),
    (error) => error.code === 'dtype',
  );
});

/** An npy file of this header and so many bytes of data. */
function npy(header, size, version = 1) {
  const text = `${header}\n`;
  const at = version === 1 ? 10 : 12;
  const bytes = new Uint8Array(at + text.length + size);
  bytes.set([0x93, ...Buffer.from('NUMPY'), version, 0]);
  const view = new DataView(bytes.buffer);
  if (version === 1) view.setUint16(8, text.length, true);
  else view.setUint32(8, text.length, true);
  bytes.set(Buffer.from(text, 'latin1'), at);
  return bytes;
}
const header = (descr, shape, more = '') =>
  `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, ${more}}`;

test('npy headers: each version and order of entries; those that lie are refused', () => {
  for (const version of [1, 2, 3])
    assert.deepEqual(decodeNpy(npy(header('<f4', '(2,)'), 8, version)).tolist(), [0, 0]);
  const other = "{'shape':(1,2),'descr':'<f4','fortran_order':True}";
  assert.deepEqual(decodeNpy(npy(other, 8)).shape, [1, 2]);
  const bad = (bytes, pattern) => refuses(decodeNpy, bytes, pattern);
  bad(new Uint8Array(4), /ends within the magic word/);
  bad(
    Uint8Array.from({ length: 20 }, (_, i) => i),
    /no npy file/,
  );
  bad(npy(header('<f4', '(2,)'), 8, 4), /version 4/);
  bad(npy(header('<f4', '(2,)'), 7), /takes 8 bytes; 7 follow/);
  bad(npy(header('<f4', '(2,)'), 9), /takes 8 bytes; 9 follow/);
  bad(npy(header('<f4', '(1000000000000, 1000000000000)'), 8), /takes Infinity bytes/);
  bad(npy(header('<f4', '(99999999999999999999999,)'), 8), /takes Infinity bytes/);
  bad(npy(header('|O', '(2,)'), 8), /Python objects are not read/);
  bad(npy(header('<c8', '(1,)'), 8), /elements are '<c8'/);
  bad(npy(header('<constructor', '(1,)'), 8), /elements are/);
  bad(npy(header('<f4', '(2,)', "'x': 1, "), 8), /not understood/);
  bad(npy(header('<f4', '(2,)', "'descr': '<f4', "), 8), /'descr' is there twice/);
  bad(npy(header('<f4', '(__import__("os").system("x"),)'), 8), /not understood/);
  bad(npy(header('<f4', '(2,)').slice(0, -1), 8), /not understood/);
  bad(npy(header('<f4', `(${'1, '.repeat(100)})`), 4), /no tensor of shape/);
  bad(fixture('objects.npy'), /Python objects/);
  bad(fixture('records.npy'), /records are not read/);
});

test('archives that lie are refused, and bombs do not go off', () => {
  const good = encodeNpz({ a: og.ones([4]), b: og.zeros([2]) }, { compress: true });
  const view = (bytes) => new DataView(bytes.buffer);
  const end = good.length - 22;
  const directory = view(good).getUint32(end + 16, true);
  const bad = (change, pattern) => {
    const bytes = Uint8Array.from(good);
    change(view(bytes), bytes);
    refuses(decodeNpz, bytes, pattern);
  };
  bad((v) => v.setUint32(end, 0), /no end of a zip directory/);
  bad((v) => v.setUint16(end + 8, 60000, true) ?? v.setUint16(end + 10, 60000, true), /60000 entries/);
  bad((v) => v.setUint32(end + 16, 0xfffffff0, true), /directory is said to be at/);
  bad((v) => v.setUint32(directory, 0), /no directory entry/);
  bad((v) => v.setUint16(directory + 8, 1, true), /encrypted/);
  bad((v) => v.setUint16(directory + 10, 99, true), /method 99/);
  bad((v) => v.setUint32(directory + 16, 0), /damaged: its CRC/);
  bad((v) => v.setUint32(directory + 20, 0xfffff0, true), /ends within entry/);
  bad((v) => v.setUint32(directory + 24, 0xfffffff0, true), /cannot have 4294967280 bytes/);
  bad((v) => v.setUint32(directory + 24, 20, true), /unpacks to more than the 20 bytes/);
  bad((v) => v.setUint32(directory + 42, 0xffff, true), /past the entries/);
  bad((v) => v.setUint32(0, 0), /does not begin here/);
  // The second entry begins where the first does.
  const second = directory + 46 + 5;
  bad((v) => v.setUint32(second + 42, 0, true), /overlaps/);
  bad((v, bytes) => bytes.copyWithin(second + 46, directory + 46, directory + 51), /'a\.npy' is there twice/);

  // 64 MB of zeros in 64 kB, said to be 100 kB: given up when more comes out than was said.
  const zeros = deflateRawSync(Buffer.alloc(1 << 26), { level: 9 });
  const bomb = zip('a.npy', zeros, 100000);
  const before = process.memoryUsage().rss;
  refuses(decodeNpz, bomb, /unpacks to more than the 100000 bytes/);
  assert.ok(process.memoryUsage().rss - before < 5e7);
});

/** An archive of one deflated entry that is said to have `size` bytes. */
function zip(name, packed, size) {
  const local = 30 + name.length;
  const bytes = new Uint8Array(local + packed.length + 46 + name.length + 22);
  const view = new DataView(bytes.buffer);
  const common = (at) => {
    view.setUint16(at + 4, 8, true);
    view.setUint32(at + 14, packed.length, true);
    view.setUint32(at + 18, size, true);
    view.setUint16(at + 22, name.length, true);
  };
  view.setUint32(0, 0x04034b50, true);
  common(4);
  bytes.set(Buffer.from(name), 30);
  bytes.set(packed, local);
  const directory = local + packed.length;
  view.setUint32(directory, 0x02014b50, true);
  common(directory + 6);
  bytes.set(Buffer.from(name), directory + 46);
  const end = bytes.length - 22;
  view.setUint32(end, 0x06054b50, true);
  view.setUint16(end + 10, 1, true);
  view.setUint32(end + 12, end - directory, true);
  view.setUint32(end + 16, directory, true);
  return bytes;
}

test('damaged files: 2000 arrays, 2000 archives', () => {
  fuzz(decodeNpy, encodeNpy(og.ones([2, 3])), 2000, 2);
  const dict = { a: og.ones([2, 3]), b: og.tensor([1n, 2n]) };
  fuzz(decodeNpz, encodeNpz(dict), 1000, 3);
  fuzz(decodeNpz, encodeNpz(dict, { compress: true }), 1000, 4);
});
