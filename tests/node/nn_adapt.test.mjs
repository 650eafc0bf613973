// Layers that are changed after they were made: low-rank adapters, parametrizations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

await og.init({ variant: 'single' });
og.manualSeed(7);
function close(actual, expected, tolerance = 1e-5) {
  assert.deepEqual([...actual.shape], [...expected.shape]);
  const worst = actual.sub(expected).abs().amax().item();
  assert.ok(worst <= tolerance, `off by ${worst}`);
}
const randomize = (lora) => og.noGrad(() => lora.parameters().forEach((p) => nn.init.normal_(p)));

const targets = [
  ['Linear', () => new nn.Linear(3, 4), [2, 5, 3]],
  ['Conv1d', () => new nn.Conv1d(4, 6, 3, { padding: 1, groups: 2 }), [2, 4, 7]],
  ['Conv2d', () => new nn.Conv2d(3, 4, 3, { stride: 2, padding: 'valid', dilation: 2 }), [2, 3, 9, 9]],
  [
    'Conv2d, depthwise, circular',
    () => new nn.Conv2d(4, 4, 3, { padding: 1, groups: 4, paddingMode: 'circular' }),
    [2, 4, 5, 5],
  ],
  ['Conv3d', () => new nn.Conv3d(2, 3, 2), [1, 2, 3, 3, 3]],
];

