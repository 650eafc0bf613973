// checkpoint and detectAnomaly.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const values = (tensors) => tensors.map((t) => Array.from(t.toTypedArray()));

function setup() {
  og.manualSeed(7);
  const x = og.randn([4, 8], { requiresGrad: true });
  const w = og.randn([8, 8], { requiresGrad: true });
  const block = (h) => h.matmul(w).tanh().matmul(w).sigmoid();
  return { x, w, block };
}

test('gradients have the bits of a run without', () => {
  og.scope(() => {
    const { x, w, block } = setup();
    const plain = og.grad(block(block(x)).square().sum(), [x, w]);
    const saved = og.grad(
      og
        .checkpoint((h) => block(block(h)), x)
        .square()
        .sum(),
      [x, w],
    );
    assert.deepEqual(values(saved), values(plain));
  });
});

test('second order has too', () => {
  og.scope(() => {
    const { x, w, block } = setup();
    const penalty = (f) => {
      const [g] = og.grad(f(x).sum(), [x], { createGraph: true });
      return og.grad(g.square().sum(), [x, w]);
    };
    assert.deepEqual(values(penalty((h) => og.checkpoint(block, h))), values(penalty(block)));
  });
});

test('a nested checkpoint, and several outputs', () => {
  og.scope(() => {
    const { x, w, block } = setup();
    const both = (h) => [block(h), h.mul(w.sum())];
    const total = ([a, b]) => a.square().sum().add(b.tanh().sum());
    const plain = og.grad(total(both(block(x))), [x, w]);
    const saved = og.grad(total(og.checkpoint((h) => both(og.checkpoint(block, h)), x)), [x, w]);
    assert.deepEqual(values(saved), values(plain));
  });
});

test('it runs the function again once, and keeps less meanwhile', () => {
  og.scope(() => {
    const x = og.randn([64, 1024], { requiresGrad: true });
    let runs = 0;
    const deep = (h) => {
      runs++;
      for (let i = 0; i < 20; i++) h = h.tanh();
      return h;
    };
    const held = (f) => {
      const before = og.memory().liveBytes;
      const y = og.scope(() => f(x).sum());
      const bytes = og.memory().liveBytes - before;
      y.backward();
      return bytes;
    };
    const plain = held(deep);
    const saved = held((h) => og.checkpoint(deep, h));
    assert.equal(runs, 3);
    assert.ok(saved < plain / 8, `${saved} bytes held, ${plain} without`);
  });
});

test('random draws are repeated', () => {
  og.scope(() => {
    const { x, w } = setup();
    const noisy = (h) =>
      h
        .matmul(w)
        .mul(og.rand([4, 8]))
        .tanh();
    og.manualSeed(3);
    const plain = og.grad(noisy(x).sum(), [x]);
    const next = og.rand([2]).tolist();
    og.manualSeed(3);
    const saved = og.grad(og.checkpoint(noisy, x).sum(), [x]);
    assert.deepEqual(values(saved), values(plain));
    assert.deepEqual(og.rand([2]).tolist(), next);
  });
});

test('a function that differs the second time is told so, an error in it arrives as itself', () => {
  og.scope(() => {
    const { x, block } = setup();
    let runs = 0;
    const moody = (h) => (runs++ === 0 ? block(h) : h.sigmoid());
    assert.throws(() => og.checkpoint(moody, x).sum().backward(), {
      code: 'graph',
      message: /the same each time/,
    });
    const thrower = (h) => {
      if (runs++ > 2) throw new TypeError('mine');
      return h.tanh();
    };
    const y = og.checkpoint(thrower, x).sum();
    assert.throws(() => y.backward(), TypeError);
    assert.deepEqual(og.tensor([1, 2]).add(1).tolist(), [2, 3]);
  });
});

test('detectAnomaly names the op whose gradient is NaN', () => {
  og.scope(() => {
    const x = og.tensor([0, 1], { requiresGrad: true });
    const loss = () =>
      x
        .sqrt()
        .mul(og.tensor([0, 1]))
        .sum();
    loss().backward(); // 0 * Infinity: NaN, in silence
    assert.throws(() => og.detectAnomaly(() => loss().backward()), {
      code: 'numeric',
      message: /sqrt.*\[2\]/,
    });
    loss().backward();
  });
});
