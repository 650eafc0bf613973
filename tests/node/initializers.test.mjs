// nn.init: ranges and moments of what it draws, exact values of what it does not.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { init } from 'omnigrad/nn';

before(() => og.init({ variant: 'single' }));

const options = () => ({ generator: new og.Generator(7) });
const weight = (...shape) => og.zeros(shape, { dtype: 'float64', requiresGrad: true });
function moments(x) {
  const values = Array.from(x.toTypedArray());
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const std = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length);
  return { mean, std, most: Math.max(...values.map(Math.abs)) };
}
function check(x, { mean = 0, std, most = Infinity }) {
  const m = moments(x);
  assert.ok(Math.abs(m.mean - mean) < 0.05 * std + 1e-3, `mean ${m.mean}`);
  assert.ok(Math.abs(m.std / std - 1) < 0.05, `deviation ${m.std}, not ${std}`);
  assert.ok(m.most <= most, `${m.most} above ${most}`);
  assert.ok(x.isLeaf && x.requiresGrad);
}

test('constants', () => {
  assert.deepEqual(init.constant_(weight(2), 3).tolist(), [3, 3]);
  assert.deepEqual(init.ones_(weight(2)).tolist(), [1, 1]);
  assert.deepEqual(init.zeros_(init.ones_(weight(2))).tolist(), [0, 0]);
});

test('uniform, normal, truncated normal', () => {
  check(init.uniform_(weight(50, 80), -1, 1, options()), { std: 1 / Math.sqrt(3), most: 1 });
  check(init.normal_(weight(50, 80), 2, 0.5, options()), { mean: 2, std: 0.5 });
  check(init.truncNormal_(weight(50, 80), 0, 1, -2, 2, options()), { std: 0.8796, most: 2 });
});

test('xavier and kaiming, of linear and convolution weights', () => {
  const bound = Math.sqrt(6 / (60 + 40));
  check(init.xavierUniform_(weight(40, 60), options()), { std: bound / Math.sqrt(3), most: bound });
  check(init.xavierNormal_(weight(40, 60), { gain: 2, ...options() }), { std: 2 * Math.sqrt(2 / 100) });
  const relu = { nonlinearity: 'relu' };
  check(init.kaimingNormal_(weight(30, 16, 3, 3), { ...relu, ...options() }), { std: Math.sqrt(2 / 144) });
  const most = Math.sqrt(6 / (30 * 9));
  const uniform = init.kaimingUniform_(weight(30, 16, 3, 3), { ...relu, mode: 'fanOut', ...options() });
  check(uniform, { std: most / Math.sqrt(3), most });
  assert.throws(() => init.kaimingNormal_(weight(3)), /kaimingNormal_: the tensor is \[3\]/);
  assert.ok(Math.abs(init.calculateGain('tanh') - 5 / 3) < 1e-15);
});

test('orthogonal: rows or columns are orthonormal', () => {
  for (const shape of [
    [6, 4],
    [4, 6],
    [3, 2, 2, 2],
  ]) {
    const q = init.orthogonal_(weight(...shape), { gain: 3, ...options() }).reshape([shape[0], -1]);
    const tall = q.shape[0] >= q.shape[1];
    const gram = tall ? q.permute([1, 0]).matmul(q) : q.matmul(q.permute([1, 0]));
    const identity = og.eye(gram.shape[0], gram.shape[0], { dtype: 'float64' }).mul(9);
    assert.ok(gram.sub(identity).abs().amax().item() < 1e-12);
  }
});

test('eye and dirac', () => {
  assert.deepEqual(init.eye_(weight(2, 3)).tolist(), [
    [1, 0, 0],
    [0, 1, 0],
  ]);
  const x = og.randn([1, 4, 5], { dtype: 'float64' });
  const kernel = init.dirac_(weight(4, 2, 3), 2);
  assert.deepEqual(og.conv(x, kernel, { padding: 1, groups: 2 }).tolist(), x.tolist());
});
