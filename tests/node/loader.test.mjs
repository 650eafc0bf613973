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

test('terminate ends a start under way at once, and init works again', () => {
  const result = run(`
    const first = code(init());
    terminate();
    const second = code(init({ variant: 'single', timeout: 20001 }));
    const third = code(init({ variant: 'single', timeout: 20002 }));
    out([await first, await second, await third, tensor([2]).mul(2).item()]);`);
  assert.deepEqual(result, ['terminated', 'none', 'already-initialised', 4]);
});

test('defaults written out are the same options', () => {
  const result = run(`
    const plain = await init();
    const spelt = { variant: 'auto', maxMemory: 2147483648, timeout: 20000, deterministic: true };
    out([plain === await init(spelt), await code(init({ deterministic: false }))]);`);
  assert.deepEqual(result, [true, 'already-initialised']);
});

test('threads that were asked for and are not to be had are warned of once', () => {
  const result = run(`
    const lines = [];
    console.warn = (line) => lines.push(line);
    const { Memory } = WebAssembly;
    WebAssembly.Memory = function (given) {
      if (given.shared && given.maximum > 1) throw new RangeError('no room');
      return new Memory(given);
    };
    const codes = [];
    for (const threads of [2, 3]) {
      const { variant, reason } = await init({ threads });
      codes.push(variant, reason.code);
      terminate();
    }
    out([codes, lines]);`);
  assert.deepEqual(result[0], ['single', 'memory', 'single', 'memory']);
  assert.equal(result[1].length, 1);
  assert.match(
    result[1][0],
    /^omnigrad: 2 threads were asked for, one runs: a memory of 33554432 bytes was refused/,
  );
});

test('a module compiled beforehand is used, and must be of this build', () => {
  const result = run(`
    const { readFileSync } = await import('node:fs');
    const { pathToFileURL } = await import('node:url');
    const folder = new URL('dist/assets/', pathToFileURL('${root}'));
    const compiled = (name) => new WebAssembly.Module(readFileSync(new URL(name, folder)));
    const single = compiled('omnigrad-single.wasm');
    // Its URL leads nowhere: only the module given can be what runs.
    const assets = { single: { glue: new URL('omnigrad-single.mjs', folder).href, wasm: 'file:///nowhere.wasm' } };
    await init({ variant: 'single', assets, wasmModule: single });
    const value = tensor([3]).square().item();
    terminate();
    const empty = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));
    const failures = [];
    for (const wasmModule of [compiled('omnigrad-threads.wasm'), empty])
      await init({ variant: 'single', wasmModule }).catch((e) => failures.push(e.code, e.message));
    // Threads fail with a module of the other build, and the single-threaded build takes its own file.
    const { variant, reason } = await init({ wasmModule: single });
    out([value, failures, variant, reason.code]);`);
  const [value, failures, ...rest] = result;
  assert.equal(value, 9);
  assert.deepEqual([failures[0], failures[2]], ['start-failed', 'start-failed']);
  assert.match(failures[1], /wasmModule is the threads build, not the single one/);
  assert.match(failures[3], /wasmModule is no build of omnigrad/);
  assert.deepEqual(rest, ['single', 'start-failed']);
});

test('started and ended over and over, there is memory and a pool each time', () => {
  const result = run(`
    const reasons = new Set();
    for (let i = 0; i < 25; i++) {
      const { variant, reason } = await init({ threads: 2 });
      reasons.add(variant + ' ' + reason.code + ' ' + tensor([i]).add(1).item().toFixed(0).length);
      terminate();
    }
    out([...reasons]);`);
  assert.deepEqual(result, ['threads ok 1', 'threads ok 2']);
});

test('a wrong folder, a folder of the wrong files, and a worker that cannot load, each named', () => {
  const result = run(`
    const { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = await import('node:fs');
    const { tmpdir } = await import('node:os');
    const folder = mkdtempSync(tmpdir() + '/omnigrad-');
    cpSync('${root}dist/assets', folder, { recursive: true });
    const wasm = folder + '/omnigrad-single.wasm';
    const whole = readFileSync(wasm);
    const messages = [];
    const attempt = (options) => init(options).then(() => messages.push('none'), (e) => messages.push(e.message));
    writeFileSync(wasm, whole.subarray(0, 100000));
    await attempt({ variant: 'single', assets: folder + '/' });
    writeFileSync(wasm, '<!doctype html><title>404</title>');
    await attempt({ variant: 'single', assets: folder });
    await attempt({ variant: 'single', assets: folder + '/nowhere' });
    const glue = folder + '/omnigrad-threads.mjs';
    const worker = "if (!process.getBuiltinModule('worker_threads').isMainThread) throw new Error('no worker here');";
    writeFileSync(glue, worker + readFileSync(glue, 'utf8'));
    await attempt({ variant: 'threads', threads: 2, assets: folder });
    rmSync(folder, { recursive: true });
    out(messages);`);
  assert.match(result[0], /omnigrad-single\.wasm is broken or cut short/);
  assert.match(result[1], /omnigrad-single\.wasm is no WebAssembly: it starts with "<!doctype html>"/);
  assert.match(result[2], /nowhere\/omnigrad-single/);
  assert.match(result[3], /the threads build did not start: a worker of the pool failed: no worker here/);
});

test('importing the entries touches neither the DOM nor WebAssembly', () => {
  const text = `
    const touched = [];
    for (const name of ['WebAssembly', 'document', 'window', 'Worker', 'navigator', 'fetch', 'SharedArrayBuffer', 'self'])
      Object.defineProperty(globalThis, name, { configurable: true, get() { touched.push(name); return undefined; } });
    const { exports } = (await import('${root}package.json', { with: { type: 'json' } })).default;
    const entries = Object.keys(exports).filter((e) => !/[*]|json|vite/.test(e));
    for (const entry of entries) await import('omnigrad' + entry.slice(1));
    process.stdout.write(JSON.stringify([touched, entries.length]));`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    cwd: root,
    encoding: 'utf8',
  });
  assert.equal(status, 0);
  const [touched, entries] = JSON.parse(stdout);
  assert.deepEqual(touched, []);
  assert.ok(entries >= 6);
});
