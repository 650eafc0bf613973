// Functions made of ops: values as PyTorch gives them, gradients of first and second order against differences, refusals.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const f64 = (data, options) => og.tensor(data, { dtype: 'float64', ...options });
const int64 = (data) => og.tensor(data, { dtype: 'int64' });
const close = (found, expected, tolerance = 1e-12) => {
  const [a, b] = [found, expected].map((x) => [x].flat(Infinity));
  assert.equal(a.length, b.length);
  a.forEach((value, i) => {
    const same = Object.is(value, b[i]) || value === b[i] || Math.abs(value - b[i]) <= tolerance;
    assert.ok(same, `element ${i}: ${value}, expected ${b[i]}`);
  });
};

/** Gradient and second order of sum(f(x) * weights) along random directions, by differences in float64. */
function checkGradients(f, shape) {
  og.manualSeed(9);
  const [x, v, w] = [0, 1, 2].map(() => og.randn(shape, { dtype: 'float64' }));
  const weights = og.randn(f(x).shape, { dtype: 'float64' });
  const value = (at) => f(at).mul(weights).sum();
  const slope = (at, createGraph = false) => {
    const leaf = at.detach();
    leaf.requiresGrad = true;
    const [g] = og.grad(value(leaf), [leaf], { createGraph });
    return { leaf, along: g.mul(v).sum() };
  };
  const h = 1e-5;
  const difference = (of, direction) =>
    (of(x.add(direction.mul(h))).item() - of(x.sub(direction.mul(h))).item()) / (2 * h);
  close(slope(x).along.item(), difference(value, v), 1e-6);
  const { leaf, along } = slope(x, true);
  const second = along.requiresGrad ? og.grad(along, [leaf], { allowUnused: true })[0] : null;
  const found = second === null ? 0 : second.mul(w).sum().item();
  close(
    found,
    difference((at) => slope(at).along, w),
    1e-5,
  );
}

