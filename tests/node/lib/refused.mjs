// Calls that must be refused, a test each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OmnigradError } from 'omnigrad';

/** Each row: the call, what its message begins with, and what it says besides. */
export function refused(rows) {
  for (const [call, op, text] of rows) {
    test(`${call.toString().slice(6)}`, async () => {
      let error;
      try {
        await call();
      } catch (thrown) {
        error = thrown;
      }
      assert.ok(OmnigradError.is(error), error ? String(error.stack) : 'not refused');
      assert.equal(error.op, op);
      assert.ok(error.message.startsWith(`${op}: `), error.message);
      assert.match(error.message, text);
    });
  }
}
