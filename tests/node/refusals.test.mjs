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

describe('random tensors', () => {
  refused([
    [() => og.randint(0, 2, [2], { dtype: 'float16' }), 'randint', /float16.*int64/],
    [() => og.randint(0, 2, [2], { dtype: 'bool' }), 'randint', /bool.*int64/],
    [() => og.randn([2], { dtype: 'bfloat16' }), 'normal', /bfloat16.*float32 or float64/],
    [() => og.rand([2], { dtype: 'int64' }), 'uniform', /int64.*float32 or float64/],
  ]);
});