describe('values', () => {
  test('trace, diag, diagEmbed', () => {
    const x = f64([[1, 2, 3], [4, 5, 6]]); // prettier-ignore
    close(og.trace(x).item(), 6);
    close(og.diag(x, 1).tolist(), [2, 6]);
    close(og.diag(f64([1, 2])).tolist(), [1, 0, 0, 2]);
    close(og.diagEmbed(x, { offset: -1 }).at(1).tolist(), [0, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 6, 0]);
    assert.deepEqual(og.diagEmbed(og.zeros([2, 0])).shape, [2, 0, 0]);
  });
  test('diff, kron, baddbmm, logdet', () => {
    close(og.diff(f64([1, 4, 9, 16])).tolist(), [3, 5, 7]);
    close(og.diff(f64([1, 4, 9, 16]), { n: 2 }).tolist(), [2, 2]);
    close(og.diff(f64([[1, 2], [5, 9]]), { dim: 0 }).tolist(), [4, 7]); // prettier-ignore
    close(og.kron(f64([[1, 2]]), f64([[3], [4]])).tolist(), [3, 6, 4, 8]);
    const [a, b] = [f64([[[1, 2]]]), f64([[[3], [4]]])];
    close(og.baddbmm(f64([[[10]]]), a, b, { beta: 0.5, alpha: 2 }).item(), 27);
    close(og.logdet(f64([[2, 0], [0, 3]])).item(), Math.log(6)); // prettier-ignore
    close(og.logdet(f64([[0, 1], [1, 0]])).item(), NaN); // prettier-ignore
  });
  test('logaddexp, nanToNum', () => {
    close(og.logaddexp(f64([0, 1000, -Infinity]), f64([0])).tolist(), [Math.LN2, 1000, 0]);
    close(og.logaddexp(f64([-Infinity]), f64([-Infinity])).tolist(), [-Infinity]);
    close(og.nanToNum(og.tensor([NaN, Infinity, -Infinity, 2])).tolist(), [0, 3.4028234663852886e38, -3.4028234663852886e38, 2]); // prettier-ignore
    close(og.nanToNum(f64([NaN, Infinity]), { nan: 1, posinf: 9 }).tolist(), [1, 9]);
  });
  test('isclose, allclose, countNonzero', () => {
    const [a, b] = [f64([1, 1, Infinity, NaN, Infinity]), f64([1 + 1e-6, 1.1, Infinity, NaN, 1])];
    assert.deepEqual(og.isclose(a, b).tolist(), [true, false, true, false, false]);
    assert.deepEqual(og.isclose(a, b, { rtol: 0.1, equalNan: true }).tolist(), [
      true,
      true,
      true,
      true,
      false,
    ]);
    assert.equal(og.allclose(f64([1, 2]), f64([1, 2 + 1e-9])), true);
    assert.equal(og.allclose(f64([1, 2]), f64([1, 3])), false);
    assert.equal(og.countNonzero(f64([0, 1, NaN, -2])).item(), 3);
    assert.deepEqual(og.countNonzero(f64([[0, 1], [2, 3]]), 0).tolist(), [1, 2]); // prettier-ignore
  });
  test('repeatInterleave, indexFill, take', () => {
    const x = f64([[1, 2], [3, 4]]); // prettier-ignore
    close(og.repeatInterleave(x, 2).tolist(), [1, 1, 2, 2, 3, 3, 4, 4]);
    close(og.repeatInterleave(x, int64([0, 2]), 1).tolist(), [2, 2, 4, 4]);
    close(og.indexFill(x, -1, int64([0, 0]), 9).tolist(), [9, 2, 9, 4]);
    close(og.take(x, int64([[3], [0]])).tolist(), [4, 1]);
  });
  test('bincount, unique, searchsorted', () => {
    assert.deepEqual(og.bincount(int64([1, 3, 1]), { minLength: 5 }).tolist(), [0, 2, 0, 1, 0]);
    close(og.bincount(int64([1, 0, 1]), { weights: f64([0.5, 1, 2]) }).tolist(), [1, 2.5]);
    assert.deepEqual(og.bincount(og.zeros([0], { dtype: 'int64' })).tolist(), []);
    const { values, inverse, counts } = og.unique(int64([[7, 2], [2, 5]])); // prettier-ignore
    assert.deepEqual([values, inverse, counts].map((t) => t.tolist()), [[2, 5, 7], [[2, 0], [0, 1]], [2, 1, 1]]); // prettier-ignore
    const edges = f64([1, 3, 3, 5]);
    assert.deepEqual(og.searchsorted(edges, f64([[0, 3], [4, 9]])).tolist(), [[0, 1], [3, 4]]); // prettier-ignore
    assert.deepEqual(og.searchsorted(edges, f64([3, 5]), { right: true }).tolist(), [3, 4]);
  });
  test('quantile', () => {
    const x = f64([[4, 1, 3], [20, 0, 10]]); // prettier-ignore
    close(og.quantile(x, 0.5, { dim: 1 }).tolist(), [3, 10]);
    close(og.quantile(x, [0, 0.25, 1], { dim: 1, keepdim: true }).tolist(), [1, 0, 2, 5, 4, 20]);
    assert.deepEqual(og.quantile(x, [0, 0.25, 1], { dim: 1, keepdim: true }).shape, [3, 2, 1]);
    close(og.quantile(x, 0.5).item(), 3.5);
  });
  test('gumbelSoftmax: rows of 1, the classes drawn as often as softmax says, the soft gradient', () => {
    const logits = og.log(f64([0.2, 0.5, 0.3])).expand([20000, 3]);
    const drawn = og.gumbelSoftmax(logits, { hard: true, generator: new og.Generator(3) });
    close(drawn.sum(1).amin().item(), 1);
    close(drawn.mean(0).tolist(), [0.2, 0.5, 0.3], 4 * Math.sqrt(0.25 / 20000));
    const x = f64([0.1, 0.7, -0.2], { requiresGrad: true });
    const weights = f64([1, -2, 3]);
    const slopes = [false, true].map((hard) => {
      const y = og.gumbelSoftmax(x, { hard, tau: 0.7, generator: new og.Generator(4) });
      return og.grad(y.mul(weights).sum(), [x])[0].tolist();
    });
    close(slopes[1], slopes[0]);
    assert.ok(slopes[0].some((slope) => Math.abs(slope) > 0.01));
  });
});

