// Layers that few networks have: values as PyTorch gives them, what must hold of them, refusals. (The state dicts,
// gradients and ten steps of most are parity's, in the network "rare".)
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

before(async () => {
  await og.init({ variant: 'single' });
  og.manualSeed(1);
});

const f64 = (data, options) => og.tensor(data, { dtype: 'float64', ...options });
const int64 = (data) => og.tensor(data, { dtype: 'int64' });
const refuses = (fn, code, pattern) =>
  assert.throws(fn, (error) => {
    assert.ok(og.OmnigradError.is(error), String(error.stack));
    assert.equal(error.code, code);
    assert.match(error.message, pattern);
    return true;
  });

test('fractional max pooling in three dimensions', () => {
  const values = Float64Array.from({ length: 96 }, (_, i) => (i * 37) % 97);
  const x = og.tensor(values, { shape: [1, 1, 4, 4, 6] });
  const options = { outputSize: [2, 2, 3], randomSamples: f64([[[0.3, 0.8, 0.1]]]), returnIndices: true };
  const [y, indices] = new nn.FractionalMaxPool3d(2, options).call(x);
  assert.deepEqual(y.reshape([-1]).tolist(), [80, 89, 94, 93, 85, 90, 95, 87, 96, 86, 91, 92]);
  assert.deepEqual(indices.reshape([-1]).tolist(), [31, 26, 34, 13, 39, 47, 55, 81, 76, 60, 68, 89]);
});

test('fractional max pooling draws its windows, the same for a seed, inside the image', () => {
  const x = og.randn([2, 3, 9, 8]);
  const pool = (seed) =>
    new nn.FractionalMaxPool2d([2, 3], { outputRatio: [0.5, 0.4], generator: new og.Generator(seed) }).call(
      x,
    );
  assert.deepEqual(pool(1).shape, [2, 3, 4, 3]);
  assert.deepEqual(pool(1).tolist(), pool(1).tolist());
  assert.notDeepEqual(pool(1).tolist(), pool(2).tolist());
  assert.deepEqual(new nn.FractionalMaxPool2d(2, { outputSize: 3 }).call(x.at(0)).shape, [3, 3, 3]);
});

test('bags without their padding, and with a last offset', () => {
  const table = (options) => {
    const layer = new nn.EmbeddingBag(6, 2, { dtype: 'float64', paddingIdx: 1, ...options });
    layer.loadStateDict({ weight: og.arange(0, 12, 1, { dtype: 'float64' }).reshape([6, 2]) });
    return layer;
  };
  const mean = table({ paddingIdx: -5 });
  assert.deepEqual(mean.call(int64([[0, 1, 2], [1, 1, 1], [3, 1, 5]])).tolist(), [[2, 3], [0, 0], [8, 9]]); // prettier-ignore
  const sum = table({ mode: 'sum', includeLastOffset: true });
  const weights = f64([1, 2, 3, 4], { requiresGrad: true });
  const y = sum.call(int64([0, 1, 2, 5]), int64([0, 1, 4]), weights);
  assert.deepEqual(y.tolist(), [
    [0, 1],
    [52, 59],
  ]);
  y.sum().backward();
  assert.deepEqual(weights.grad.tolist(), [1, 0, 9, 21]);
  assert.deepEqual(sum.weight.grad.at(1).tolist(), [0, 0]);
  assert.deepEqual(
    table({ mode: 'max' })
      .call(int64([0, 1, 2, 5]), int64([0, 1, 2]))
      .tolist(),
    [
      [0, 1],
      [0, 0],
      [10, 11],
    ],
  );
  assert.deepEqual(new nn.EmbeddingBag(6, 2, { paddingIdx: 3 }).weight.at(3).tolist(), [0, 0]);
  refuses(
    () => new nn.EmbeddingBag(6, 2, { paddingIdx: 6 }),
    'option',
    /EmbeddingBag: paddingIdx is 6; there are 6/,
  );
  refuses(
    () => sum.call(int64([0, 1]), int64([0, 5])),
    'index',
    /the last bag ends at 5; the index is \[2\]/,
  );
  refuses(() => sum.call(int64([0, 1])), 'shape', /includeLastOffset needs offsets \[B \+ 1\]/);
});

