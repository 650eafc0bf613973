// What somebody who comes from PyTorch types on the first day: it works, or the error says what to type instead.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { DataLoader } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

before(async () => {
  await og.init({ variant: 'single' });
  og.manualSeed(1);
});

const says = (code, pattern) => (error) => {
  assert.ok(og.OmnigradError.is(error), String(error));
  assert.equal(error.code, code);
  assert.match(error.message, pattern);
  return true;
};

test('an optimizer of all parameters leaves the frozen ones alone, until they are thawed', () => {
  const net = new nn.Sequential(new nn.Linear(3, 4), new nn.Tanh(), new nn.Linear(4, 2));
  const [body, , head] = net;
  body.requiresGrad_(false);
  const optimizer = new optim.AdamW(net.parameters(), { lr: 0.1 });
  const step = () =>
    optimizer.minimize(
      () =>
        net
          .call(og.ones([5, 3]))
          .square()
          .mean(),
      { clipNorm: 1 },
    );
  const first = [body.weight, head.weight].map((p) => p.tolist());
  step();
  assert.deepEqual(body.weight.tolist(), first[0]);
  assert.notDeepEqual(head.weight.tolist(), first[1]);
  body.requiresGrad_(true);
  step();
  assert.notDeepEqual(body.weight.tolist(), first[0]);
  body.requiresGrad_(false);
  const thawed = body.weight.tolist();
  step();
  assert.deepEqual(body.weight.tolist(), thawed);
});

test('class labels that are floats are told what they should be', () => {
  const logits = og.randn([2, 3]);
  assert.throws(
    () => og.crossEntropy(logits, og.tensor([0, 1])),
    says('dtype', /crossEntropy: target has dtype float32: class indices are integers, cast it to int64/),
  );
  assert.ok(og.crossEntropy(logits, og.tensor([0, 1], { dtype: 'int64' })).item() > 0);
  assert.ok(og.crossEntropy(logits, og.softmax(og.randn([2, 3]), -1)).item() > 0);
});

test("JavaScript's operators refuse tensors; one element compares as a number", () => {
  const [x, one] = [og.ones([2]), og.tensor(3)];
  assert.throws(() => x + x, says('argument', /x\.add\(y\) for x \+ y/));
  assert.throws(() => 'loss ' + one, says('argument', /String\(x\)/));
  assert.throws(() => x < 1, says('argument', /of shape \[2\] is no number/));
  assert.throws(() => x * 2, says('argument', /of shape \[2\] is no number/));
  assert.equal(one < 4, true);
  assert.equal(Number(one), 3);
  assert.equal(`${one}`, String(one));
  assert.equal(JSON.stringify({ x, one }), '{"x":[1,1],"one":3}');
});

test('a positional value where an option is meant', () => {
  const optimizer = new optim.SGD([og.ones([1], { requiresGrad: true })], { lr: 1 });
  const cases = [
    [
      () => new optim.ExponentialLR(optimizer, 0.9),
      /ExponentialLR: options must be an object, e\.g\. \{ gamma: 0\.9 \}; got/,
    ],
    [() => new optim.Adam(optimizer.params, 0.1), /e\.g\. \{ lr: 0\.1 \}; got a number$/],
    [() => og.ones([2, 2]).sum(0, true), /sum: options must be an object, e\.g\. \{ keepdim: true \}/],
    [() => og.zeros(2, 3), /a list such as \[2, 3\]|list/],
  ];
  for (const [call, pattern] of cases)
    assert.throws(call, (error) => og.OmnigradError.is(error) && pattern.test(error.message));
});

test('labels as plain numbers in a data set of records', async () => {
  const records = { length: 5, get: (i) => ({ image: og.full([2], i), label: i, name: `n${i}` }) };
  const batches = [];
  for await (const batch of new DataLoader(records, { batchSize: 3 })) {
    batches.push([batch.image.shape, batch.label.shape, batch.name]);
    assert.ok(og.crossEntropy(og.zeros([batch.label.numel, 5]), batch.label.cast('int64')).item() > 0);
  }
  assert.deepEqual(batches, [[[3, 2], [3], ['n0', 'n1', 'n2']], [[2, 2], [2], ['n3', 'n4']]]); // prettier-ignore
});
