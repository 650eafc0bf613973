// Hooks of modules: what they see and may replace, forwards and backwards.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

await og.init({ variant: 'single' });
const near = (x, y) => assert.ok(Math.abs(x - y) < 1e-6, `${x} against ${y}`);

describe('hooks', () => {
  test('before and after forward, in order, may replace; removed ones are gone', () => {
    const layer = new nn.Identity();
    const seen = [];
    const first = layer.registerForwardPreHook((module, [x]) => {
      seen.push(module === layer, x.item());
      return [x.add(1)];
    });
    layer.registerForwardPreHook((_, [x]) => void seen.push(x.item()));
    const last = layer.registerForwardHook((_, [x], y) => (seen.push(x.item(), y.item()), y.mul(10)));
    assert.equal(layer.call(og.tensor(1)).item(), 20);
    assert.deepEqual(seen, [true, 1, 2, 2, 2]);
    first.remove();
    last.remove();
    assert.equal(layer.call(og.tensor(1)).item(), 1);
  });

  test('backward hooks see gradients of inputs and outputs, and may replace the inputs', () => {
    const layer = new nn.Bilinear(2, 2, 1, { bias: false });
    og.noGrad(() =>
      layer.weight.copy_(
        og.tensor([
          [
            [1, 2],
            [3, 4],
          ],
        ]),
      ),
    );
    const [x1, x2] = [og.ones([1, 2], { requiresGrad: true }), og.ones([1, 2])];
    const seen = [];
    layer.registerFullBackwardHook((_, gradInputs, gradOutputs) => {
      seen.push(
        gradInputs.map((g) => g && g.tolist()),
        gradOutputs.map((g) => g.tolist()),
      );
      return gradInputs.map((g) => g && g.mul(2));
    });
    layer.call(x1, x2).mul(5).sum().backward();
    assert.deepEqual(seen, [[[[15, 35]], null], [[[5]]]]);
    assert.deepEqual(x1.grad.tolist(), [[30, 70]]);
    assert.deepEqual(layer.weight.grad.tolist(), [
      [
        [5, 5],
        [5, 5],
      ],
    ]);
  });

  test('with inputs that need no gradient, a backward hook sees the outputs alone', () => {
    const layer = new nn.Linear(2, 1);
    const seen = [];
    layer.registerFullBackwardHook((_, gradInputs, [g]) => void seen.push(gradInputs, g.tolist()));
    layer
      .call(og.ones([1, 2]))
      .sum()
      .backward();
    assert.deepEqual(seen, [[null], [[1]]]);
  });

  test('outputs that have no gradient count as null', () => {
    const layer = new nn.MaxPool1d(2, { returnIndices: true });
    const seen = [];
    layer.registerFullBackwardHook(
      (_, gradInputs, gradOutputs) => void seen.push(gradOutputs.map((g) => g?.tolist())),
    );
    const [y, indices] = layer.call(og.tensor([[[1, 2]]], { requiresGrad: true }));
    assert.equal(indices.item(), 1);
    y.sum().backward();
    assert.deepEqual(seen, [[[[[1]]], undefined]]);
    og.noGrad(() => assert.equal(layer.call(og.tensor([[[1, 2]]]))[0].item(), 2));
  });

  test('gradients of higher order pass through a hooked module', () => {
    const layer = new nn.Tanh();
    layer.registerFullBackwardHook(() => undefined);
    const f = (module) => og.hessian((x) => module.call(x).sum(), og.tensor([0.3])).item();
    near(f(layer), f(new nn.Tanh()));
  });

  test('hooks hold no memory', () => {
    const layer = new nn.Linear(2, 2);
    layer.registerForwardHook((_, __, y) => y.mul(2));
    layer.registerFullBackwardHook((_, gradInputs) => gradInputs);
    const step = () =>
      og.scope(() =>
        layer
          .call(og.randn([3, 2], { requiresGrad: true }))
          .sum()
          .backward(),
      );
    step();
    const { tensors } = og.memory();
    for (let i = 0; i < 20; i++) step();
    assert.equal(og.memory().tensors, tensors);
  });

  test('what is wrong is named', () => {
    const layer = new nn.Identity();
    assert.throws(
      () => layer.registerForwardHook(3),
      /registerForwardHook: hook is 3; it must be a function/,
    );
    layer.registerForwardPreHook(() => og.ones([1]));
    assert.throws(() => layer.call(og.ones([1])), /registerForwardPreHook: the hook returned .* list/);
  });
});
