// Modules: what is found, how it is named, initial values, state dicts, scopes.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

before(() => og.init({ variant: 'single' }));
const names = (module) => Array.from(module.namedParameters(), ([name]) => name);

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 2, 3);
  layers = [new nn.Linear(2, 3), new nn.Linear(3, 2, { bias: false })];
  byName = new Map([['out', new nn.Linear(2, 1)]]);
  scale = nn.parameter(og.ones([1]));
  seen = nn.buffer(og.zeros([1]));
  plain = og.zeros([7]);
  shared = this.scale;
  forward(x) {
    return this.conv.call(x).mul(this.scale);
  }
}

test('parameters are found in fields, arrays and Maps, each once, by dotted names', () => {
  const net = new Net();
  assert.deepEqual(names(net), [
    'scale',
    'conv.weight',
    'conv.bias',
    'layers.0.weight',
    'layers.0.bias',
    'layers.1.weight',
    'byName.out.weight',
    'byName.out.bias',
  ]);
  assert.equal(net.parameters().length, 8);
  assert.ok(net.parameters().every((p) => p.requiresGrad && p.isLeaf));
  assert.deepEqual(Object.keys(net.stateDict()).slice(0, 3), ['scale', 'shared', 'seen']);
});

test('Sequential names its modules by number; private ones are registered', () => {
  const sequence = new nn.Sequential(new nn.Linear(2, 2), new nn.ReLU(), new nn.Linear(2, 1));
  assert.deepEqual(names(sequence), ['0.weight', '0.bias', '2.weight', '2.bias']);
  assert.deepEqual([...sequence.call(og.zeros([4, 2])).shape], [4, 1]);
  class Hidden extends nn.Module {
    #inner = this.register('inner', new nn.Linear(1, 1));
    forward(x) {
      return this.#inner.call(x);
    }
  }
  assert.deepEqual(names(new Hidden()), ['inner.weight', 'inner.bias']);
});

test('train and eval reach all modules', () => {
  const net = new nn.Sequential(new nn.Dropout(0.5), new nn.Sequential(new nn.Dropout(0.5)));
  const x = og.ones([1000]);
  net.eval();
  assert.deepEqual(net.call(x).tolist(), x.tolist());
  net.train();
  const kept = net.call(x).ne(0).sum().item();
  assert.ok(kept > 150 && kept < 350, `${kept} of 1000 left by two halvings`);
});

test('call frees temporaries, keeps parameters, and gradients work', () => {
  const net = new Net();
  const before = og.memory().tensors;
  og.scope(() =>
    net
      .call(og.zeros([1, 1, 4, 4]))
      .sum()
      .backward(),
  );
  const grads = 3; // conv.weight, conv.bias, scale
  assert.ok(og.memory().tensors <= before + grads + 1);
  assert.deepEqual([...net.conv.weight.grad.shape], [2, 1, 3, 3]);
});

test('a module made in a scope outlives it', () => {
  const layer = og.scope(() => ({ layer: new nn.Linear(2, 2) })).layer;
  assert.equal(layer.weight.numel, 4);
});

test('state dicts go in and out; misfits are refused before anything is copied', () => {
  const [a, b] = [new Net(), new Net()];
  b.loadStateDict(a.stateDict());
  for (const [name, tensor] of Object.entries(a.stateDict())) {
    assert.deepEqual(tensor.tolist(), b.stateDict()[name].tolist(), name);
  }
  assert.throws(() => b.loadStateDict({ extra: og.zeros([1]) }), /missing: .*scale.*unexpected: extra/);
  const wrong = { ...a.stateDict(), scale: og.zeros([2]), 'conv.bias': og.full([2], 9) };
  assert.throws(() => b.loadStateDict(wrong), /'scale' is \[2\] but the module has \[1\]/);
  assert.notEqual(b.conv.bias.tolist()[0], 9);
  b.loadStateDict({ scale: og.full([1], 5) }, { strict: false });
  assert.equal(b.scale.item(), 5);
});

const layers = [
  ['Linear', () => new nn.Linear(16, 4), [4, 16], 1 / 4],
  ['Conv1d', () => new nn.Conv1d(4, 8, 4), [8, 4, 4], 1 / 4],
  ['Conv2d', () => new nn.Conv2d(8, 6, [1, 4], { groups: 2 }), [6, 4, 1, 4], 1 / 4],
  ['Conv3d', () => new nn.Conv3d(2, 8, 2), [8, 2, 2, 2, 2], 1 / 4],
  ['ConvTranspose2d', () => new nn.ConvTranspose2d(8, 4, 2), [8, 4, 2, 2], 1 / 4],
  ['DeformConv2d', () => new nn.DeformConv2d(4, 8, 2), [8, 4, 2, 2], 1 / 4],
];
for (const [name, make, shape, bound] of layers) {
  test(`${name} starts as PyTorch's: uniform within 1/sqrt(fan in)`, () => {
    og.manualSeed(1);
    const { weight, bias } = make();
    assert.deepEqual([...weight.shape], shape);
    for (const tensor of [weight, bias]) {
      const largest = tensor.abs().amax().item();
      assert.ok(largest <= bound && largest > bound / 2, `${largest} against ${bound}`);
    }
    og.manualSeed(1);
    assert.deepEqual(make().weight.tolist(), weight.tolist());
  });
}

test('DeformConv2dPack starts as a plain convolution', () => {
  const pack = new nn.DeformConv2dPack(2, 3, 3, { padding: 1 });
  assert.deepEqual(names(pack), ['weight', 'bias', 'conv_offset.weight', 'conv_offset.bias']);
  const x = og.randn([1, 2, 5, 5], { generator: new og.Generator(1) });
  const expected = og.conv(x, pack.weight, { bias: pack.bias, padding: 1 });
  assert.ok(pack.call(x).sub(expected).abs().amax().item() < 1e-5);
  pack.call(x).sum().backward();
  assert.deepEqual([...pack.convOffset.weight.grad.shape], [18, 2, 3, 3]);
});
