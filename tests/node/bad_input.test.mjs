// Bad input to every op, made from the schema, so that an op cannot be added without it: what comes back is an
// OmnigradError that names the op, and nothing was allocated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as og from 'omnigrad';
import * as functions from '../../dist/ops.generated.js';

const early = (() => {
  try {
    og.relu(undefined);
  } catch (error) {
    return error;
  }
  return undefined;
})();
await og.init({ variant: 'single' });

const ops = og.schema().ops.filter((op) => !op.internal);
const gone = og.zeros([2]);
gone.dispose();
const samples = {
  floating: 'float32',
  number: 'float32',
  any: 'float32',
  free: 'float32',
  index: 'int64',
  boolean: 'bool',
  storage: 'float16',
};
const made = Object.fromEntries(
  Object.entries(samples).map(([kind, dtype]) => [kind, og.zeros([2, 2], { dtype })]),
);
const fine = { boolean: false, integer: 0, number: 0, text: '', dims: [1], padding: [1] };
const wrong = {
  boolean: 'yes',
  integer: 0.5,
  number: '1',
  text: 5,
  dims: [0.5],
  padding: [[1, 2, 3]],
  choice: 'nonsense',
};

/** Arguments of a call in positional order; `change` may replace one by its schema entry. */
function args(op, change = () => undefined, options = {}) {
  const inputs = op.inputs.filter((input) => !input.optional);
  const leading = inputs.splice(0, inputs[0]?.variadic ? 0 : 1);
  const rest = [...inputs, ...op.options.filter((o) => o.positional)].sort((a, b) => a.order - b.order);
  const values = [...leading, ...rest].map((entry) => {
    const changed = change(entry);
    if (changed !== undefined) return entry.variadic && !Array.isArray(changed) ? [changed] : changed;
    if (entry.kind) return entry.variadic ? [made[entry.kind]] : made[entry.kind];
    return entry.type === 'choice' ? entry.choices[0] : fine[entry.type];
  });
  return op.options.some((o) => !o.positional) || op.inputs.some((i) => i.optional)
    ? [...values, options]
    : values;
}

function refused(op, values, code, pattern) {
  const before = og.memory();
  assert.throws(
    () => functions[op.name](...values),
    (error) => {
      assert.ok(og.OmnigradError.is(error), String(error));
      assert.deepEqual([error.op, error.code], [op.name, code], error.message);
      assert.ok(error.message.startsWith(`${op.name}: `), error.message);
      if (pattern) assert.match(error.message, pattern);
      return true;
    },
  );
  const after = og.memory();
  assert.deepEqual(
    [after.tensors, after.liveBytes],
    [before.tensors, before.liveBytes],
    'something was allocated',
  );
}

test('an op before init says what to do', () => {
  assert.equal(early?.code, 'not-initialised');
  assert.match(early.message, /relu: .*init\(\)/);
});

for (const op of ops) {
  test(`${op.name}: bad input`, () => {
    for (const input of op.inputs.filter((i) => !i.optional)) {
      refused(
        op,
        args(op, (entry) => (entry === input ? gone : undefined)),
        'disposed',
      );
      refused(
        op,
        args(op, (entry) => (entry === input ? 'text' : undefined)),
        'argument',
        new RegExp(input.name),
      );
      if (input.kind === 'floating' && !input.variadic) {
        refused(
          op,
          args(op, (entry) => (entry === input ? made.boolean : undefined)),
          'dtype',
        );
      }
    }
    for (const option of op.options) {
      const options = option.positional ? {} : { [option.name]: wrong[option.type] };
      const change = (entry) => (entry === option ? wrong[option.type] : undefined);
      refused(op, args(op, change, options), 'option', new RegExp(option.name));
    }
    const takesOptions = args(op).length > args(op).filter((v) => v?.constructor !== Object).length;
    if (takesOptions)
      refused(op, args(op, undefined, { nonsense: 1 }), 'option', /unknown option 'nonsense'; allowed: \w/);
  });
}
