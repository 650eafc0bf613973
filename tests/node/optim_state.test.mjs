// What surrounds the steps: states that resume exactly, PyTorch's states, groups by name, moving averages.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

await og.init({ variant: 'single' });
og.manualSeed(5);
const near = (x, y, tolerance = 1e-12) => assert.ok(Math.abs(x - y) <= tolerance, `${x} against ${y}`);

const kinds = [
  ['SGD', { lr: 0.1, momentum: 0.9, nesterov: true }],
  ['Adam', { amsgrad: true }],
  ['AdamW', {}],
  ['Adagrad', { initialAccumulatorValue: 0.1 }],
  ['Adadelta', {}],
  ['Adamax', {}],
  ['NAdam', {}],
  ['RAdam', {}],
  ['RMSprop', { momentum: 0.9, centered: true }],
  ['Lion', {}],
  ['Adan', {}],
  ['Muon', {}],
  ['Rprop', { lr: 0.05, stepSizes: [1e-4, 1] }],
  ['ASGD', { lambd: 0.1, t0: 2 }],
  ['LBFGS', { lineSearchFn: 'strongWolfe', maxIter: 3 }],
];

const makeNet = () =>
  new nn.Sequential(
    new nn.Linear(3, 4, { bias: false }),
    new nn.Tanh(),
    new nn.Linear(4, 2, { bias: false }),
  );
const x = og.randn([5, 3]);
const y = og.randn([5, 2]);
const train = (net, optimizer, schedule, steps) => {
  for (let i = 0; i < steps; i++) {
    optimizer.minimize(() => og.mseLoss(net.call(x), y));
    schedule?.step();
  }
};
// A copy as a file would give it: nothing is shared with what it was made of.
const copied = (value) => {
  if (value instanceof og.Tensor)
    return og.tensor(value.toTypedArray(), { shape: value.shape, dtype: value.dtype });
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copied);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copied(item)]));
};
const values = (net) => net.parameters().map((p) => p.tolist());

describe('a run that is resumed gives the same bits as one that was not stopped', () => {
  for (const [name, options] of kinds) {
    test(name, () => {
      const net = makeNet();
      const optimizer = new optim[name](net.parameters(), options);
      const scheduled = (o) => (name === 'LBFGS' ? null : new optim.CosineAnnealingLR(o, { TMax: 9 }));
      const schedule = scheduled(optimizer);
      train(net, optimizer, schedule, 4);
      const saved = copied({
        net: net.stateDict(),
        optimizer: optimizer.stateDict(),
        schedule: schedule?.stateDict(),
      });
      train(net, optimizer, schedule, 4);

      const second = makeNet();
      second.loadStateDict(saved.net);
      const resumed = new optim[name](second.parameters(), name === 'LBFGS' ? options : {});
      const again = scheduled(resumed);
      resumed.loadStateDict(saved.optimizer);
      again?.loadStateDict(saved.schedule);
      train(second, resumed, again, 4);
      assert.deepEqual(values(second), values(net));
    });
  }
});

describe("PyTorch's states", () => {
  const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
  // As state_dict() has them: snake_case, steps as tensors, options that we lack.
  const torchForm = ({ state, paramGroups }, withStep) => ({
    state: Object.fromEntries(
      Object.entries(state).map(([i, { step, ...entry }]) => [
        i,
        {
          ...(withStep ? { step: og.tensor(step) } : {}),
          ...Object.fromEntries(Object.entries(copied(entry)).map(([key, value]) => [snake(key), value])),
        },
      ]),
    ),
    param_groups: paramGroups.map((group) => ({
      ...Object.fromEntries(Object.entries(group).map(([key, value]) => [snake(key), value])),
      foreach: null,
      capturable: false,
    })),
  });
  for (const [name, options] of kinds.filter(([kind]) => !['Lion', 'Adan', 'LBFGS'].includes(kind))) {
    test(name, () => {
      const net = makeNet();
      const optimizer = new optim[name](net.parameters(), options);
      train(net, optimizer, null, 3);
      const second = makeNet();
      second.loadStateDict(copied(net.stateDict()));
      const resumed = new optim[name](second.parameters());
      resumed.loadStateDict(torchForm(optimizer.stateDict(), name !== 'SGD' && name !== 'Muon'));
      train(net, optimizer, null, 2);
      train(second, resumed, null, 2);
      assert.deepEqual(values(second), values(net));
    });
  }

  test('what is no state is refused', () => {
    const optimizer = new optim.Adam(makeNet().parameters());
    for (const wrong of [3, null, {}, { state: {}, param_groups: 3 }, { state: 3, paramGroups: [] }])
      assert.throws(
        () => optimizer.loadStateDict(wrong),
        /Adam\.loadStateDict: the state must be what stateDict\(\) gives/,
      );
  });
});

