// Gradients of gradients where other libraries stop: a MAML step through a deformable convolution, a WGAN-GP penalty
// through pooling and interpolation, each against central differences in float64.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const float64 = (shape, scale = 1) => og.randn(shape, { dtype: 'float64' }).mul(scale).detach();

/** d f / d x along `direction`, by central differences; f from a tensor to a number. */
function along(f, x, direction, h = 1e-5) {
  const at = (step) => og.scope(() => f(x.add(direction.mul(step)).detach()));
  return (at(h) - at(-h)) / (2 * h);
}

/** Checks grad(loss)(x) along a random direction. `loss` gives a scalar tensor. */
function checkGradient(loss, x) {
  const direction = float64(x.shape);
  const leaf = x.detach();
  leaf.requiresGrad = true;
  const [g] = og.grad(loss(leaf), [leaf]);
  const found = g.mul(direction).sum().item();
  const expected = along(
    (y) => {
      y.requiresGrad = true;
      return loss(y).item();
    },
    x,
    direction,
  );
  assert.ok(
    Math.abs(found - expected) <= 1e-6 * Math.max(1, Math.abs(expected)),
    `gradient ${found}, by differences ${expected}`,
  );
}

test('a MAML step through a deformable convolution', () => {
  og.scope(() => {
    og.manualSeed(11);
    const x = float64([2, 3, 6, 6]);
    const offset = float64([2, 2 * 9, 6, 6], 0.7);
    const mask = og.sigmoid(float64([2, 9, 6, 6]));
    const [near, far] = [float64([2, 4, 6, 6]), float64([2, 4, 6, 6])];
    const fit = (weight, shift, target) =>
      og.mseLoss(og.deformConv(x, offset.add(shift), weight, { mask, padding: 1 }).tanh(), target);
    // Adapt by one step on one task, judge on another, differentiate through the step.
    const meta = (weight) => {
      const shift = og.full([1, 18, 1, 1], 0.05, { dtype: 'float64', requiresGrad: true });
      const [gw, gs] = og.grad(fit(weight, shift, near), [weight, shift], { createGraph: true });
      return fit(weight.sub(gw.mul(0.5)), shift.sub(gs.mul(0.5)), far);
    };
    checkGradient(meta, float64([4, 3, 3, 3], 0.3));
  });
});

test('a WGAN-GP penalty through pooling and interpolation', () => {
  og.scope(() => {
    og.manualSeed(12);
    const image = float64([2, 2, 9, 8]);
    const score = (x, weight) => {
      let h = og.conv(x, weight, { padding: 1 }).tanh();
      h = og.maxPool(h, 3, { stride: 2, padding: 1 });
      h = og.interpolate(h, { size: [7, 6], mode: 'cubic' }).sigmoid();
      h = og.avgPool(h, 2, { ceilMode: true, countIncludePad: false });
      return og.interpolate(h, { scaleFactor: 1.5, mode: 'lanczos3' }).square().sum([1, 2, 3]);
    };
    const penalty = (weight) => {
      const x = image.detach();
      x.requiresGrad = true;
      const [g] = og.grad(score(x, weight).sum(), [x], { createGraph: true });
      return og.norm(g, [1, 2, 3]).sub(1).square().mean();
    };
    checkGradient(penalty, float64([3, 2, 3, 3], 0.5));
  });
});

test('third order of a smooth function, and Hessians of convolution of rank 4', () => {
  og.scope(() => {
    og.manualSeed(13);
    const x = float64([1, 1, 3, 3, 3, 3]);
    const direction = float64(x.shape);
    const third = (weight) => {
      const y = x.detach();
      y.requiresGrad = true;
      const [g] = og.grad(og.conv(y, weight).tanh().sum(), [y], { createGraph: true });
      const [h] = og.grad(g.mul(direction).sum(), [y], { createGraph: true });
      return h.mul(direction).sum();
    };
    checkGradient(third, float64([2, 1, 2, 2, 2, 2], 0.4));
  });
});
