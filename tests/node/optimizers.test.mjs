// Optimizers that golden lacks, parameter groups, state, clipping, schedules beyond golden, L-BFGS.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';

before(() => og.init({ variant: 'single' }));

const close = (actual, expected, tolerance = 1e-12) =>
  actual.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance, `${x} against ${expected[i]}`));
const leaf = (values) => og.tensor(values, { dtype: 'float64', requiresGrad: true });

const start = [1, -2, 3];
const grads = [
  [0.5, -1, 2],
  [1, 0.25, -3],
  [-2, 1, 0.125],
];
function run(optimizer, param) {
  for (const row of grads) {
    param.grad = og.tensor(row, { dtype: 'float64' });
    optimizer.step();
  }
  return param.tolist();
}

describe('formulas', () => {
  test('Lion', () => {
    const [lr, b1, b2, decay] = [0.1, 0.9, 0.99, 0.1];
    const expected = start.map((p, i) => {
      let m = 0;
      for (const row of grads) {
        p -= lr * decay * p + lr * Math.sign(b1 * m + (1 - b1) * row[i]);
        m = b2 * m + (1 - b2) * row[i];
      }
      return p;
    });
    const p = leaf(start);
    close(run(new optim.Lion([p], { lr, weightDecay: decay }), p), expected);
  });
  for (const noProx of [false, true]) {
    test(`Adan, noProx ${noProx}`, () => {
      const [lr, decay, eps, b1, b2, b3] = [0.1, 0.05, 1e-8, 0.98, 0.92, 0.99];
      const expected = start.map((p, i) => {
        let [m, v, n, before] = [0, 0, 0, grads[0][i]];
        grads.forEach((row, t) => {
          const [g, d] = [row[i], row[i] - before];
          m = b1 * m + (1 - b1) * g;
          v = b2 * v + (1 - b2) * d;
          n = b3 * n + (1 - b3) * (g + b2 * d) ** 2;
          const root = Math.sqrt(n) / Math.sqrt(1 - b3 ** (t + 1)) + eps;
          const step = (lr * (m / (1 - b1 ** (t + 1)) + (b2 * v) / (1 - b2 ** (t + 1)))) / root;
          p = noProx ? p * (1 - lr * decay) - step : (p - step) / (1 + lr * decay);
          before = g;
        });
        return p;
      });
      const p = leaf(start);
      close(run(new optim.Adan([p], { lr, weightDecay: decay, noProx }), p), expected);
    });
  }
  test('Adagrad starts from initialAccumulatorValue and decays its rate', () => {
    const expected = start.map((p, i) => {
      let sum = 0.5;
      grads.forEach((row, t) => {
        sum += row[i] ** 2;
        p -= ((0.1 / (1 + t * 0.2)) * row[i]) / (Math.sqrt(sum) + 1e-10);
      });
      return p;
    });
    const p = leaf(start);
    close(run(new optim.Adagrad([p], { lr: 0.1, lrDecay: 0.2, initialAccumulatorValue: 0.5 }), p), expected);
  });
  test('Rprop keeps its sizes within their bounds, and takes no step where the sign turned', () => {
    const [etas, stepSizes] = [
      [0.5, 3],
      [0.09, 0.5],
    ];
    const expected = start.map((p, i) => {
      let [before, size] = [0, 0.1];
      for (const row of grads) {
        const turn = -row[i] * before;
        size = Math.min(Math.max(size * (turn > 0 ? etas[1] : turn < 0 ? etas[0] : 1), 0.09), 0.5);
        before = turn < 0 ? 0 : -row[i];
        p -= Math.sign(before) * size;
      }
      return p;
    });
    const p = leaf(start);
    const optimizer = new optim.Rprop([p], { lr: 0.1, etas, stepSizes, maximize: true });
    close(run(optimizer, p), expected);
    assert.throws(() => new optim.Rprop([p], { etas: [1.2, 0.5] }), /Rprop: etas is \[1\.2, 0\.5\]/);
    assert.throws(() => new optim.Rprop([p], { stepSizes: [1, 0.5] }), /least not above largest/);
  });
  test('ASGD keeps the mean of the parameters after t0', () => {
    const [lr, lambd, alpha, t0] = [0.1, 0.3, 0.6, 1];
    const means = [];
    const expected = start.map((p, i) => {
      let mean = 0;
      grads.forEach((row, t) => {
        const rate = lr / (1 + lambd * lr * t) ** alpha;
        p = p * (1 - lambd * rate) - rate * row[i];
        mean += (p - mean) / Math.max(1, t - t0);
      });
      means.push(mean);
      return p;
    });
    const p = leaf(start);
    const more = [0.25, 1, -1];
    const optimizer = new optim.ASGD([p], { lr, lambd, alpha, t0 });
    close(run(optimizer, p), expected);
    close(optimizer.stateDict().state[0].ax.tolist(), means);
    // The fourth step is the first whose mean is of two.
    p.grad = og.tensor(more, { dtype: 'float64' });
    optimizer.step();
    const joined = p.tolist().map((x, i) => (x + means[i]) / 2);
    close(optimizer.stateDict().state[0].ax.tolist(), joined);
  });
  test('Muon steps along orthogonal directions, and refuses vectors', () => {
    const p = og.zeros([4, 2], { dtype: 'float64', requiresGrad: true });
    p.grad = og.tensor([3, 1, 0, 2, 1, 1, -2, 5], { shape: [4, 2], dtype: 'float64' });
    new optim.Muon([p], { lr: 1 }).step();
    const gram = p.permute([1, 0]).matmul(p).tolist();
    assert.ok(gram[0][0] > 0.8 && gram[0][0] < 3, `${gram}`);
    const vector = leaf([1, 2]);
    vector.grad = og.ones([2], { dtype: 'float64' });
    assert.throws(() => new optim.Muon([vector]).step(), /two axes or more/);
  });
});