describe('groupsByName', () => {
  const net = new nn.Sequential({
    body: new nn.Linear(2, 2),
    norm: new nn.LayerNorm(2),
    head: new nn.Linear(2, 1),
  });

  test('the first rule that matches takes a parameter; the rest follow', () => {
    const groups = optim.groupsByName(net, [
      { match: /bias|norm/, weightDecay: 0 },
      { match: (name, p) => name.startsWith('head') && p.ndim === 2, lr: 0.5 },
    ]);
    const optimizer = new optim.AdamW(groups, { lr: 0.1, weightDecay: 0.2 });
    const told = optimizer.paramGroups.map(({ params, options: { lr, weightDecay } }) => [
      params.length,
      lr,
      weightDecay,
    ]);
    assert.deepEqual(told, [
      [4, 0.1, 0],
      [1, 0.5, 0.2],
      [1, 0.1, 0.2],
    ]);
    assert.equal(groups[2].params[0], net.at(0).weight);
  });

  test('frozen parameters are left out; a rule that matches nothing is refused', () => {
    net.at(0).requiresGrad_(false);
    assert.equal(optim.groupsByName(net, []).flatMap(({ params }) => params).length, 4);
    assert.throws(
      () => optim.groupsByName(net, [{ match: /boddy/ }]),
      /rule 0, \/boddy\/, matches no parameter that is left/,
    );
    assert.throws(
      () => optim.groupsByName(net, [{ match: 'head' }]),
      /match of rule 0 is 'head'; it must be a RegExp/,
    );
    assert.throws(() => optim.groupsByName([], []), /module is .*; it must be a Module/);
    net.at(0).requiresGrad_();
  });
});

describe('EMA', () => {
  test('is the mean by its formula; warm-up makes the first updates count more', () => {
    for (const warmup of [false, true]) {
      const layer = new nn.Linear(1, 1, { bias: false }).to('float64');
      const ema = new optim.EMA(layer, { decay: 0.9, warmup });
      let expected = layer.weight.item();
      for (let n = 1; n <= 5; n++) {
        og.noGrad(() => layer.weight.copy_(og.tensor([[n]], { dtype: 'float64' })));
        ema.update();
        const decay = warmup ? Math.min(0.9, (1 + n) / (10 + n)) : 0.9;
        expected = decay * expected + (1 - decay) * n;
      }
      near(ema.stateDict().averages.weight.item(), expected);
      near(
        ema.averaged(() => layer.weight.item()),
        expected,
      );
      assert.equal(layer.weight.item(), 5);
      ema.dispose();
    }
  });

  test('the parameters come back also after an error; states resume; copies go into other modules', () => {
    const layer = new nn.Linear(2, 1);
    const ema = new optim.EMA(layer, { decay: 0.5 });
    og.noGrad(() => layer.weight.fill_(8));
    ema.update();
    assert.throws(() => ema.averaged(() => assert.fail('inside')), /inside/);
    assert.deepEqual(layer.weight.tolist(), [[8, 8]]);
    const other = new optim.EMA(new nn.Linear(2, 1), { decay: 0.5 });
    other.loadStateDict(copied(ema.stateDict()));
    assert.equal(other.updates, 1);
    assert.deepEqual(other.stateDict().averages.weight.tolist(), ema.stateDict().averages.weight.tolist());
    const target = new nn.Linear(2, 1);
    ema.copyTo(target);
    assert.deepEqual(target.weight.tolist(), ema.stateDict().averages.weight.tolist());
  });

  test('updates hold no memory; what is wrong is named', () => {
    const layer = new nn.Linear(2, 1);
    const ema = new optim.EMA(layer);
    ema.update();
    const { tensors, liveBytes } = og.memory();
    for (let i = 0; i < 20; i++) ema.update();
    for (let i = 0; i < 20; i++) ema.averaged(() => undefined);
    assert.deepEqual([og.memory().tensors, og.memory().liveBytes], [tensors, liveBytes]);
    assert.throws(() => ema.averaged(() => ema.update()), /EMA\.update: the averages are in the parameters/);
    assert.throws(
      () => ema.averaged(async () => undefined),
      /EMA\.averaged: the function returned a promise/,
    );
    assert.throws(() => new optim.EMA(layer.parameters()), /EMA: module is .*; it must be a Module/);
    assert.throws(() => new optim.EMA(layer, { decay: 2 }), /decay is 2/);
    const wrong = { updates: 1, averages: { weight: og.ones([3]) } };
    assert.throws(
      () => ema.loadStateDict(wrong),
      /'weight' is \[3\] but the parameter \[1, 2\]; 'bias' is undefined/,
    );
  });
});
