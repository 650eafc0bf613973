// Transforms of images: what each does to known pictures, alone and in batches; draws by seed; shapes refused.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { transforms as t } from 'omnigrad/data';

before(() => og.init({ variant: 'single' }));
const code = (run, expected, pattern = /./) =>
  assert.throws(
    run,
    (error) => og.OmnigradError.is(error) && error.code === expected && pattern.test(error.message),
  );
const near = (actual, expected, tolerance = 1e-5) => {
  assert.deepEqual(actual.shape, expected.shape);
  const gap = actual.sub(expected).abs().amax().item();
  assert.ok(gap <= tolerance, `differs by ${gap}: ${actual} is not ${expected}`);
};
const generator = (seed = 1) => ({ generator: new og.Generator(seed) });
const grid = (h, w) => og.arange(h * w).reshape([1, h, w]);
const images = (n, h = 4, w = 6, dtype = 'float32') =>
  og.arange(n * 3 * h * w, { dtype }).reshape([n, 3, h, w]);

test('values: floats, normalize, grey', () => {
  const x = og.tensor([[[0, 255]], [[51, 102]], [[255, 0]]], { dtype: 'uint8' }); // prettier-ignore
  near(t.toFloat()(x), og.tensor([[[0, 1]], [[0.2, 0.4]], [[1, 0]]])); // prettier-ignore
  const normal = t.compose(t.toFloat(), t.normalize([0, 0.2, 0.5], [1, 0.1, 0.5]));
  near(normal(x), og.tensor([[[0, 1]], [[0, 2]], [[1, -1]]])); // prettier-ignore
  near(t.normalize(1, 2)(og.tensor([[[3, 5]]])), og.tensor([[[1, 2]]])); // prettier-ignore
  near(t.grayscale()(t.toFloat()(x)), og.tensor([[[0.2314, 0.5338]]]), 1e-4); // prettier-ignore
  assert.deepEqual(t.grayscale(3)(x).shape, [3, 1, 2]);
  code(() => t.normalize([1, 2], 1)(x), 'shape', /2 numbers for 3 channels/);
  code(() => t.normalize(0, 0), 'option');
  code(() => t.grayscale()(og.zeros([1, 2, 2])), 'shape');
});

test('flips and crops keep the dtype, of one image and of many', () => {
  const x = grid(3, 4);
  assert.deepEqual(t.horizontalFlip()(x).at(0, 0).tolist(), [3, 2, 1, 0]);
  assert.deepEqual(t.verticalFlip()(x).at(0, ':', 0).tolist(), [8, 4, 0]);
  assert.deepEqual(t.crop(1, 2, [2, 1])(x).tolist(), [[[6], [10]]]); // prettier-ignore
  assert.deepEqual(t.centerCrop(1)(x).tolist(), [[[5]]]); // prettier-ignore
  assert.deepEqual(t.centerCrop([3, 2])(x).at(0, 0).tolist(), [1, 2]);
  for (const dtype of ['uint8', 'int64', 'float64']) {
    const many = images(2, 3, 4, dtype);
    for (const transform of [
      t.horizontalFlip(),
      t.centerCrop(2),
      t.randomCrop(3, { padding: 1 }),
      t.randomHorizontalFlip(),
    ]) {
      const y = transform(many, generator());
      assert.deepEqual([y.dtype, y.shape.slice(0, 2)], [dtype, [2, 3]]); // prettier-ignore
    }
  }
  code(() => t.crop(2, 0, 2)(x), 'shape', /4 rows and 2 columns/);
  code(() => t.centerCrop(4)(x), 'shape');
  code(() => t.randomCrop(4)(x), 'shape');
  code(() => t.crop(-1, 0, 2), 'option');
  code(() => t.crop(0, 0, [1, 2, 3]), 'option');
  code(() => t.horizontalFlip()(og.zeros([2, 2])), 'shape', /\[C, H, W\]/);
  code(() => t.horizontalFlip()(5), 'argument');
  code(() => t.horizontalFlip()(x, { seed: 1 }), 'option');
});

