// Ops that draw from a generator's stream.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

const generator = (seed) => new og.Generator(seed);
const list = (x) => JSON.stringify(x.tolist());

test('dropout draws from the generator: another mask each call, the same from the same state', () => {
  const x = og.ones([64]);
  const g = generator(1);
  const [a, b] = [og.dropout(x, 0.5, { generator: g }), og.dropout(x, 0.5, { generator: g })];
  assert.notEqual(list(a), list(b));
  assert.equal(list(a), list(og.dropout(x, 0.5, { generator: generator(1) })));
  assert.equal(list(a), list(og.dropout(x, 0.5, { seed: 1, offset: 0 })));
});

test('outside training dropout is the identity and draws nothing; nor does a call that is refused', () => {
  const x = og.ones([8]);
  const g = generator(1);
  assert.equal(list(og.dropout(x, 0.5, { training: false, generator: g })), list(x));
  assert.throws(() => og.dropout(x, 2, { generator: g }), /p 2 must be in \[0, 1\]/);
  assert.throws(() => og.multinomial(og.zeros([3]), 1, { generator: g }), /has no weight/);
  assert.equal(g.offset, 0);
});

test('an explicit seed moves no generator', () => {
  og.manualSeed(3);
  og.alphaDropout(og.ones([8]), 0.5, { seed: 4 });
  assert.equal(og.defaultGenerator().offset, 0);
  og.featureDropout(og.ones([2, 4, 3]), 0.5);
  assert.ok(og.defaultGenerator().offset > 0);
});

test('distributions take their options and requiresGrad', () => {
  const t = og.truncNormal([100], { low: -1, high: 1, dtype: 'float64', requiresGrad: true });
  assert.ok(t.requiresGrad && t.abs().amax().item() <= 1);
  assert.ok(og.exponential([100], { rate: 2 }).amin().item() >= 0);
  assert.deepEqual(og.multinomial(og.tensor([0, 1, 0]), 4, { replacement: true }).tolist(), [1, 1, 1, 1]);
  assert.deepEqual(og.bernoulli(og.tensor([0, 1, 1])).tolist(), [0, 1, 1]);
});

test('attention with dropout draws, without it does not', () => {
  const g = generator(5);
  const q = og.ones([1, 2, 4, 4]);
  og.scaledDotProductAttention(q, q, q, { generator: g });
  assert.equal(g.offset, 0);
  og.scaledDotProductAttention(q, q, q, { generator: g, dropoutP: 0.5 });
  assert.equal(g.offset, 16);
});

test('gaussianNoise and rrelu draw in training only', () => {
  const g = generator(6);
  const x = og.full([9], -1);
  for (const draw of [
    (options) => og.gaussianNoise(x, 0.5, { generator: g, ...options }),
    (options) => og.rrelu(x, { generator: g, ...options }),
  ]) {
    g.manualSeed(6);
    const [first, second] = [draw(), draw()];
    assert.equal(g.offset, 10);
    assert.notEqual(list(first), list(second));
    g.manualSeed(6);
    assert.equal(list(draw()), list(first));
    g.manualSeed(6);
    draw({ training: false });
    assert.equal(g.offset, 0);
  }
  assert.equal(list(og.gaussianNoise(x, 0.5, { training: false })), list(x));
  const slopes = og.rrelu(x, { lower: 0.25, upper: 0.5, generator: g }).neg().tolist();
  assert.ok(slopes.every((slope) => slope >= 0.25 && slope < 0.5));
  assert.throws(() => og.gaussianNoise(x, -1), /std -1 must not be negative/);
});
