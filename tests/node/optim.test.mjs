// Optimizers against PyTorch's formulas, written out in plain JavaScript.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';

before(() => og.init({ variant: 'single' }));

const start = [1, -2, 3];
const grads = [
  [0.5, -1, 2],
  [1, 0.25, -3],
  [-2, 1, 0.125],
];

function sgd({ lr, momentum = 0, dampening = 0, weightDecay = 0, nesterov = false, maximize = false }) {
  const p = [...start];
  const v = [];
  grads.forEach((row, t) =>
    row.forEach((grad, i) => {
      let g = (maximize ? -grad : grad) + weightDecay * p[i];
      if (momentum) {
        v[i] = t === 0 ? g : momentum * v[i] + (1 - dampening) * g;
        g = nesterov ? g + momentum * v[i] : v[i];
      }
      p[i] -= lr * g;
    }),
  );
  return p;
}

function adam({ lr, betas: [b1, b2] = [0.9, 0.999], eps = 1e-8, weightDecay = 0, amsgrad, decoupled }) {
  const p = [...start];
  const [m, v, top] = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  grads.forEach((row, t) =>
    row.forEach((grad, i) => {
      if (decoupled) p[i] -= lr * weightDecay * p[i];
      const g = decoupled ? grad : grad + weightDecay * p[i];
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      top[i] = Math.max(top[i], v[i]);
      const root = Math.sqrt((amsgrad ? top[i] : v[i]) / (1 - b2 ** (t + 1))) + eps;
      p[i] -= ((lr / (1 - b1 ** (t + 1))) * m[i]) / root;
    }),
  );
  return p;
}

const cases = [
  ['SGD', { lr: 0.1 }, sgd],
  ['SGD', { lr: 0.1, momentum: 0.9 }, sgd],
  ['SGD', { lr: 0.1, momentum: 0.9, dampening: 0.5, weightDecay: 0.01 }, sgd],
  ['SGD', { lr: 0.1, momentum: 0.9, nesterov: true }, sgd],
  ['SGD', { lr: 0.1, maximize: true }, sgd],
  ['Adam', { lr: 0.1 }, adam],
  ['Adam', { lr: 0.1, weightDecay: 0.1, betas: [0.8, 0.9] }, adam],
  ['Adam', { lr: 0.1, amsgrad: true }, adam],
  ['AdamW', { lr: 0.1, weightDecay: 0.1 }, (o) => adam({ ...o, decoupled: true })],
];

describe('steps', () => {
  for (const [name, options, expected] of cases) {
    test(`${name} ${JSON.stringify(options)}`, () => {
      const p = og.tensor(start, { dtype: 'float64', requiresGrad: true });
      const optimizer = new optim[name]([p], options);
      for (const row of grads) {
        p.grad = og.tensor(row, { dtype: 'float64' });
        optimizer.step();
      }
      const wanted = expected(options);
      p.tolist().forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-12, `${x} against ${wanted[i]}`));
    });
  }
});

test('minimize steps, frees, and gives numbers', () => {
  const w = og.keep(og.tensor([4], { requiresGrad: true }));
  const optimizer = new optim.SGD([w], { lr: 0.25 });
  assert.equal(
    optimizer.minimize(() => w.square().sum()),
    16,
  );
  const before = og.memory().tensors;
  const result = optimizer.minimize(() => ({
    loss: w.square().sum(),
    note: 'kept',
    twice: w.mul(2).detach(),
  }));
  assert.equal(result.loss, 4);
  assert.equal(result.note, 'kept');
  assert.equal(result.twice.item(), 4);
  assert.equal(w.item(), 1);
  result.twice.dispose();
  assert.ok(og.memory().tensors <= before + 1);
});

test('accumulate adds gradients up; clipNorm bounds them', () => {
  const w = og.tensor([3, 4], { requiresGrad: true });
  const optimizer = new optim.SGD([w], { lr: 1 });
  const half = () => w.square().sum().mul(0.5);
  optimizer.minimize(half, { accumulate: true });
  optimizer.minimize(half, { accumulate: true });
  assert.deepEqual(w.grad.tolist(), [6, 8]);
  assert.ok(Math.abs(optim.clipGradNorm([w], 1) - 10) < 1e-6);
  assert.ok(Math.abs(w.grad.tolist()[0] - 0.6) < 1e-6);
  optimizer.zeroGrad();
  assert.equal(w.grad, null);
  optimizer.minimize(half, { clipNorm: 1 });
  assert.ok(Math.abs(w.tolist()[1] - 3.2) < 1e-5);
});

test('a parameter without a gradient is left alone, and counts its own steps', () => {
  const [a, b] = [og.ones([1], { requiresGrad: true }), og.ones([1], { requiresGrad: true })];
  const optimizer = new optim.Adam([a, b], { lr: 0.1 });
  a.grad = og.ones([1]);
  optimizer.step();
  assert.ok(Math.abs(a.item() - 0.9) < 1e-6);
  assert.equal(b.item(), 1);
  b.grad = og.ones([1]);
  optimizer.step();
  assert.ok(Math.abs(b.item() - 0.9) < 1e-6);
});

test('what is no parameter is refused', () => {
  assert.throws(() => new optim.SGD([]), /SGD: there are no parameters/);
  const computed = og.zeros([1], { requiresGrad: true }).mul(2);
  assert.throws(
    () => new optim.Adam([computed]),
    /Adam: parameter 0 is computed, not a leaf; it must be a float/,
  );
  assert.throws(
    () => new optim.Adam([og.zeros([1], { dtype: 'int64' })]),
    /parameter 0 is of int64; it must/,
  );
});