describe('groups and state', () => {
  test('a group has options of its own', () => {
    const [a, b] = [leaf([1]), leaf([1])];
    const optimizer = new optim.SGD([{ params: [a] }, { params: [b], lr: 0.5 }], { lr: 0.1 });
    for (const p of [a, b]) p.grad = og.ones([1], { dtype: 'float64' });
    optimizer.step();
    close([a.item(), b.item()], [0.9, 0.5]);
    assert.equal(optimizer.lr, 0.1);
    optimizer.lr = 0.2;
    assert.equal(optimizer.paramGroups[1].options.lr, 0.2);
    assert.throws(() => optimizer.addParamGroup({ params: [a] }), /parameter 2 is there twice/);
  });
  test('options are checked', () => {
    const p = leaf([1]);
    assert.throws(
      () => new optim.Adam([p], { lr: -1 }),
      /Adam: lr is -1; it must be a finite number, 0 or more/,
    );
    assert.throws(() => new optim.Adam([p], { betas: [0.9, 1] }), /betas/);
    assert.throws(() => new optim.SGD([p], { rate: 1 }), /unknown option 'rate'/);
  });
  const all = [
    ...[
      'SGD',
      'Adam',
      'AdamW',
      'Adagrad',
      'Adadelta',
      'Adamax',
      'NAdam',
      'RAdam',
      'RMSprop',
      'Lion',
      'Adan',
      'Muon',
      'Rprop',
      'ASGD',
    ],
    'LBFGS',
  ];
  for (const name of all) {
    test(`${name} goes on from its state as if it had not stopped`, () => {
      const options = {
        SGD: { momentum: 0.9 },
        RMSprop: { momentum: 0.9, centered: true },
        LBFGS: { maxIter: 3 },
      }[name];
      const make = (values) => {
        const p = og.tensor(values, { shape: [2, 3], dtype: 'float64', requiresGrad: true });
        const loss = () => p.square().sub(1).square().add(p.sin()).sum();
        return { p, optimizer: new optim[name]([p], { lr: 0.05, ...options }), loss };
      };
      const one = make([1, 2, 3, -1, -2, 0.5]);
      for (let i = 0; i < 3; i++) one.optimizer.minimize(one.loss);
      const two = make(one.p.toTypedArray());
      two.optimizer.loadStateDict(one.optimizer.stateDict());
      for (const { optimizer, loss } of [one, two]) for (let i = 0; i < 3; i++) optimizer.minimize(loss);
      assert.deepEqual(two.p.tolist(), one.p.tolist());
      const before = og.memory().tensors;
      two.optimizer.dispose();
      assert.ok(og.memory().tensors < before);
    });
  }
  test('a state that does not fit changes nothing', () => {
    const [a, b] = [leaf([1, 2]), leaf([1])];
    const [one, two] = [new optim.Adam([a]), new optim.Adam([b])];
    one.minimize(() => a.square().sum());
    assert.throws(
      () => two.loadStateDict(one.stateDict()),
      /'expAvg' of parameter 0 is \[2\] but the parameter \[1\]/,
    );
    assert.deepEqual(two.stateDict().state, {});
  });
});

