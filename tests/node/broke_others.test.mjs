// Cases that went wrong in other libraries, each with the right value.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const close = (found, expected, tolerance = 1e-6) => {
  const [a, b] = [found, expected].map((x) => [x].flat(Infinity));
  assert.equal(a.length, b.length);
  a.forEach((value, i) => {
    const same = Object.is(value, b[i]) || Math.abs(value - b[i]) <= tolerance;
    assert.ok(same, `element ${i}: ${value}, expected ${b[i]}`);
  });
};
const leaf = (data, options) => og.tensor(data, { requiresGrad: true, ...options });
const gradient = (y, x) => og.grad(y, [x])[0].tolist();

test('max pooling of values that are all negative', () => {
  const x = leaf([
    [
      [
        [-4, -3],
        [-2, -1],
      ],
    ],
  ]);
  const y = og.maxPool(x, 2);
  close(y.tolist(), [-1]);
  close(gradient(y.sum(), x), [0, 0, 0, 1]);
});

test('max pooling of -Infinity alone, and of NaN', () => {
  const least = og.full([1, 1, 2, 2], -Infinity);
  const [y, indices] = og.maxPool(least, 2, { returnIndices: true });
  close(y.tolist(), [-Infinity]);
  close(indices.tolist(), [0]);
  const [z, at] = og.maxPool(
    og.tensor([
      [
        [
          [1, NaN],
          [3, 2],
        ],
      ],
    ]),
    2,
    { returnIndices: true },
  );
  close(z.tolist(), [NaN]);
  close(at.tolist(), [1]);
});

test('a window never lies wholly in padding', () => {
  const options = { stride: 4, padding: 2, ceilMode: true };
  const x = og.ones([1, 1, 9, 9]);
  assert.deepEqual(og.maxPool(x, 4, options).shape, [1, 1, 3, 3]);
  assert.deepEqual(og.avgPool(x, 4, options).shape, [1, 1, 3, 3]);
  close(og.avgPool(x, 4, { ...options, countIncludePad: false }).tolist(), Array(9).fill(1));
});

test('gradients of convolution have the shape of what they are of', () => {
  const x = leaf(og.ones([1, 1, 8, 8]).tolist());
  const w = leaf(og.ones([1, 1, 2, 2]).tolist());
  const [gx, gw] = og.grad(og.conv(x, w, { stride: 5 }).sum(), [x, w]); // drops three rows
  assert.deepEqual(gx.shape, x.shape);
  assert.deepEqual(gw.shape, w.shape);
  assert.equal(gx.sum().item(), 16);
  const z = og.convTranspose(x, w, { stride: 1, dilation: 2, outputPadding: 1 });
  const [tx, tw] = og.grad(z.sum(), [x, w]);
  assert.deepEqual([tx.shape, tw.shape], [x.shape, w.shape]);
});

test('the gradient of a reflected pad lands on what was reflected', () => {
  const x = leaf([[1, 2, 3, 4]]);
  close(gradient(og.pad(x, [[2, 1]], { mode: 'reflect' }).sum(), x), [1, 2, 3, 1]);
});

test('bilinear with half-pixel centres: the gradient is the transpose of the map', () => {
  const x = leaf([[[0, 0, 0]]]);
  const y = og.interpolate(x, { size: [6], mode: 'linear' });
  const g = og.grad(y, [x], { gradOutputs: [og.tensor([[[1, 2, 3, 4, 5, 6]]])] })[0].tolist();
  close(g, [1 + 0.75 * 2 + 0.25 * 3, 0.25 * 2 + 0.75 * 3 + 0.75 * 4 + 0.25 * 5, 0.25 * 4 + 0.75 * 5 + 6]);
});

test('nearest reads and writes the same pixels: 2 to 98', () => {
  const x = leaf([[[1, 100]]]);
  const y = og.interpolate(x, { size: [98], mode: 'nearest' });
  const ones = y.tolist()[0][0].filter((value) => value === 1).length;
  close(gradient(y.sum(), x), [ones, 98 - ones]);
});

test('CTC: empty target, impossible target, tiny probabilities, repeats, another blank', () => {
  const whole = (list) => og.tensor(list, { dtype: 'int64' });
  const ctc = (logProbs, targets, inputLengths, targetLengths, options) =>
    og.ctcLoss(logProbs, whole(targets), {
      inputLengths: whole(inputLengths),
      targetLengths: whole(targetLengths),
      reduction: 'none',
      ...options,
    });
  const even = og.full([3, 1, 2], Math.log(0.5));
  close(ctc(even, [[1]], [3], [0]).tolist(), [3 * Math.LN2]); // three blanks
  close(ctc(even, [[1]], [3], [1]).tolist(), [3 * Math.LN2 - Math.log(6)]);
  close(ctc(even, [[1, 1]], [3], [2]).tolist(), [3 * Math.LN2]); // only 1 blank 1
  close(ctc(even, [[0]], [3], [1], { blank: 1 }).tolist(), [3 * Math.LN2 - Math.log(6)]);
  close(ctc(even, [[1, 1]], [2], [2]).tolist(), [Infinity]);
  close(ctc(even, [[1, 1]], [2], [2], { zeroInfinity: true }).tolist(), [0]);
  const tiny = og.full([2, 1, 2], -20000);
  close(ctc(tiny, [[1]], [2], [1]).tolist(), [40000 - Math.log(3)], 0.01);
});