test('random flips and crops: each image its own, and what they may be', () => {
  const n = 400;
  const x = og.arange(n * 2, { dtype: 'int32' }).reshape([n, 1, 1, 2]);
  const flipped = t.randomHorizontalFlip(0.25)(x, generator()).sub(x).at(':', 0, 0, 0).sum().item();
  // Five deviations of a binomial count.
  assert.ok(Math.abs(flipped - 100) < 5 * Math.sqrt(n * 0.25 * 0.75), String(flipped));
  assert.deepEqual(t.randomVerticalFlip(0)(x).tolist(), x.tolist());
  assert.deepEqual(t.randomHorizontalFlip(1)(x).tolist(), x.flip([3]).tolist());

  const many = grid(4, 5).expand([n, 1, 4, 5]);
  const cropped = t.randomCrop([2, 3])(many, generator());
  const corners = cropped.at(':', 0, 0, 0).tolist();
  assert.deepEqual(
    [...new Set(corners)].sort((a, b) => a - b),
    [0, 1, 2, 5, 6, 7, 10, 11, 12],
  );
  cropped.tolist().forEach(([rows], i) => {
    const c = corners[i];
    assert.deepEqual(rows, [[c, c + 1, c + 2], [c + 5, c + 6, c + 7]]); // prettier-ignore
  });
  const padded = t.randomCrop(4, { padding: 3, fill: -1 })(grid(1, 1).expand([50, 1, 1, 1]), generator());
  assert.deepEqual([...new Set(padded.reshape([-1]).tolist())].sort(), [-1, 0]);
  const some = t
    .randomApply((y) => y.mul(0), 0.5)(og.ones([n, 1, 1, 1]), generator())
    .sum()
    .item();
  assert.ok(Math.abs(some - 200) < 50, String(some));
});

test('new sizes', () => {
  const x = grid(2, 4);
  near(t.resize([1, 2])(x), og.tensor([[[2.4, 4.6]]]), 0.4); // prettier-ignore
  near(t.resize([1, 2])(x), og.interpolate(x.reshape([1, 1, 2, 4]), { size: [1, 2], mode: 'bilinear', antialias: true }).reshape([1, 1, 2])); // prettier-ignore
  assert.deepEqual(t.resize(4)(x).shape, [1, 4, 8]);
  assert.deepEqual(t.resize(4)(grid(5, 3)).shape, [1, 6, 4]);
  assert.deepEqual(t.resize([4, 8], { mode: 'nearest' })(x).at(0, 0).tolist(), [0, 0, 1, 1, 2, 2, 3, 3]);
  assert.equal(t.resize(2)(images(2, 4, 4, 'uint8')).dtype, 'float32');
  code(() => t.resize(0), 'option');
  code(() => t.resize(2, { mode: 'sharp' }), 'option');
});

test('turning: by right angles exact, counter-clockwise; there and back', () => {
  const x = og.tensor([[[1, 2], [3, 4]]]); // prettier-ignore
  near(t.rotate(90)(x), og.tensor([[[2, 4], [1, 3]]])); // prettier-ignore
  near(t.rotate(-90)(x), og.tensor([[[3, 1], [4, 2]]])); // prettier-ignore
  near(t.rotate(180)(x), x.flip([1, 2]));
  near(t.rotate(360)(x), x);
  const tall = grid(4, 2);
  near(t.rotate(180)(tall), tall.flip([1, 2]));
  // About the centre of a picture that is not square, turned pixels keep their distance.
  const dot = og.zeros([1, 9, 15]);
  dot.at(0, 4, 10).fill_(1);
  near(t.rotate(90)(dot).at(0, 1, 7), og.tensor(1));
  const disc = og.ones([1, 21, 21]);
  near(t.rotate(45)(disc).at(0, [6, 15], [6, 15]), og.ones([9, 9]));
  assert.equal(t.rotate(45)(disc).at(0, 0, 0).item(), 0);
  assert.equal(t.rotate(45, { fill: 7 })(disc).at(0, 0, 0).item(), 7);
});

test('affine maps: moves, scales and slants', () => {
  const dot = og.zeros([1, 9, 9]);
  dot.at(0, 4, 4).fill_(1);
  const place = (x) => { const i = x.argmax().item(); return [Math.floor(i / 9), i % 9]; }; // prettier-ignore
  assert.deepEqual(place(t.affine({ translate: [2, -1] })(dot)), [3, 6]);
  near(t.affine({})(dot), dot);
  near(t.affine({ scale: 3 })(og.ones([1, 5, 5])), og.ones([1, 5, 5]));
  const square = og.zeros([1, 9, 9]);
  square.at(0, [3, 6], [3, 6]).fill_(1);
  assert.ok(Math.abs(t.affine({ scale: 2 })(square).sum().item() - 36) < 2);
  // Slanted by 45 degrees along x, a row moves as far as it lies below the middle.
  const low = og.zeros([1, 9, 9]);
  low.at(0, 6, 4).fill_(1);
  assert.deepEqual(place(t.affine({ shear: [45, 0] })(low)), [6, 6]);
  assert.deepEqual(place(t.affine({ degrees: 90, translate: [1, 0] })(low)), [4, 7]);
  code(() => t.affine({ angle: 1 }), 'option');
  code(() => t.affine({ scale: 0 }), 'option');
});

