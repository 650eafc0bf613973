// The golden runner must fail when it should. Its command runs on made-up folders, each with one thing wrong; and both
// builds must give the same bits on every case of the real one.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compareTensors, errorRatio } from '../golden/lib/compare.mjs';
import { planOf } from '../golden/lib/plan.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
let folder;
before(() => (folder = mkdtempSync(join(tmpdir(), 'omnigrad-golden-test-'))));
after(() => rmSync(folder, { recursive: true }));

function golden(...args) {
  const { status, stdout, stderr } = spawnSync('node', [at('../golden/run.mjs'), ...args], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr, last: stdout.trim().split('\n').at(-1) };
}

/** Runs index.safetensors' gather case in float64, with its file changed by `change(header, data, cases)`. */
function changed(change) {
  const bytes = readFileSync(at('../golden/data/index.safetensors'));
  const size = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + size));
  const data = Buffer.from(bytes.subarray(8 + size));
  const cases = JSON.parse(header.__metadata__.cases).filter(({ op }) => op === 'gather');
  change(header, data, cases);
  header.__metadata__.cases = JSON.stringify(cases);
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(join(folder, 'index.safetensors'), Buffer.concat([length, text, data]));
  return golden('--dir', folder, '--variant', 'single', '--dtype', 'float64');
}

const start = (header, name) => header[`index.gather/${name}`].data_offsets[0];

function assertFails({ status, stdout, last }, ...patterns) {
  assert.equal(last, '0 passed, 1 failed', stdout);
  assert.equal(status, 1);
  for (const pattern of patterns) assert.match(stdout, pattern);
}

test('an untouched copy passes', () => {
  const { status, last } = changed(() => {});
  assert.deepEqual([status, last], [0, '1 passed, 0 failed']);
});

for (const name of ['out.y', 'grad.x', 'grad2.gy.y']) {
  test(`one wrong number in ${name} fails and is shown`, () => {
    const run = changed((header, data) => {
      const place = start(header, name) + 8 * 7;
      data.writeDoubleLE(data.readDoubleLE(place) + 1e-7, place);
    });
    assertFails(run, new RegExp(`index\\.gather float64: ${name.replaceAll('.', '\\.')}\\[1, 2\\] is `));
  });
}

test('a NaN that is expected and not there fails', () => {
  assertFails(
    changed((header, data) => data.writeDoubleLE(NaN, start(header, 'out.y'))),
    /expected NaN/,
  );
});

test('another shape fails', () => {
  assertFails(
    changed((header) => (header['index.gather/out.y'].shape = [5, 3])),
    /shape \[3, 5\], expected \[5, 3\]/,
  );
});

test('an op, an option or an output that does not exist fails', () => {
  assertFails(
    changed((_header, _data, cases) => (cases[0].op = 'no_such_op')),
    /there is no op noSuchOp/,
  );
  assertFails(
    changed((_header, _data, cases) => (cases[0].args.no_such = 1)),
    /has no option noSuch/,
  );
  assertFails(
    changed((_header, _data, cases) => cases[0].outputs.push('more')),
    /out\.more is not in the file/,
  );
});

test('an error of the op is a failure with its message', () => {
  assertFails(
    changed((_header, _data, cases) => (cases[0].args.dim = 5)),
    /OmnigradError: gather: dim 5/,
  );
});

test('running nothing is an error', () => {
  assert.equal(golden('--only', 'no_such_op', '--variant', 'single').status, 2);
  assert.equal(golden('--dtype', 'float16').status, 2);
  assert.equal(golden('--unknown').status, 2);
});

test('NaN equals NaN, infinities themselves, integers exactly', () => {
  assert.equal(errorRatio(NaN, NaN, 0, 0), 0);
  assert.equal(errorRatio(-Infinity, -Infinity, 0, 0), 0);
  assert.equal(errorRatio(Infinity, -Infinity, 1, 1), Infinity);
  assert.equal(errorRatio(1, NaN, 1, 1), Infinity);
  assert.equal(errorRatio(0, -0, 0, 0), 0);
  assert.equal(errorRatio(2.5, 2, 0.1, 0.05), 2);
  const ints = (dtype, ...list) => ({ dtype, shape: [2], data: BigInt64Array.from(list, BigInt) });
  const tolerance = { dtype: 'float32', rtol: 1, atol: 1 };
  assert.equal(compareTensors('i', ints('int64', 1, 2), ints('I64', 1, 2), tolerance).ratio, 0);
  assert.equal(compareTensors('i', ints('int64', 1, 3), ints('I64', 1, 2), tolerance).ratio, Infinity);
  assert.match(compareTensors('i', ints('int32', 1, 2), ints('I64', 1, 2), tolerance).message, /dtype int32/);
});

test("inputs go where their names say, the rest in order; PyTorch's pads become pairs", () => {
  const input = (name, more) => ({ name, optional: false, variadic: false, ...more });
  const option = (name) => ({ name });
  const schema = {
    ops: [
      { name: 'cat', inputs: [input('xs', { variadic: true })], options: [option('dim')] },
      { name: 'pad', inputs: [input('x')], options: [option('padding'), option('mode')] },
      { name: 'where', inputs: [input('condition'), input('x'), input('y')], options: [] },
      { name: 'pow', inputs: [input('x'), input('y')], options: [] },
    ],
  };
  const plan = (op, args, ...inputs) =>
    planOf(
      { name: 'c', op, args, inputs, diff: [], outputs: ['y'], file: { path: '', tensor: () => {} } },
      schema,
    );
  assert.deepEqual(plan('cat', { dim: 1 }, 'x0', 'x1').inputs[0].tensors, ['x0', 'x1']);
  assert.deepEqual(plan('pad', { padding: [1, 2, 3, 4] }, 'x').options, {
    padding: [
      [3, 4],
      [1, 2],
    ],
  });
  assert.deepEqual(
    plan('where', {}, 'cond', 'x', 'y').inputs.map(({ tensors }) => tensors[0]),
    ['cond', 'x', 'y'],
  );
  assert.equal(plan('pow', { exponent: 2.5 }, 'x').inputs[1].number, 2.5);
  assert.throws(() => plan('pad', {}, 'x', 'extra'), /no input for extra/);
  assert.throws(() => plan('where', {}, 'x', 'y'), /needs condition/);
});

test('both builds give the same bits on every case', () => {
  const digests = ['single', 'threads'].map((variant) => {
    const file = join(folder, `${variant}.json`);
    golden('--variant', variant, '--json', file);
    const { results } = JSON.parse(readFileSync(file, 'utf8'));
    return results.filter(({ digest }) => digest).map((r) => `${r.case} ${r.dtype} ${r.digest}`);
  });
  assert.ok(digests[0].length > 500);
  assert.deepEqual(digests[0], digests[1]);
});
