// The bench's own arithmetic, and that each kind of its work runs and gives the same in float32 and float64. No peer is
// needed here, and nothing is timed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cases } from '../bench/cases.mjs';
import { difference, fingerprint, makeInput } from '../bench/inputs.mjs';
import { measure, median } from '../bench/measure.mjs';
import { startProcess } from '../bench/process.mjs';
import { disagrees, judge, lines, number, summary } from '../bench/report.mjs';
import { choose } from '../bench/session.mjs';

const path = fileURLToPath(new URL('../bench/omnigrad.mjs', import.meta.url));
const runner = startProcess(process.execPath, [path]);
after(() => runner.end());

test('starts, and refuses what it did not get', async () => {
  assert.deepEqual(await runner.request({ start: { variant: 'single', threads: 1 } }), {
    about: 'single build, 1 thread',
  });
  assert.match(
    (await runner.request({ start: { variant: 'threads', threads: 1 } })).error,
    /second init|options/,
  );
});

// The smallest of each kind and pass.
const specs = new Map();
for (const { entries } of cases) {
  const { spec } = entries[0];
  const size = (one) =>
    Object.values(one.inputs).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const key = `${spec.kind} ${spec.pass ?? ''} ${spec.mode ?? ''} ${spec.inputs.x?.shape.length ?? ''}`;
  if (!specs.has(key) || size(spec) < size(specs.get(key))) specs.set(key, spec);
}

for (const [key, spec] of specs) {
  test(`${key}: float32 and float64 agree`, async () => {
    const results = [];
    for (const dtype of ['float32', 'float64']) {
      const reply = await runner.request({ open: dtype, spec: { ...spec, dtype } });
      assert.equal(reply.error, undefined);
      results.push(reply.results);
      await runner.request({ close: dtype });
    }
    for (const { norm, n } of results[0]) assert.ok(n > 0 && norm > 0 && Number.isFinite(norm));
    assert.ok(difference(...results) < 1e-4, `differ by ${difference(...results)}`);
  });
}

test('inputs are the same for a seed, in their range, and others for another', () => {
  const spec = { shape: [40, 50], seed: 3, scale: 0.5, shift: 1 };
  const values = makeInput(spec);
  assert.deepEqual(values, makeInput(spec));
  assert.notDeepEqual(values, makeInput({ ...spec, seed: 4 }));
  assert.ok(values.every((x) => x >= 0.5 && x < 1.5));
  const mean = values.reduce((a, b) => a + b) / values.length;
  assert.ok(Math.abs(mean - 1) < 0.02);
  const codes = makeInput({ shape: [1000], seed: 1, from: 2, below: 5 });
  assert.deepEqual([...new Set(codes)].sort(), [2, 3, 4]);
  // What peers/native.py makes of the same seed.
  assert.deepEqual(
    Array.from(makeInput({ shape: [3], seed: 7 })),
    [-0.7494275569915771, 0.6983438730239868, 0.04673957824707031],
  );
});

test('a result that differs anywhere is told', () => {
  const values = makeInput({ shape: [5000], seed: 1 });
  const other = values.slice();
  assert.equal(difference([fingerprint(values)], [fingerprint(other)]), 0);
  other[4321] += 0.5;
  assert.ok(difference([fingerprint(values)], [fingerprint(other)]) > 1e-4);
  other[4321] = NaN;
  assert.equal(difference([fingerprint(values)], [fingerprint(other)]), Infinity);
  assert.equal(difference([fingerprint(values)], [fingerprint(values.subarray(1))]), Infinity);
  assert.equal(difference([fingerprint(values)], []), Infinity);
});

/** A library whose runs take as long as `ms` says of each turn. */
function fake(ms, results = [[1, 2, 3]]) {
  let turn = 0;
  return {
    async request(message) {
      if ('open' in message) return { results: results.map(fingerprint) };
      if ('time' in message)
        return { ms: Array(message.runs).fill(ms[Math.min(turn++ >> 1, ms.length - 1)]) };
      return {};
    },
  };
}
const spec = { kind: 'matmul', inputs: {}, operations: 1e9 };
const entry = (id) => ({ id, runner: id, spec });

test('verdicts: ratios within a turn, bars within 5 %', async () => {
  const one = {
    name: 'work',
    entries: [entry('mine'), entry('theirs'), entry('absent')],
    bars: [
      { versus: 'theirs', least: 2 },
      { versus: 'theirs', least: 2.2 },
      { versus: 'theirs', most: 0.48 },
      { versus: 'peak', least: 0.5 },
      { versus: 'absent', least: 1 },
      { below: 400001 },
    ],
  };
  const runners = { mine: fake([400]), theirs: fake([800]) };
  const find = async (name) => {
    if (!runners[name]) throw new Error('not here');
    return runners[name];
  };
  const measured = await measure(one, find, { rounds: 3 });
  const verdicts = judge(one, measured, 5);
  assert.deepEqual(
    verdicts.map(({ met }) => met),
    [true, false, true, true, undefined, true],
  );
  assert.equal(verdicts[0].value, 2);
  assert.equal(verdicts[3].value, 0.5);
  assert.equal(verdicts[4].why, 'not here');
  assert.equal(disagrees(measured), false);
  const text = lines(measured, verdicts).join('\n');
  assert.match(
    text,
    /^work\n {2}mine +400 ms +2\.50 Gop\/s\n {2}theirs +800 ms +1\.25 Gop\/s +2\.00 x\n {2}absent +- {2}not here\n/,
  );
  assert.match(text, /= 2\.00 x theirs, bar 2\.2: NOT MET/);
  assert.match(
    summary([{ measured, verdicts }]).join('\n'),
    /^4 of 5 bars met\n {2}not met: work: 2\.00 x theirs, bar 2\.2\n {2}not measured: 1$/,
  );
});

test('results that differ are told unless it is known why', async () => {
  const runners = { mine: fake([400]), theirs: fake([400], [[1, 2, 4]]) };
  const one = { name: 'work', entries: [entry('mine'), entry('theirs')], bars: [] };
  const find = async (name) => runners[name];
  const measured = await measure(one, find, { rounds: 1 });
  assert.equal(disagrees(measured), true);
  assert.match(lines(measured, []).at(-1), /! results differ from theirs's by/);
  const known = await measure({ ...one, known: { theirs: 'wrong there' } }, find, { rounds: 1 });
  assert.equal(disagrees(known), false);
  assert.match(lines(known, []).at(-1), /known: wrong there/);
});

test('choosing cases and libraries', () => {
  const names = (options) => choose(cases, options).map(({ name }) => name);
  assert.deepEqual(names({ only: 'matmul 51, softmax 1024x1024 FORWARD' }).slice(0, 2), [
    'matmul 512',
    'softmax 1024x1024 forward',
  ]);
  assert.deepEqual(names({ only: 'no such' }), []);
  const ids = (options) =>
    choose(cases, { only: 'conv2d 3x3 forward', ...options })[0].entries.map(({ id }) => id);
  assert.ok(!ids({}).includes('jax'));
  assert.deepEqual(ids({ peers: 'jax,torch' }), ['omnigrad', 'jax', 'torch']);
  assert.equal(new Set(names({})).size, cases.length);
});

test('small arithmetic', () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 2, 3])], [2, 2.5]);
  assert.deepEqual([1234, 12.345, 0.012345, 0.0000123, 0].map(number), [
    '1234',
    '12.3',
    '0.0123',
    '1.2e-5',
    '0',
  ]);
});