test('the adaptive softmax is a softmax: probabilities of all classes, those of the targets among them', () => {
  const layer = new nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 11], { dtype: 'float64', headBias: true });
  const x = og.randn([6, 8], { dtype: 'float64' });
  const all = layer.logProb(x);
  for (const total of all.exp().sum(1).tolist()) assert.ok(Math.abs(total - 1) < 1e-12);
  const classes = int64([0, 3, 4, 10, 11, 19]);
  const { output, loss } = layer.call(x, classes);
  const picked = all.gather(1, classes.reshape([-1, 1])).reshape([-1]);
  output.tolist().forEach((value, i) => assert.ok(Math.abs(value - picked.at(i).item()) < 1e-12));
  assert.ok(Math.abs(loss.item() + picked.mean().item()) < 1e-12);
  assert.deepEqual(layer.predict(x).tolist(), all.argmax(1).tolist());
  const one = layer.call(x.at(0), int64(0));
  assert.deepEqual(one.output.shape, []);
  assert.ok(Math.abs(one.output.item() - output.at(0).item()) < 1e-12);
  refuses(
    () => layer.call(x, int64([0, 1, 2, 3, 4, 20])),
    'index',
    /target 20 is no class; there are 20, from 0/,
  );
  refuses(() => layer.call(x, int64([0])), 'shape', /the target \[1\] does not fit the input \[6, 8\]/);
  refuses(
    () => layer.call(og.ones([6, 7]), classes),
    'shape',
    /the input is \[6, 7\]; it must be \[N, 8\] or \[8\]/,
  );
  const make = (cutoffs) => () => new nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs);
  refuses(make([4, 4]), 'option', /cutoffs are \[4, 4\]; they must be/);
  refuses(make([4, 20]), 'option', /ascending/);
  refuses(make([]), 'option', /cutoffs is \[\]/);
});

test('feature alpha dropout drops channels whole, and keeps mean and variance', () => {
  const x = og.uniform([4000, 3, 2], -Math.sqrt(3), Math.sqrt(3)); // variance 1, and above the limit
  const layer = new nn.FeatureAlphaDropout(0.4);
  const y = layer.call(x);
  const [mean, deviation] = [y.mean().item(), y.std().item()];
  assert.ok(Math.abs(mean) < 0.05 && Math.abs(deviation - 1) < 0.05, `${mean}, ${deviation}`);
  // What is dropped is one number, in all places of its channel.
  const limit = y.amin().item();
  const dropped = y.sub(limit).abs().lt(1e-6);
  assert.deepEqual(dropped.at(':', ':', 0).tolist(), dropped.at(':', ':', 1).tolist());
  const share = dropped.cast('float32').mean().item();
  assert.ok(Math.abs(share - 0.4) < 0.03, `${share}`);
  assert.deepEqual(layer.eval().call(x).tolist(), x.tolist());
  refuses(() => og.featureAlphaDropout(og.ones([3])), 'shape', /x is \[3\]; it must be \[N, C, \.\.\.\]/);
});

test('a projected LSTM: sequences of a batch are what they are alone, to the last state', () => {
  const layer = new nn.LSTM(3, 5, { projSize: 2, bidirectional: true, numLayers: 2, dtype: 'float64' });
  assert.deepEqual(Object.keys(layer.stateDict()).slice(0, 5), [
    ...['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0', 'weight_hr_l0'],
  ]);
  const x = og.randn([6, 2, 3], { dtype: 'float64' });
  const [y, [h, c]] = layer.call(x, null, { lengths: [6, 4] });
  assert.deepEqual([y.shape, h.shape, c.shape], [[6, 2, 4], [4, 2, 2], [4, 2, 5]]); // prettier-ignore
  const [alone, [hAlone, cAlone]] = layer.call(x.at([0, 4], 1));
  const same = (a, b) => assert.ok(a.sub(b).abs().amax().item() < 1e-12);
  same(y.at([0, 4], 1), alone);
  same(h.at(':', 1), hAlone);
  same(c.at(':', 1), cAlone);
  assert.equal(y.at([4, 6], 1).abs().sum().item(), 0);
  const batchFirst = new nn.LSTM(3, 5, { projSize: 2, batchFirst: true });
  assert.deepEqual(batchFirst.call(og.ones([2, 6, 3]))[0].shape, [2, 6, 2]);
  refuses(
    () => new nn.LSTM(3, 5, { projSize: 5 }),
    'option',
    /projSize is 5; it must be below hiddenSize, 5/,
  );
  refuses(() => new nn.GRU(3, 5, { projSize: 2 }), 'option', /unknown option 'projSize'/);
  refuses(() => layer.call(og.ones([6, 2, 4])), 'shape', /the input is \[6, 2, 4\]; its last axis must be 3/);
});