test('random maps and sizes lie within what was asked', () => {
  const x = og.zeros([64, 1, 9, 9]);
  x.at(':', 0, 4, 4).fill_(1);
  const moved = t.randomAffine({ translate: [0.25, 0] })(x, generator());
  const columns = new Set(
    moved
      .reshape([64, -1])
      .argmax(-1)
      .tolist()
      .map((i) => (assert.equal(Math.floor(i / 9), 4), i % 9)),
  );
  assert.deepEqual(
    [...columns].sort((a, b) => a - b),
    [2, 3, 4, 5, 6],
  );
  const turned = t.randomRotation([0, 10])(images(3), generator());
  assert.ok(og.isfinite(turned).all().item());
  assert.notDeepEqual(turned.at(0).tolist(), t.rotate(0)(images(3)).at(0).tolist());
  near(t.randomAffine({})(images(2)), images(2), 1e-3);
  const flat = t.randomResizedCrop([5, 7])(og.full([8, 3, 12, 9], 2), generator());
  near(flat, og.full([8, 3, 5, 7], 2));
  // Of a ramp, every part is a ramp between its ends.
  const ramp = og.arange(32).reshape([1, 1, 1, 32]).expand([8, 1, 32, 32]);
  const parts = t.randomResizedCrop(8, { scale: [0.25, 0.25], ratio: [1, 1] })(ramp, generator());
  const steps = parts.at('...', [1, 8]).sub(parts.at('...', [0, 7]));
  near(steps, og.full([8, 1, 8, 7], 2), 1e-4);
  code(() => t.randomRotation([10, 0]), 'option');
  code(() => t.randomRotation(-1), 'option');
  code(() => t.randomAffine({ translate: [2, 0] }), 'option');
});

test('colours: jitter within bounds, hue around the circle', () => {
  const x = og.rand([16, 3, 4, 4], generator(3));
  const bright = t.colorJitter({ brightness: 0.5 })(x.mul(0.5), generator());
  const factors = bright.div(x.mul(0.5)).reshape([16, -1]);
  near(factors.amax(-1), factors.amin(-1), 1e-4);
  assert.ok(factors.amin().item() >= 0.5 && factors.amax().item() < 1.5);
  const grey = og.full([4, 3, 2, 2], 0.5);
  near(t.colorJitter({ contrast: 1, saturation: 1, hue: 0.5 })(grey, generator()), grey);
  const turned = t.colorJitter({ hue: 0.5 })(x, generator());
  near(turned.amax([1]), x.amax([1]));
  near(turned.amin([1]), x.amin([1]));
  // Hue's own arithmetic against colorsys' formulas, with one image turned by a share that is read back from red.
  const red = og.tensor([1, 0, 0], { shape: [1, 3, 1, 1] }).expand([32, 3, 1, 1]);
  for (const [r, g, b] of t.colorJitter({ hue: 0.5 })(red, generator()).reshape([32, 3]).tolist()) {
    assert.equal(Math.max(r, g, b), 1);
    assert.equal(Math.min(r, g, b), 0);
  }
  const saturated = t.colorJitter({ saturation: 0.9, contrast: 0.9 })(x, generator());
  assert.ok(saturated.amin().item() >= 0 && saturated.amax().item() <= 1);
  code(() => t.colorJitter({ hue: 0.6 }), 'option');
  code(() => t.colorJitter({ hue: 0.1 })(og.zeros([1, 2, 2])), 'shape');
});

test('the same seed, the same images; nothing is left behind; no gradient is recorded', () => {
  const all = t.compose(
    t.toFloat(),
    t.randomCrop(4, { padding: 1 }),
    t.randomHorizontalFlip(),
    t.randomRotation(10),
    t.randomResizedCrop(6),
    t.colorJitter({ brightness: 0.1, contrast: 0.1, saturation: 0.1, hue: 0.1 }),
    t.normalize(0.5, 0.5),
  );
  const x = images(5, 4, 6, 'uint8');
  const run = (seed) => og.scope(() => all(x, generator(seed)).toTypedArray());
  assert.deepEqual(run(1), run(1));
  assert.notDeepEqual(run(1), run(2));
  const before = og.memory().tensors;
  const y = all(x, generator());
  assert.ok(og.memory().tensors - before <= 2);
  y.dispose();
  assert.equal(t.toFloat()(og.ones([1, 2, 2], { requiresGrad: true })).requiresGrad, false);
  const one = og.ones([1, 1, 1]);
  assert.equal(og.scope(() => t.compose()(one)).item(), 1);
  assert.equal(one.item(), 1);
});
