// What every module can do: modes, freezing, dtypes, walking, names that PyTorch gave, summaries, containers.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';

await og.init({ variant: 'single' });
const keys = (module) => Object.keys(module.stateDict());
const near = (x, y) => assert.ok(Math.abs(x - y) < 1e-6, `${x} against ${y}`);

class Net extends nn.Module {
  norm = new nn.BatchNorm1d(3);
  head = new nn.Linear(3, 2);
  table = nn.buffer(og.ones([2]), { persistent: false });
  forward(x) {
    return this.head.call(this.norm.call(x));
  }
}

test('walks: modules, children, buffers; apply goes from the leaves up', () => {
  const net = new Net();
  const named = (list) => Array.from(list, ([name]) => name);
  assert.deepEqual(named(net.namedModules()), ['', 'norm', 'head']);
  assert.deepEqual(named(net.namedChildren()), ['norm', 'head']);
  assert.deepEqual(named(net.namedBuffers()), [
    'table',
    'norm.running_mean',
    'norm.running_var',
    'norm.num_batches_tracked',
  ]);
  assert.deepEqual(keys(net), [
    ...['norm.weight', 'norm.bias', 'norm.running_mean', 'norm.running_var', 'norm.num_batches_tracked'],
    ...['head.weight', 'head.bias'],
  ]);
  const order = [];
  net.apply((module) => void order.push(module.constructor.name));
  assert.deepEqual(order, ['BatchNorm1d', 'Linear', 'Net']);
  const shared = new nn.Linear(1, 1);
  const twice = new nn.Sequential(shared, shared);
  assert.equal(twice.modules().length, 2);
  assert.equal(twice.parameters().length, 2);
  assert.deepEqual(keys(twice), ['0.weight', '0.bias', '1.weight', '1.bias']);
});

test('to casts in place: the same tensors, with gradients; integers stay', () => {
  const net = new Net();
  const { weight } = net.head;
  const before = weight.tolist();
  net
    .call(og.randn([4, 3]))
    .sum()
    .backward();
  const grad = weight.grad.tolist();
  assert.equal(net.to('float64'), net);
  assert.equal(weight, net.head.weight);
  assert.deepEqual([weight.dtype, weight.requiresGrad, weight.isLeaf], ['float64', true, true]);
  assert.deepEqual([weight.tolist(), weight.grad.tolist(), weight.grad.dtype], [before, grad, 'float64']);
  assert.equal(net.norm.runningMean.dtype, 'float64');
  assert.equal(net.norm.numBatchesTracked.dtype, 'int64');
  assert.equal(net.call(og.zeros([2, 3], { dtype: 'float64' })).dtype, 'float64');
  og.scope(() => net.to('float32'));
  assert.deepEqual(weight.tolist(), before, 'no scope frees what a cast made');
  assert.throws(() => net.to('float16'), /to: dtype is 'float16'; it must be float32 or float64/);
});

test('requiresGrad_ freezes, and frozen parameters get no gradient', () => {
  const net = new Net();
  net.norm.requiresGrad_(false);
  net
    .call(og.randn([4, 3]))
    .sum()
    .backward();
  assert.equal(net.norm.weight.grad, null);
  assert.ok(net.head.weight.grad);
  assert.ok(net.requiresGrad_().norm.weight.requiresGrad);
});

test('dispose frees parameters and buffers', () => {
  const { tensors } = og.memory();
  const net = new Net();
  net.dispose();
  assert.equal(og.memory().tensors, tensors);
});