test('channel shuffle, upsampling, parameters by name', () => {
  const x = og.arange(0, 6, 1).reshape([1, 6, 1]);
  assert.deepEqual(new nn.ChannelShuffle(3).call(x).reshape([-1]).tolist(), [0, 2, 4, 1, 3, 5]);
  refuses(() => new nn.ChannelShuffle(4).call(x), 'shape', /C that 4 groups divide/);
  const small = og.tensor([[[[0, 2], [4, 6]]]]); // prettier-ignore
  assert.deepEqual(
    new nn.UpsamplingBilinear2d({ size: [3, 3] }).call(small).reshape([-1]).tolist(),
    [0, 1, 2, 2, 3, 4, 4, 5, 6],
  );
  refuses(() => new nn.UpsamplingNearest2d({ mode: 'cubic' }), 'option', /unknown option 'mode'/);
  const dict = new nn.ParameterDict({ a: og.ones([2]), b: og.zeros([1]) });
  assert.deepEqual(Object.keys(dict.stateDict()), ['a', 'b']);
  assert.ok(dict.get('a').requiresGrad && dict.parameters().length === 2);
  refuses(() => dict.set('c', 3), 'argument', /ParameterDict: 'c' is 3; it must be a Tensor/);
  refuses(
    () => new nn.ModuleDict([new nn.Linear(1, 1)]),
    'argument',
    /ModuleDict: modules hold an object of Linear/,
  );
});

test("a factor for each axis: PyTorch's values", () => {
  const x = og.tensor(
    Float64Array.from({ length: 12 }, (_, i) => i ** 2 / 10),
    { shape: [1, 1, 3, 4], requiresGrad: true },
  );
  const expected = {
    nearest: [0, 0.1, 0, 0.1, 1.6, 2.5, 6.4, 8.1],
    bilinear: [0.03333, 0.4, 0.96667, 2, 2.74444, 4.66667, 6.12222, 8.93333],
    bicubic: [-0.14208, 0.12222, 0.44907, 1.4, 2.69777, 4.7963, 6.14235, 9.13704],
  };
  for (const [mode, values] of Object.entries(expected)) {
    const y = new nn.Upsample({ scaleFactor: [1.5, 0.6], mode }).call(x);
    assert.deepEqual(y.shape, [1, 1, 4, 2]);
    y.reshape([-1])
      .tolist()
      .forEach((found, i) => {
        assert.ok(Math.abs(found - values[i]) < 6e-6, `${mode}: ${found} against ${values[i]}`);
      });
    // Resizing is linear: its gradient is its adjoint.
    const [direction, weight] = [
      og.randn(x.shape, { dtype: 'float64' }),
      og.randn(y.shape, { dtype: 'float64' }),
    ];
    const layer = new nn.Interpolate({ scaleFactor: [1.5, 0.6], mode });
    const [gradient] = og.grad(layer.call(x).mul(weight).sum(), [x]);
    const [there, back] = [layer.call(direction).mul(weight), gradient.mul(direction)];
    assert.ok(Math.abs(there.sum().item() - back.sum().item()) < 1e-12, mode);
  }
  const z = og.randn([2, 3, 4, 5, 6]);
  for (const mode of ['nearest-exact', 'trilinear', 'lanczos3']) {
    const [all, each] = [1.7, [1.7, 1.7, 1.7]].map((scaleFactor) =>
      new nn.Upsample({ scaleFactor, mode }).call(z),
    );
    assert.deepEqual(each.shape, all.shape);
    assert.ok(each.sub(all).abs().amax().item() < 1e-5, mode);
  }
  assert.deepEqual(
    new nn.UpsamplingNearest2d({ scaleFactor: [2, 3] }).call(og.ones([0, 2, 4, 5])).shape,
    [0, 2, 8, 15],
  );
  refuses(() => new nn.Upsample({ scaleFactor: [2, 2] }).call(z), 'shape', /each with a factor/);
  refuses(() => new nn.Upsample({ scaleFactor: [2, 2, 2], mode: 'bilinear' }).call(z), 'shape', /2 axes/);
});
