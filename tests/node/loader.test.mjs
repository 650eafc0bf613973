// Starting, failing, falling back and ending, each in a process of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a module's text; gives what it wrote as JSON. Fails if it does not end by itself. */
function run(body) {
  const text = `import { init, terminate, tensor, OmnigradError } from 'omnigrad';
    const out = (value) => process.stdout.write(JSON.stringify(value));
    const code = (promise) => promise.then(() => 'none', (e) => (OmnigradError.is(e) ? e.code : String(e)));
    ${body}`;
  const { status, stdout, stderr, error } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    cwd: root,
    timeout: 60000,
    encoding: 'utf8',
  });
  assert.equal(error, undefined, `did not end: ${stdout} ${stderr}`);
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

test('init takes threads in Node, and the process ends by itself', () => {
  const { variant, threads, reason } = run('out(await init({ threads: 2 }))');
  assert.deepEqual([variant, threads, reason.code], ['threads', 2, 'ok']);
});

test('the threaded build starts with every number of threads, one included', () => {
  for (const threads of [1, 2, 4]) {
    const body = `const { variant, threads } = await init({ variant: 'threads', threads: ${threads} });`;
    assert.deepEqual(run(`${body} out([variant, threads, tensor([2]).add(3).item()])`), [
      'threads',
      threads,
      5,
    ]);
  }
});

test('terminate while the pool is still starting', () => {
  const body = `for (let i = 0; i < 3; i++) { await init({ variant: 'threads', threads: 16 }); terminate(); }`;
  assert.equal(run(`${body} out(await code(init({ variant: 'threads', threads: 2 })))`), 'none');
});

test('each build can be forced', () => {
  for (const variant of ['threads', 'single']) {
    const result = run(`out(await init({ variant: '${variant}' }))`);
    assert.deepEqual([result.variant, result.reason.code], [variant, 'forced']);
  }
});

test('the same options give the same result, others are an error until terminate', () => {
  const result = run(`
    const [a, b] = await Promise.all([init({ variant: 'single' }), init({ variant: 'single' })]);
    const other = await code(init({ variant: 'threads' }));
    terminate();
    const again = await init({ variant: 'threads', threads: 2 });
    out([a === b, other, again.variant]);`);
  assert.deepEqual(result, [true, 'already-initialised', 'threads']);
});

test('a build that is not there is replaced, and the reason says so', () => {
  const result = run(`
    const single = new URL('dist/assets/omnigrad-single', 'file://${root}');
    const assets = {
      threads: { glue: 'file:///nowhere/t.mjs', wasm: 'file:///nowhere/t.wasm' },
    };
    const { variant, reason } = await init({ assets });
    terminate();
    out([variant, reason.code, await code(init({ assets, variant: 'threads' }))]);`);
  assert.deepEqual(result, ['single', 'start-failed', 'start-failed']);
});

test('a start that hangs is given up', () => {
  const result = run(`
    const hang = 'data:text/javascript,export default () => new Promise(() => setTimeout(() => {}, 500))';
    const assets = { threads: { glue: hang, wasm: new URL('dist/assets/omnigrad-threads.wasm', 'file://${root}').href } };
    const { variant, reason } = await init({ assets, timeout: 400 });
    out([variant, reason.code]);`);
  assert.deepEqual(result, ['single', 'start-timeout']);
});

test('bad options are refused', () => {
  const result = run(`out([
    await code(init({ variant: 'gpu' })), await code(init({ threads: 0 })), await code(init({ thread: 2 })),
    await code(init({ maxMemory: 1000 })), await code(init({ timeout: -1 })) ])`);
  assert.deepEqual(result, ['option', 'option', 'option', 'memory', 'option']);
});

test('importing and starting leaves no global, no listener, and prints nothing', () => {
  const result = run(`
    const before = [Object.getOwnPropertyNames(globalThis).length, process.eventNames().length];
    await init({ threads: 2 });
    out([before, [Object.getOwnPropertyNames(globalThis).length, process.eventNames().length]]);`);
  assert.deepEqual(result[0], result[1]);
});

test('an op before init, and a tensor after terminate', () => {
  const result = run(`
    const codes = [];
    const attempt = (fn) => { try { fn(); codes.push('none'); } catch (e) { codes.push(e.code); } };
    attempt(() => tensor([1]));
    await init({ variant: 'single' });
    const x = tensor([1]);
    terminate();
    attempt(() => x.item());
    attempt(() => x.dispose());
    await init({ variant: 'single' });
    attempt(() => x.add(1));
    out(codes);`);
  assert.deepEqual(result, ['not-initialised', 'disposed', 'none', 'disposed']);
});

test('a heap full of small tensors says so, and can be emptied', () => {
  const result = run(`
    const { ones, scope } = await import('omnigrad');
    console.warn = () => {}; // holding so many is what it warns of
    await init({ variant: 'single', maxMemory: 48e6 });
    const rounds = [];
    for (let round = 0; round < 3; round++) {
      const held = [];
      let error;
      try { for (;;) held.push(ones([round * 7])); } catch (e) { error = e; }
      for (const x of held) x.dispose();
      rounds.push(OmnigradError.is(error) && error.code, held.length > 10000, scope(() => ones([1000]).sum().item()));
    }
    out(rounds);`);
  assert.deepEqual(result, ['memory', true, 1000, 'memory', true, 1000, 'memory', true, 1000]);
});

test('maxMemory bounds the heap; the error leaves the module working', () => {
  const result = run(`
    const { zeros } = await import('omnigrad');
    await init({ variant: 'single', maxMemory: 64 * 1024 * 1024 });
    let error;
    try { zeros([100, 1024, 1024]); } catch (e) { error = [e.code, e.op]; }
    out([error, tensor([1, 2]).add(1).tolist()]);`);
  assert.deepEqual(result, [
    ['memory', 'full'],
    [2, 3],
  ]);
});