describe('LoRA', () => {
  for (const [name, make, shape] of targets) {
    test(`${name}: nothing changes at first; merged and unmerged agree; only the adapters are trained`, () => {
      const layer = make();
      const x = og.randn(shape);
      const before = layer.call(x);
      const weights = layer.weight.clone();
      const lora = nn.applyLora(layer, { rank: 2, alpha: 3 });
      assert.deepEqual(layer.call(x).tolist(), before.tolist());
      randomize(lora);
      const adapted = layer.call(x);
      assert.ok(adapted.sub(before).abs().amax().item() > 0.1);

      lora.merge();
      assert.ok(lora.merged);
      close(layer.call(x), adapted, 1e-4);
      lora.merge(); // once is enough
      close(layer.call(x), adapted, 1e-4);
      lora.unmerge();
      close(layer.weight, weights, 1e-5);
      close(layer.call(x), adapted, 1e-4);

      const optimizer = new optim.SGD(lora.parameters(), { lr: 0.1 });
      const frozen = layer.weight.tolist();
      optimizer.minimize(() => layer.call(x).square().mean());
      assert.deepEqual(layer.weight.tolist(), frozen);
      assert.equal(layer.weight.grad, null);
      for (const p of lora.parameters()) assert.ok(p.grad.abs().sum().item() > 0);

      lora.remove();
      close(layer.call(x), before, 1e-4);
      assert.ok(layer.weight.requiresGrad);
      assert.deepEqual(Object.keys(layer.stateDict()), ['weight', 'bias']);
    });
  }

  const makeNet = () =>
    new nn.TransformerEncoder(
      () => new nn.TransformerEncoderLayer(4, 2, { dimFeedforward: 6, dropout: 0 }),
      2,
    );

  test('targets by name; the state dict of the adapters alone goes out and in', () => {
    const net = makeNet();
    net.layers.at(0).norm1.requiresGrad_(false);
    const lora = nn.applyLora(net, { target: /linear\d$/, rank: 1 });
    assert.deepEqual(lora.layers, [
      'layers.0.linear1',
      'layers.0.linear2',
      'layers.1.linear1',
      'layers.1.linear2',
    ]);
    assert.deepEqual(Object.keys(lora.stateDict()).slice(0, 2), [
      'layers.0.linear1.lora_A.weight',
      'layers.0.linear1.lora_B.weight',
    ]);
    assert.equal(net.parameters().filter((p) => p.requiresGrad).length, 8);
    randomize(lora);
    const base = Object.entries(net.stateDict()).filter(([name]) => !name.includes('lora'));
    const other = makeNet();
    other.loadStateDict(Object.fromEntries(base));
    const second = nn.applyLora(other, { target: (name) => /linear\d$/.test(name), rank: 1 });
    second.loadStateDict(lora.stateDict());
    const x = og.randn([3, 2, 4]);
    assert.deepEqual(other.call(x).tolist(), net.call(x).tolist());
    assert.throws(() => second.loadStateDict({}), /loadStateDict: missing: layers\.0\.linear1\.lora_A/);
    second.merge();
    assert.throws(
      () => second.loadStateDict(lora.stateDict()),
      /Lora: the adapters are merged; unmerge\(\) before/,
    );
    lora.remove();
    assert.ok(!net.layers.at(0).norm1.weight.requiresGrad, 'what was frozen before stays so');
    assert.ok(net.layers.at(1).norm1.weight.requiresGrad);
  });

  test('dropout acts in training alone; memory stays flat', () => {
    const layer = new nn.Linear(4, 4);
    const lora = nn.applyLora(layer, { dropout: 0.5 });
    randomize(lora);
    const x = og.randn([3, 4]);
    assert.notDeepEqual(layer.call(x).tolist(), layer.call(x).tolist());
    layer.eval();
    assert.deepEqual(layer.call(x).tolist(), layer.call(x).tolist());
    layer.train();
    const optimizer = new optim.Adam(lora.parameters());
    const step = () => optimizer.minimize(() => layer.call(x).square().mean());
    step();
    const { tensors, liveBytes } = og.memory();
    for (let i = 0; i < 20; i++) step();
    assert.deepEqual([og.memory().tensors, og.memory().liveBytes], [tensors, liveBytes]);
  });

  test('what is wrong is named', () => {
    const layer = new nn.Linear(2, 2);
    assert.throws(() => nn.applyLora(new nn.ReLU()), /applyLora: no Linear or Conv layer is a target/);
    assert.throws(() => nn.applyLora(layer, { target: /attn/ }), /is a target: \/attn\//);
    assert.throws(() => nn.applyLora(layer, { rank: 0 }), /rank is 0; it must be a whole number from 1/);
    assert.throws(() => nn.applyLora(layer, { target: 'x' }), /target is 'x'; it must be a RegExp/);
    nn.applyLora(layer);
    assert.throws(() => nn.applyLora(layer), /'' has an adapter; remove\(\) that first/);
  });
});

describe('parametrizations', () => {
  test('weightNorm: the same weight at first, trained as length and direction', () => {
    for (const dim of [0, 1, null]) {
      const layer = new nn.Conv2d(2, 3, 2);
      const weights = layer.weight.clone();
      nn.weightNorm(layer, 'weight', { dim });
      close(layer.weight, weights, 1e-6);
      const names = ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1'];
      assert.deepEqual(Object.keys(layer.stateDict()), names);
      layer
        .call(og.randn([1, 2, 4, 4]))
        .sum()
        .backward();
      const [, g, v] = layer.parameters();
      assert.deepEqual([...g.shape], dim === null ? [] : dim === 0 ? [3, 1, 1, 1] : [1, 2, 1, 1]);
      assert.ok(g.grad.abs().sum().item() > 0);
      // A direction's gradient is orthogonal to it, where it has a length of its own.
      assert.ok(Math.abs(v.grad.mul(v).sum().item()) < 1e-3);
      nn.removeParametrizations(layer, 'weight');
      close(layer.weight, weights, 1e-6);
      assert.deepEqual(Object.keys(layer.stateDict()), ['weight', 'bias'], 'as it was');
    }
  });

  test("PyTorch's older names load by a key map", () => {
    const layer = nn.weightNorm(new nn.Linear(2, 2));
    const keyMap = [
      ['weight_g', 'parametrizations.weight.original0'],
      ['weight_v', 'parametrizations.weight.original1'],
    ];
    const [g, v] = [
      og.tensor([[2], [3]]),
      og.tensor([
        [3, 4],
        [0, 5],
      ]),
    ];
    layer.loadStateDict({ weight_g: g, weight_v: v, bias: og.zeros([2]) }, { keyMap });
    close(
      layer.weight,
      og.tensor([
        [1.2, 1.6],
        [0, 3],
      ]),
    );
  });

  test('spectralNorm brings the largest singular value to 1, of transposed convolutions too', () => {
    const largest = (weight, dim) => {
      const rest = weight.shape.map((_, i) => i).filter((i) => i !== dim);
      return og
        .svd(weight.permute([dim, ...rest]).reshape([weight.shape[dim], -1]))[1]
        .amax()
        .item();
    };
    for (const [layer, dim] of [
      [new nn.Linear(5, 3), 0],
      [new nn.ConvTranspose2d(3, 4, 2), 1],
    ]) {
      nn.spectralNorm(layer, 'weight', { nPowerIterations: 100 });
      const value = largest(layer.weight, dim);
      assert.ok(Math.abs(value - 1) < 1e-3, `${value}`);
      const buffers = Array.from(layer.namedBuffers(), ([name]) => name);
      assert.deepEqual(buffers, ['parametrizations.weight.0._u', 'parametrizations.weight.0._v']);
      layer.eval();
      assert.deepEqual(layer.weight.tolist(), layer.weight.tolist());
    }
  });

  test('two uses before one backward pass, and memory that stays flat', () => {
    const layer = nn.spectralNorm(new nn.Linear(3, 1));
    const optimizer = new optim.Adam(layer.parameters());
    const step = () =>
      optimizer.minimize(() =>
        layer
          .call(og.ones([2, 3]))
          .sum()
          .sub(layer.call(og.zeros([2, 3])).sum()),
      );
    step();
    const { tensors, liveBytes } = og.memory();
    for (let i = 0; i < 20; i++) step();
    assert.deepEqual([og.memory().tensors, og.memory().liveBytes], [tensors, liveBytes]);
  });

  test('what is wrong is named', () => {
    const layer = nn.weightNorm(new nn.Linear(2, 2));
    assert.throws(() => nn.weightNorm(layer), /registerParametrization: 'weight' is parametrized already/);
    assert.throws(
      () => nn.weightNorm(layer, 'wait'),
      /'wait' is undefined; it must be a parameter of the module/,
    );
    assert.throws(
      () => nn.spectralNorm(layer, 'bias'),
      /spectralNorm: 'bias' is \[2\]; it must have 2 axes or more/,
    );
    assert.throws(() => nn.removeParametrizations(layer, 'bias'), /'bias' is not parametrized/);
  });
});
