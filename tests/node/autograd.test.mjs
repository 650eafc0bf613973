// The functional derivatives, against derivatives known by hand.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));
const f64 = (list, options) => og.tensor(list, { dtype: 'float64', ...options });
const cubes = (x) => x.mul(x).mul(x);

test('backward adds to grad; retained graphs run twice', () => {
  const x = f64([1, 2], { requiresGrad: true });
  const y = cubes(x).sum();
  y.backward(undefined, { retainGraph: true });
  y.backward();
  assert.deepEqual(x.grad.tolist(), [6, 24]);
  x.grad = null;
  assert.equal(x.grad, null);
  assert.throws(() => y.backward(), og.OmnigradError);
});

test('grad with createGraph is differentiable', () => {
  const x = f64([1, 2], { requiresGrad: true });
  const [g] = og.grad(cubes(x).sum(), [x], { createGraph: true });
  const [h] = og.grad(g.sum(), [x]);
  assert.deepEqual([g.tolist(), h.tolist(), x.grad], [[3, 12], [6, 12], null]);
});

test('an unused input is an error, or null', () => {
  const [x, z] = [f64([1], { requiresGrad: true }), f64([1], { requiresGrad: true })];
  assert.throws(() => og.grad(x.mul(2), [z]), og.OmnigradError);
  assert.deepEqual(og.grad(x.mul(2), [z], { allowUnused: true }), [null]);
});

test('noGrad records nothing', () => {
  const x = f64([1], { requiresGrad: true });
  assert.equal(og.noGrad(() => x.mul(2)).requiresGrad, false);
  assert.equal(x.mul(2).requiresGrad, true);
  assert.equal(x.mul(2).detach().requiresGrad, false);
});

test('valueAndGrad, vjp, jvp, hvp, jacobian, hessian', () => {
  const x = f64([1, 2]);
  const v = f64([1, 10]);
  const { value, grads } = og.valueAndGrad((a) => cubes(a).sum(), x);
  assert.deepEqual([value.item(), grads[0].tolist()], [9, [3, 12]]);
  assert.deepEqual(og.vjp(cubes, x).pullback(v).tolist(), [3, 120]);
  assert.deepEqual(og.jvp(cubes, x, v).tangent.tolist(), [3, 120]);
  assert.deepEqual(og.hvp((a) => cubes(a).sum(), x, v).tolist(), [6, 120]);
  assert.deepEqual(og.jacobian(cubes, x).tolist(), [
    [3, 0],
    [0, 12],
  ]);
  assert.deepEqual(og.hessian((a) => cubes(a).sum(), x).tolist(), [
    [6, 0],
    [0, 12],
  ]);
  assert.equal(x.requiresGrad, false);
});

test('customGrad uses what it is given; an error in it arrives as itself', () => {
  const straight = og.customGrad(
    (x) => x.mul(0).add(1),
    (g) => [g.mul(5)],
  );
  const x = f64([1, 2], { requiresGrad: true });
  straight(x).sum().backward();
  assert.deepEqual(x.grad.tolist(), [5, 5]);
  const broken = og.customGrad(
    (y) => y.mul(1),
    () => {
      throw new RangeError('mine');
    },
  );
  assert.throws(() => broken(x).sum().backward(), RangeError);
  x.grad = null;
  straight(x).sum().backward();
  assert.deepEqual(x.grad.tolist(), [5, 5]);
});