describe('clipping and accumulation', () => {
  const withGrad = (values) => {
    const p = leaf(values);
    p.grad = og.tensor(values, { dtype: 'float64' });
    return p;
  };
  test('norms of any order', () => {
    for (const [normType, norm] of [
      [1, 7],
      [2, 5],
      [Infinity, 4],
    ]) {
      const p = withGrad([3, -4]);
      assert.ok(Math.abs(optim.clipGradNorm([p], 1, { normType }) - norm) < 1e-12);
      close(p.grad.tolist(), [3 / norm, -4 / norm], 1e-6);
    }
  });
  test('by value', () => {
    const p = withGrad([3, -4, 0.5]);
    optim.clipGradValue([p], 1);
    assert.deepEqual(p.grad.tolist(), [1, -1, 0.5]);
  });
  test('accumulate: n steps once in n calls, by the mean gradient', () => {
    const w = leaf([0]);
    const optimizer = new optim.SGD([w], { lr: 1 });
    const along = (slope) => () => w.mul(slope).sum();
    for (let round = 1; round <= 2; round++) {
      optimizer.minimize(along(1), { accumulate: 3 });
      optimizer.minimize(along(2), { accumulate: 3 });
      close([w.item()], [-2 * (round - 1)]);
      optimizer.minimize(along(3), { accumulate: 3 });
      close([w.item()], [-2 * round]);
    }
  });
  test('accumulate: true waits for the call without it', () => {
    const w = leaf([0]);
    const optimizer = new optim.SGD([w], { lr: 1 });
    for (const accumulate of [true, true, false, false]) optimizer.minimize(() => w.sum(), { accumulate });
    close([w.item()], [-4]);
  });
});

describe('L-BFGS', () => {
  const rosenbrock = (p) => {
    const [x, y] = [p.at(0), p.at(1)];
    return x.sub(1).square().add(y.sub(x.square()).square().mul(100));
  };
  test('finds the minimum of a banana valley', () => {
    const p = leaf([-1.2, 1]);
    const optimizer = new optim.LBFGS([p], {
      lineSearchFn: 'strongWolfe',
      maxIter: 50,
      toleranceChange: 1e-15,
    });
    const first = optimizer.minimize(() => rosenbrock(p));
    assert.ok(Math.abs(first - 24.2) < 1e-9);
    close(p.tolist(), [1, 1], 1e-6);
  });
  test('without a line search, and with a short history, a quadratic', () => {
    const p = leaf([3, -2, 5]);
    const optimizer = new optim.LBFGS([p], { historySize: 2, maxIter: 40, toleranceChange: 1e-15 });
    const scale = og.tensor([1, 2, 4], { dtype: 'float64' });
    for (let i = 0; i < 3; i++) optimizer.minimize(() => p.sub(1).square().mul(scale).sum());
    close(p.tolist(), [1, 1, 1], 1e-6);
    assert.throws(() => optimizer.step(), /needs a closure/);
  });
});