describe('loadStateDict', () => {
  const net = () => new nn.Sequential({ a: new nn.Linear(2, 1), b: new nn.Linear(1, 1) });
  const dict = { 'a.weight': og.ones([2]), 'a.bias': og.ones([1], { dtype: 'int32' }), 'c.x': og.ones([1]) };

  test('names everything at once', () => {
    assert.throws(
      () => net().loadStateDict(dict),
      (error) => {
        assert.equal(error.code, 'state-dict');
        assert.match(error.message, /^loadStateDict: missing: b\.weight, b\.bias; unexpected: c\.x; /);
        assert.match(
          error.message,
          /'a\.weight' is \[2\] but the module has \[1, 2\]; 'a\.bias' is int32 but/,
        );
        return true;
      },
    );
    assert.throws(
      () => net().loadStateDict(dict, { strict: false }),
      /^OmnigradError: loadStateDict: 'a\.weight' is/,
    );
    assert.throws(() => net().loadStateDict({ ...dict, 'a.weight': 3, 'b.bias': [1] }), {
      code: 'state-dict',
      message:
        /missing: b\.weight; unexpected: c\.x; 'a\.weight' is 3; it must be a Tensor.*'a\.bias' is int32.*'b\.bias' is \[1\]; it must/,
    });
    const whole = net().stateDict();
    assert.throws(() => net().loadStateDict({ ...whole, 'a.weight': 3 }), { code: 'argument' });
  });

  test('without strict it tells what was missing and unexpected', () => {
    const found = net().loadStateDict({ 'a.bias': og.ones([1]), x: og.ones([1]) }, { strict: false });
    assert.deepEqual(found.missingKeys, ['a.weight', 'b.weight', 'b.bias']);
    assert.deepEqual(found.unexpectedKeys, ['x']);
  });

  test('a key map renames, or leaves out', () => {
    const [from, to] = [net(), net()];
    const renamed = Object.fromEntries(
      Object.entries(from.stateDict()).map(([name, x]) => [`module.${name.replace('weight', 'w')}`, x]),
    );
    const pairs = [
      [/^module\./, ''],
      ['.w', '.weight'],
    ];
    to.loadStateDict({ ...renamed }, { keyMap: pairs });
    assert.deepEqual(to.at(0).weight.tolist(), from.at(0).weight.tolist());
    const keyMap = (name) => (name === 'junk' ? null : name.replace('module.', '').replace(/w$/, 'weight'));
    net().loadStateDict({ ...renamed, junk: og.ones([1]) }, { keyMap });
    assert.throws(() => net().loadStateDict(renamed, { keyMap: () => 'x' }), /the name 'x' twice, also for/);
    assert.throws(() => net().loadStateDict(renamed, { keyMap: () => 3 }), /keyMap gave 3 for/);
    assert.throws(
      () => net().loadStateDict(renamed, { keyMap: [['a']] }),
      /keyMap is .*; it must be a function/,
    );
  });

  test('halves and float64 go into float32', () => {
    const layer = new nn.Linear(2, 1);
    layer.loadStateDict({
      weight: og.tensor([[0.5, 2]], { dtype: 'bfloat16' }),
      bias: og.tensor([3], { dtype: 'float64' }),
    });
    assert.deepEqual(
      [layer.weight.tolist(), layer.bias.tolist(), layer.bias.dtype],
      [[[0.5, 2]], [3], 'float32'],
    );
  });
});

describe('containers', () => {
  test('Sequential: by name, at, append, iteration', () => {
    const net = new nn.Sequential({ up: new nn.Linear(2, 3), bend: new nn.ReLU() }).append(
      new nn.Linear(3, 1),
    );
    assert.deepEqual(keys(net), ['up.weight', 'up.bias', '2.weight', '2.bias']);
    assert.equal(net.length, 3);
    assert.equal(net.at(-1).weight.shape[0], 1);
    assert.deepEqual(
      [...net].map((m) => m.constructor.name),
      ['Linear', 'ReLU', 'Linear'],
    );
    assert.deepEqual([...net.call(og.ones([4, 2])).shape], [4, 1]);
    assert.throws(() => new nn.Sequential({ a: 3 }), /Sequential: module 'a' is 3; it must be a Module/);
  });

  test('ModuleList and ModuleDict hold modules of any kind', () => {
    class Two extends nn.Module {
      list = new nn.ModuleList([new nn.Linear(1, 1), new nn.Linear(1, 1)]);
      dict = new nn.ModuleDict({ a: new nn.Linear(1, 1) });
      weights = new nn.ParameterList([og.ones([2])]);
      forward(x) {
        for (const layer of this.list) x = layer.call(x);
        return this.dict.get('a').call(x);
      }
    }
    const net = new Two();
    net.list.insert(0, new nn.Identity());
    net.dict.set('b', new nn.Linear(1, 2));
    assert.deepEqual(
      Array.from(net.namedParameters(), ([name]) => name).filter((name) => !name.endsWith('bias')),
      ['list.1.weight', 'list.2.weight', 'dict.a.weight', 'dict.b.weight', 'weights.0'],
    );
    assert.deepEqual([net.list.length, net.dict.size, net.weights.length], [3, 2, 1]);
    assert.deepEqual([...net.dict.keys()], ['a', 'b']);
    assert.ok(net.dict.has('a') && net.dict.delete('a') && !net.dict.has('a'));
    assert.ok(net.weights.at(0).requiresGrad);
    assert.throws(() => net.list.call(), /ModuleList: it only holds others/);
    assert.throws(
      () => net.list.append((x) => x),
      /ModuleList: module 3 is a function; it must be a Module; a function/,
    );
  });
});

test('a summary tells shapes, parameters and bytes, and changes nothing', () => {
  const net = new nn.Sequential(
    new nn.Conv2d(1, 4, 3),
    new nn.BatchNorm2d(4),
    new nn.Flatten(),
    new nn.Linear(16, 2),
  );
  net.at(3).requiresGrad_(false);
  net.at(1).eval();
  const told = nn.summary(net, og.zeros([5, 1, 4, 4]));
  assert.deepEqual(
    told.rows.map(({ name, type, outputShapes, parameters, bytes }) => [
      name,
      type,
      outputShapes[0],
      parameters,
      bytes,
    ]),
    [
      ['', 'Sequential', [5, 2], 0, 0],
      ['0', 'Conv2d', [5, 4, 2, 2], 40, 160],
      ['1', 'BatchNorm2d', [5, 4, 2, 2], 8, 72],
      ['2', 'Flatten', [5, 16], 0, 0],
      ['3', 'Linear', [5, 2], 34, 136],
    ],
  );
  assert.deepEqual([told.parameters, told.trainable, told.bytes], [82, 48, 368]);
  assert.match(String(told), /Conv2d \(0\) +\[5, 4, 2, 2\] +40 +160\n/);
  assert.match(String(told), /82 parameters, 48 of them trained; 368 bytes$/);
  assert.equal(net.at(1).numBatchesTracked.item(), 0);
  assert.deepEqual([net.training, net.at(0).training, net.at(1).training], [true, true, false]);
});