test('products with zeros, running products with zeros', () => {
  const x = leaf([2, 0, 3, 0], { dtype: 'float64' });
  close(gradient(og.prod(x), x), [0, 0, 0, 0]);
  const one = leaf([2, 0, 3], { dtype: 'float64' });
  close(gradient(og.prod(one), one), [0, 6, 0]);
  close(gradient(og.cumprod(one, 0).sum(), one), [1, 2 + 6, 0]);
});

test('topk and embedding send gradients where they read, repeats added up', () => {
  const x = leaf([1, 5, 3]);
  const [values] = og.topk(x, 2);
  close(gradient(values.mul(og.tensor([10, 1])).sum(), x), [0, 10, 1]);
  const table = leaf([
    [1, 2],
    [3, 4],
  ]);
  const rows = og.embedding(og.tensor([1, 1, 0], { dtype: 'int64' }), table);
  close(gradient(rows.sum(), table), [1, 1, 2, 2]);
});

test('the padding row of an embedding is read and gets no gradient', () => {
  const table = leaf([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  const at = og.tensor([2, 0, 2, 1, 0], { dtype: 'int64' });
  for (const paddingIdx of [2, -1]) {
    const rows = og.embedding(at, table, { paddingIdx });
    close(rows.tolist(), [5, 6, 1, 2, 5, 6, 3, 4, 1, 2]);
    close(gradient(rows.sum(), table), [2, 2, 1, 1, 0, 0]);
  }
});

test('the input gradient of a 3-d convolution agrees with differences', () => {
  og.manualSeed(4);
  const options = { stride: [2, 1, 2], padding: [[1, 0], [0, 2], [1, 1]], dilation: [1, 2, 1], groups: 2 }; // prettier-ignore
  const x = og.randn([2, 4, 5, 6, 5], { dtype: 'float64' });
  const w = og.randn([6, 2, 3, 2, 2], { dtype: 'float64' });
  const loss = (at) => og.conv(at, w, options).square().sum();
  x.requiresGrad = true;
  const found = gradient(loss(x), x).flat(Infinity);
  const values = x.toTypedArray();
  const h = 1e-4;
  for (let i = 0; i < values.length; i += 7) {
    const moved = (step) => {
      const copy = values.slice();
      copy[i] += step;
      return og.scope(() => loss(og.tensor(copy, { shape: x.shape })).item());
    };
    const expected = (moved(h) - moved(-h)) / (2 * h);
    assert.ok(Math.abs(found[i] - expected) < 1e-6 * Math.max(1, Math.abs(expected)), `element ${i}`);
  }
});

test('batch norm without affine parameters', () => {
  const x = og.tensor([
    [1, 10],
    [3, 30],
  ]);
  close(og.batchNorm(x, { training: true, eps: 0 }).tolist(), [-1, -1, 1, 1]);
});

test('views of every kind into an op', () => {
  const base = og.arange(0, 24).reshape([2, 3, 4]);
  close(base.permute([2, 0, 1]).sum([1, 2]).tolist(), base.sum([0, 1]).tolist());
  close(og.ones([1]).expand([5]).cumsum(0).tolist(), [1, 2, 3, 4, 5]);
  close(og.zeros([0, 3]).sum().item(), 0);
  close(og.tensor(3).exp().log().item(), 3);
});

test("numbers in where take the other value's dtype, not the condition's", () => {
  const mask = og.tensor([true, false]);
  const x = og.tensor([1.5, 2.5], { dtype: 'float64', requiresGrad: true });
  const y = og.where(mask, 7.25, x);
  assert.equal(y.dtype, 'float64');
  close(y.tolist(), [7.25, 2.5]);
  close(gradient(y.sum(), x), [0, 1]);
  close(og.where(mask, x, 3).tolist(), [1.5, 3]);
  const both = og.where(mask, 0.5, 2);
  assert.equal(both.dtype, 'float32');
  close(both.tolist(), [0.5, 2]);
  assert.throws(() => og.add(1, 2), /is a number, and so are all other inputs: one must be a tensor/);
});
