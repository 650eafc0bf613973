// The error bridge, on each build: what C++ throws, what runs out and what a JavaScript callback throws arrive as they
// should, nothing is left behind, and the module works on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

// Runs in a process of its own, since each starts a build.
const body = (variant) => `
  import * as og from 'omnigrad';
  await og.init({ variant: '${variant}', maxMemory: 256e6, ...('${variant}' === 'threads' ? { threads: 2 } : {}) });
  const caught = (fn) => {
    try {
      og.scope(fn);
    } catch (error) {
      return [error.constructor.name, error.code, error.message];
    }
  };
  const mine = og.customGrad((x) => x.mul(2), () => { throw new RangeError('mine'); });
  const rounds = [];
  for (let round = 0; round < 3; round++) {
    const before = og.memory();
    rounds.push([
      caught(() => og.conv(og.ones([1, 3, 8, 8]), og.ones([4, 2, 3, 3]))),
      caught(() => og.zeros([300, 1024, 1024])),
      caught(() => { const held = []; for (;;) held.push(og.ones([1 << 20])); }),
      caught(() => mine(og.ones([2], { requiresGrad: true })).sum().backward()),
      caught(() => og.checkpoint(() => { throw new TypeError('also mine'); }, og.ones([1]))),
      og.scope(() => og.ones([64, 64]).matmul(og.ones([64, 64])).sum().item()),
      og.memory().tensors - before.tensors,
      og.memory().liveBytes - before.liveBytes,
    ]);
  }
  process.stdout.write(JSON.stringify(rounds));`;

for (const variant of ['single', 'threads']) {
  test(`errors cross the ${variant} build and leave nothing behind`, () => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', body(variant)],
      { cwd: root, encoding: 'utf8', timeout: 120000 },
    );
    assert.equal(status, 0, stderr);
    for (const [shape, large, many, callback, inner, works, tensors, bytes] of JSON.parse(stdout)) {
      assert.deepEqual(shape.slice(0, 2), ['OmnigradError', 'shape']);
      assert.match(shape[2], /^conv: .*\[4, 2, 3, 3\]/);
      assert.deepEqual(large.slice(0, 2), ['OmnigradError', 'memory']);
      assert.match(large[2], /out of memory: \d+ bytes asked for/);
      assert.deepEqual(many.slice(0, 2), ['OmnigradError', 'memory']);
      assert.deepEqual([callback[0], callback[2]], ['RangeError', 'mine']);
      assert.deepEqual([inner[0], inner[2]], ['TypeError', 'also mine']);
      assert.deepEqual([works, tensors, bytes], [64 * 64 * 64, 0, 0]);
    }
  });
}

test('a handle that is none gives an error, not a crash', async () => {
  const { init, terminate } = await import('omnigrad');
  const { runtime } = await import('../../dist/runtime.js');
  await init({ variant: 'single' });
  const { module } = runtime('test');
  for (const name of ['alias', 'detach', 'gradOf', 'meta', 'read']) {
    assert.equal(Math.abs(module[name](12345)), 1, name);
    assert.equal(JSON.parse(module.lastError()).code, 'disposed', name);
  }
  terminate();
});
