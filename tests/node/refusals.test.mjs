// Bad input to what is not an op of the schema (bad_input.test.mjs has those): every refusal is an OmnigradError that
// names the function or class and what is wrong.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as og from 'omnigrad';

await og.init({ variant: 'single' });

/** Each row: the call, what its message begins with, and what it says besides. */
function refused(rows) {
  for (const [call, op, text] of rows) {
    test(`${call.toString().slice(6)}`, async () => {
      let error;
      try {
        await call();
      } catch (thrown) {
        error = thrown;
      }
      assert.ok(og.OmnigradError.is(error), error ? String(error.stack) : 'not refused');
      assert.equal(error.op, op);
      assert.ok(error.message.startsWith(`${op}: `), error.message);
      assert.match(error.message, text);
    });
  }
}

const leaf = og.tensor([1, 2], { requiresGrad: true });
const loss = () => leaf.square().sum();

describe('gradients', () => {
  refused([
    [() => loss().backward({ retainGraph: true }), 'backward', /backward\(null, \{ retainGraph/],
    [() => loss().backward(null, { retain_graph: true }), 'backward', /'retain_graph'.*retainGraph/],
    [() => loss().backward(null, { retainGraph: 1 }), 'backward', /retainGraph is 1.*true or false/],
    [() => loss().backward(3), 'backward', /gradient must be a Tensor; got/],
    [() => og.backward(3), 'backward', /y must be a Tensor/],
    [() => og.grad(loss(), [leaf], { create_graph: true }), 'grad', /'create_graph'.*createGraph/],
    [() => og.grad(loss(), [leaf], { gradOutputs: og.ones([]) }), 'grad', /gradOutputs is a list/],
    [() => og.grad(loss(), [leaf], { gradOutputs: [1] }), 'grad', /gradOutputs\[0\] must be a Tensor/],
    [() => og.grad(loss(), [3]), 'grad', /inputs\[0\] must be a Tensor/],
    [() => og.grad(loss(), 3), 'grad', /inputs must be a Tensor or a list/],
    [() => og.grad(3, [leaf]), 'grad', /outputs must be a Tensor or a list/],
    [() => og.valueAndGrad(() => 3, leaf), 'valueAndGrad', /must return a Tensor; it returned 3/],
    [() => og.valueAndGrad(loss, 3), 'valueAndGrad', /x is 3; it must be a Tensor/],
    [() => og.valueAndGrad(3, leaf), 'valueAndGrad', /fn is 3; it must be a function/],
    [() => og.hessian(() => undefined, leaf), 'hessian', /must return a Tensor; it returned undefined/],
    [() => og.jacobian((x) => [x], leaf), 'jacobian', /must return a Tensor; it returned/],
    [() => og.jvp(() => 1, leaf, leaf), 'jvp', /must return a Tensor/],
    [() => og.vjp(() => 1, leaf), 'vjp', /must return a Tensor/],
    [() => og.hvp(() => 1, leaf, leaf), 'hvp', /must return a Tensor/],
    [() => og.noGrad(3), 'noGrad', /fn is 3; it must be a function/],
    [() => og.scope(3), 'scope', /must be a function/],
    [() => og.checkpoint(3, leaf), 'checkpoint', /fn is 3/],
    [() => og.checkpoint((x) => x, 3), 'checkpoint', /input 0 is 3; it must be a Tensor/],
    [() => og.customGrad((x) => x), 'customGrad', /backward is undefined; it must be a function/],
    [
      () =>
        og.customGrad(
          (x) => x.exp(),
          (g) => [g],
        )(3),
      'customGrad',
      /input 0 is 3/,
    ],
    [
      () =>
        og
          .customGrad(
            (x) => x.exp(),
            () => undefined,
          )(leaf)
          .sum()
          .backward(),
      'customGrad',
      /must return a list.*it returned undefined/,
    ],
    [
      () =>
        og
          .customGrad(
            (x) => x.exp(),
            () => [3],
          )(leaf)
          .sum()
          .backward(),
      'customGrad',
      /gradient 0 must be a Tensor/,
    ],
    [() => og.math('foo', 1), 'math', /"foo".*exp, log/],
    [() => og.math('pow', '1', 2), 'math', /takes numbers/],
  ]);

  test('grad takes one input too', () => {
    assert.deepEqual(
      og.grad(loss(), leaf).map((g) => g.tolist()),
      [[2, 4]],
    );
  });
});

describe('random tensors', () => {
  refused([
    [() => og.randn([2], { generator: 42 }), 'normal', /generator is 42; it must be a Generator/],
    [() => og.randint(0, 2, [2], { generator: {} }), 'randint', /must be a Generator/],
    [() => og.randperm(4, { generator: 42 }), 'randperm', /must be a Generator/],
    [() => og.randperm(1.5), 'randperm', /n is 1.5; it must be a whole number/],
    [() => og.randn(2, 3), 'normal', /shape is 2; it must be a list.*\[2, 3\]/],
    [() => og.rand([2n]), 'uniform', /shape is \[2n\]/],
    [() => og.randint(0, 2, [2], { dtype: 'float16' }), 'randint', /float16.*int64/],
    [() => og.randint(0, 2, [2], { dtype: 'bool' }), 'randint', /bool.*int64/],
    [() => og.randn([2], { dtype: 'bfloat16' }), 'normal', /bfloat16.*float32 or float64/],
    [() => og.rand([2], { dtype: 'int64' }), 'uniform', /int64.*float32 or float64/],
  ]);
});