test('a module prints its tree', () => {
  const text = inspect(new nn.Sequential(new nn.Linear(2, 1), new nn.Sequential(new nn.ReLU())));
  assert.equal(
    text,
    'Sequential() {\n  0: Linear(weight: [1, 2], bias: [1])\n  1: Sequential() {\n    0: ReLU()\n  }\n}',
  );
});

describe('running statistics', () => {
  test('move in training alone, and are counted; momentum null is the mean of all', () => {
    const norm = new nn.BatchNorm1d(1, { momentum: null });
    const batches = [og.tensor([[1], [3]]), og.tensor([[5], [9]])];
    for (const x of batches) norm.call(x);
    assert.equal(norm.numBatchesTracked.item(), 2);
    near(norm.runningMean.item(), 4.5);
    near(norm.runningVar.item(), (2 + 8) / 2);
    norm.eval().call(batches[0]);
    assert.equal(norm.numBatchesTracked.item(), 2);
    near(norm.call(og.tensor([[4.5]])).item(), 0);
  });

  test('a checkpointed forward is counted once', () => {
    const norm = new nn.BatchNorm1d(2);
    const x = og.randn([4, 2], { requiresGrad: true });
    og.checkpoint((value) => norm.call(value), x)
      .square()
      .sum()
      .backward();
    assert.equal(norm.numBatchesTracked.item(), 1);
  });
});

describe('inputs of one rank', () => {
  test('a batch axis may be missing', () => {
    const x = og.randn([3, 6, 6]);
    for (const layer of [
      new nn.Conv2d(3, 2, 3),
      new nn.MaxPool2d(2),
      new nn.ZeroPad2d(1),
      new nn.InstanceNorm2d(3),
    ]) {
      const whole = layer.call(x.reshape([1, 3, 6, 6])).at(0);
      assert.deepEqual(layer.call(x).tolist(), whole.tolist(), layer.constructor.name);
    }
  });

  test('another rank is refused, with the shape', () => {
    for (const layer of [new nn.Conv2d(3, 2, 3), new nn.MaxPool2d(2), new nn.AdaptiveAvgPool2d(1)])
      assert.throws(
        () => layer.call(og.ones([2, 3])),
        /: the input is \[2, 3\]; it must be \[N, C, H, W\] or \[C, H, W\]/,
      );
    assert.throws(
      () => new nn.BatchNorm2d(3).call(og.ones([2, 3])),
      /BatchNorm2d: the input is \[2, 3\]; it must have 4/,
    );
    const norm = new nn.BatchNorm2d(3);
    assert.throws(() => norm.call(og.ones([2, 4, 1, 1])), /batchNorm: /);
    assert.equal(norm.numBatchesTracked.item(), 0, 'what is refused is not counted');
  });
});

test("padding 'same' and other edges", () => {
  const x = og.randn([1, 1, 5]);
  const layer = new nn.Conv1d(1, 1, 4, {
    padding: 'same',
    dilation: 2,
    paddingMode: 'circular',
    bias: false,
  });
  const expected = og.conv(og.pad(x, [[3, 3]], { mode: 'circular' }), layer.weight, { dilation: 2 });
  assert.deepEqual(layer.call(x).tolist(), expected.tolist());
  assert.equal(layer.call(x).shape[2], 5);
  assert.throws(
    () => new nn.Conv1d(1, 1, 3, { padding: 'same', stride: 2 }),
    /padding is 'same'; it needs stride 1/,
  );
});

test('maxNorm shortens the rows that are looked up, and only those', () => {
  const table = new nn.Embedding(3, 2, { maxNorm: 1 });
  og.noGrad(() =>
    table.weight.copy_(
      og.tensor([
        [3, 4],
        [0.3, 0.4],
        [6, 8],
      ]),
    ),
  );
  table
    .call(og.tensor([0n, 1n, 0n]))
    .sum()
    .backward();
  const rows = table.weight.tolist();
  near(rows[0][0], 0.6);
  near(rows[1][1], 0.4);
  near(rows[2][0], 6);
  assert.deepEqual(table.weight.grad.tolist(), [
    [2, 2],
    [1, 1],
    [0, 0],
  ]);
});

test('indices of pooling come along, and unpooling puts back', () => {
  const x = og.randn([1, 1, 4, 4]);
  const [y, indices] = new nn.MaxPool2d(2, { returnIndices: true }).call(x);
  const back = new nn.MaxUnpool2d(2).call(y, indices);
  assert.deepEqual(back.amax([2, 3]).tolist(), x.amax([2, 3]).tolist());
  assert.equal(back.ne(0).sum().item(), 4);
});
