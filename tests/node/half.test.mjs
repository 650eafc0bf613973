// float16 and bfloat16: made, cast, read back; nothing computes in them.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

// bits of known numbers: IEEE 754 binary16, and bfloat16.
const float16 = [
  [0, 0x0000],
  [-0, 0x8000],
  [1, 0x3c00],
  [-2, 0xc000],
  [65504, 0x7bff],
  [65519.99, 0x7bff], // the greatest that does not round to infinity
  [65520, 0x7c00],
  [Infinity, 0x7c00],
  [2 ** -14, 0x0400],
  [2 ** -24, 0x0001],
  [2 ** -25, 0x0000], // half of the least, to even
  [3 * 2 ** -25, 0x0002], // one and a half of the least, to even
  [1 + 2 ** -11, 0x3c00], // halfway, to even
  [1 + 3 * 2 ** -11, 0x3c02],
  [0.1, 0x2e66],
];
const bfloat16 = [
  [0, 0x0000],
  [1, 0x3f80],
  [-2, 0xc000],
  [1 + 2 ** -8, 0x3f80], // halfway, to even
  [1 + 3 * 2 ** -8, 0x3f82],
  [3.4e38, 0x7f80], // rounds to infinity
  [0.1, 0x3dcd],
];

for (const [dtype, table] of Object.entries({ float16, bfloat16 })) {
  test(`${dtype} rounds to nearest even`, () => {
    const values = table.map(([value]) => value);
    const bits = Array.from(og.tensor(values, { dtype }).toTypedArray());
    assert.deepEqual(
      bits,
      table.map(([, expected]) => expected),
    );
  });

  test(`${dtype} reads back every bit pattern`, () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const half = og.tensor(all, { dtype });
    const wide = half.cast('float32');
    const again = wide.cast(dtype).toTypedArray();
    const values = wide.toTypedArray();
    for (let i = 0; i < 65536; i++) {
      if (!Number.isNaN(values[i])) assert.equal(again[i], i);
    }
    assert.equal(half.dtype, dtype);
  });

  test(`${dtype} is storage: no op takes it, no gradient passes`, () => {
    const half = og.tensor([1, 2], { dtype });
    assert.deepEqual(half.tolist(), [1, 2]);
    assert.match(String(half), new RegExp(`dtype=${dtype}`));
    assert.throws(() => og.add(half, half), { code: 'dtype' });
    assert.throws(() => og.reshape(half, [2, 1]), { code: 'dtype' });
    const x = og.tensor([1], { requiresGrad: true });
    assert.throws(() => x.cast(dtype), { code: 'graph' });
    const target = og.zeros([2]);
    target.copy_(half);
    assert.deepEqual(target.tolist(), [1, 2]);
  });
}