describe('schedules', () => {
  const rates = (make, steps, options = { lr: 1 }) => {
    const optimizer = new optim.SGD([leaf([0])], options);
    const schedule = make(optimizer);
    return Array.from({ length: steps }, () => {
      const { lr } = optimizer;
      schedule.step();
      return lr;
    });
  };
  test('constant, lambda, Noam', () => {
    close(
      rates((o) => new optim.ConstantLR(o, { factor: 0.5, totalIters: 2 }), 4),
      [0.5, 0.5, 1, 1],
    );
    close(
      rates((o) => new optim.LambdaLR(o, { lrLambda: (t) => 1 / (t + 1) }), 3),
      [1, 1 / 2, 1 / 3],
    );
    const noam = (n) => (1 / 4) * Math.min(n ** -0.5, n * 3 ** -1.5);
    close(
      rates((o) => new optim.NoamLR(o, { modelSize: 16, warmup: 3 }), 5),
      [1, 2, 3, 4, 5].map(noam),
    );
  });
  test('a factor a step, also back to an earlier one', () => {
    const factor = (t) => [NaN, 0.5, 3, 1, 0.1][t];
    const schedules = [];
    const make = (o) => {
      schedules.push(new optim.MultiplicativeLR(o, { lrLambda: factor }));
      return schedules[0];
    };
    close(rates(make, 4), [1, 0.5, 1.5, 1.5]);
    const [one] = schedules;
    close(one.getLastLr(), [0.15]);
    one.loadStateDict({ step: 2, baseLrs: [10] });
    close(one.getLastLr(), [15]);
    const two = new optim.SGD([{ params: [leaf([0])] }, { params: [leaf([0])] }], { lr: 1 });
    const apart = new optim.MultiplicativeLR(two, { lrLambda: [() => 0.5, () => 2] });
    for (let i = 0; i < 3; i++) apart.step();
    assert.deepEqual(apart.getLastLr(), [0.125, 8]);
  });
  test('one after another', () => {
    const make = (o) =>
      new optim.SequentialLR(o, {
        schedulers: [
          new optim.LinearLR(o, { startFactor: 0.5, totalIters: 2 }),
          new optim.ExponentialLR(o, { gamma: 0.1 }),
        ],
        milestones: [2],
      });
    close(rates(make, 5), [0.5, 0.75, 1, 0.1, 0.01]);
  });
  test('at once', () => {
    const make = (o) =>
      new optim.ChainedScheduler(o, {
        schedulers: [
          new optim.ConstantLR(o, { factor: 0.1, totalIters: 2 }),
          new optim.ExponentialLR(o, { gamma: 0.9 }),
        ],
      });
    close(rates(make, 4), [0.1, 0.09, 0.81, 0.729]);
  });
  test('one cycle moves the momentum against the rate', () => {
    const optimizer = new optim.Adam([leaf([0])]);
    const schedule = new optim.OneCycleLR(optimizer, { maxLr: 1, totalSteps: 10 });
    close([optimizer.lr, optimizer.paramGroups[0].options.betas[0]], [1 / 25, 0.95]);
    schedule.step();
    schedule.step();
    close([optimizer.lr, optimizer.paramGroups[0].options.betas[0]], [1, 0.85]);
    for (let i = 0; i < 9; i++) schedule.step();
    close([optimizer.lr], [1 / 25 / 1e4]);
  });
  test('goes on from its state', () => {
    const [a, b] = [0, 0].map(() => new optim.SGD([leaf([0])], { lr: 0.3 }));
    const make = (o) => new optim.CosineAnnealingLR(o, { TMax: 7 });
    const one = make(a);
    for (let i = 0; i < 3; i++) one.step();
    b.lr = 9;
    const two = make(b);
    two.loadStateDict(one.stateDict());
    assert.equal(b.lr, a.lr);
    assert.deepEqual(two.getLastLr(), [a.lr]);
  });
});