describe('gradients', () => {
  const other = () => og.ones([3, 3], { dtype: 'float64' });
  const functions = {
    trace: (x) => og.trace(x),
    diagEmbed: (x) => og.diagEmbed(x.square(), { offset: 1 }),
    diff: (x) => og.diff(x.square(), { n: 2 }),
    kron: (x) => og.kron(x, x),
    baddbmm: (x) => og.baddbmm(x, x.unsqueeze(0), x.unsqueeze(0), { alpha: 0.5 }),
    logdet: (x) => og.logdet(og.matmul(x, x.transpose(0, 1)).add(og.eye(3, 3, { dtype: 'float64' }))),
    logaddexp: (x) => og.logaddexp(x, x.mul(x)),
    'logaddexp of equal numbers': (x) => og.logaddexp(x, x.mul(1)),
    nanToNum: (x) => og.nanToNum(x.square()),
    repeatInterleave: (x) => og.repeatInterleave(x.square(), 2, 1),
    indexFill: (x) => og.indexFill(x.square(), 0, int64([1]), 2),
    take: (x) => og.take(x.square(), int64([0, 0, 5])),
    bincount: (x) => og.bincount(int64([1, 0, 1]), { weights: x.square().select(0, 1) }),
    quantile: (x) => og.quantile(x.square(), [0.3, 0.9], { dim: 1 }),
  };
  for (const [name, f] of Object.entries(functions)) {
    test(name, () => {
      og.scope(() => checkGradients(f, other().shape));
    });
  }
});

test('nothing is left behind but the result', () => {
  const x = og.ones([3, 3]);
  const before = og.memory().tensors;
  og.scope(() => {
    og.quantile(x, [0.1, 0.2]);
    og.unique(x);
    assert.ok(og.memory().tensors <= before + 6, `${og.memory().tensors - before} tensors`);
  });
  assert.equal(og.memory().tensors, before);
});

test('what they refuse', () => {
  const x = og.zeros([2, 3]);
  const refuses = (run, pattern) =>
    assert.throws(run, (error) => og.OmnigradError.is(error) && pattern.test(error.message));
  refuses(() => og.trace(og.zeros([2])), /^trace: x \[2\] must have 2 dimensions$/);
  refuses(() => og.diag(og.zeros([1, 1, 1])), /^diag: x \[1, 1, 1\] must have 1 dimensions$/);
  refuses(() => og.diff(x, { n: -1 }), /^diff: n is -1; it must be a whole number from 0$/);
  refuses(() => og.diff(x, { dim: 2 }), /^diff: dim is 2/);
  refuses(
    () => og.repeatInterleave(x, int64([1]), 0),
    /^repeatInterleave: repeats \[1\] must be .* each of 2 entries/,
  );
  refuses(() => og.quantile(x, 2), /^quantile: q is 2; it must be a number from 0 to 1/);
  refuses(() => og.quantile(og.zeros([0]), 0.5), /^quantile: of no elements/);
  refuses(() => og.bincount(x), /^bincount: x \[2, 3\] must have 1 dimensions$/);
  refuses(() => og.searchsorted(x, x), /^searchsorted: sorted \[2, 3\] must have 1 dimensions$/);
  refuses(() => og.gumbelSoftmax(x, { tau: 0 }), /^gumbelSoftmax: tau is 0; it must be a number above 0$/);
  refuses(() => og.gumbelSoftmax(int64([1])), /^gumbelSoftmax: x has dtype int64/);
  refuses(() => og.isclose(x, x, { tolerance: 1 }), /^isclose: unknown option 'tolerance'/);
});
