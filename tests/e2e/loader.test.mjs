// Starting in Chromium: every way the files can be wrong, every kind of isolation, in pages, frames and workers, under a
// strict content security policy. Each start ends, with a build or with an error that says what is wrong.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch } from './support/chromium.mjs';
import { serveSite } from './support/site.mjs';

const worker = `
  import { init, tensor } from './lib/index.js';
  onmessage = async ({ data }) => {
    const { variant, reason } = await init(data);
    postMessage([variant, reason.code, tensor([1, 2]).mul(3).tolist()]);
  };`;
const coi = readFileSync(
  createRequire(import.meta.url).resolve('coi-serviceworker/coi-serviceworker.js'),
  'utf8',
);

let site, elsewhere, browser;
before(async () => {
  elsewhere = await serveSite();
  const shim = `export { default } from '${elsewhere.origin}/open/lib/assets/omnigrad-threads.mjs';\n`;
  site = await serveSite({
    'worker.js': worker,
    'shim.mjs': shim,
    'coi-serviceworker.js': coi,
    'coi.html': '<!doctype html><script src="coi-serviceworker.js"></script>',
  });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
  elsewhere?.close();
});

/** A page below a prefix that names its headers; gives what `body` returns, run there with the library's exports. */
async function run(prefix, body, arg) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Chromium's own words about a file that is not there.
    if (!/^Failed to load (resource|module script)/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(`${site.origin}/${prefix}/empty.html`);
  // As text: a strict policy lets the test's own tool evaluate, not the page.
  const result = await page.evaluate(`(async () => {
    const [base, arg] = ${JSON.stringify([`${site.origin}/${prefix}`, arg ?? {}])};
    const lib = await import(base + '/lib/index.js');
    const attempt = async (promise) => {
      try {
        const { variant, threads, reason } = await promise;
        return { variant, threads, code: reason.code, message: reason.message };
      } catch (error) {
        return { is: lib.OmnigradError.is(error), code: error.code, message: error.message };
      }
    };
    ${body}
  })()`);
  await context.close();
  return { result, complaints };
}

/** Starts with the options; gives the outcome, and the page's complaints must be none. */
async function start(prefix, options, then = 'return started') {
  const body = `const started = await attempt(lib.init(arg)); ${then}`;
  const { result, complaints } = await run(prefix, body, options);
  assert.deepEqual(complaints, []);
  return result;
}

const fault = (kind, of) => `fault/${kind}/${of}/`;

// [what is wrong, which file, what the message must say]
const broken = [
  ['missing', 'wasm', /omnigrad-single\.wasm: HTTP 404/],
  ['missing', 'mjs', /omnigrad-single\.mjs: HTTP 404/],
  [
    'html',
    'wasm',
    /omnigrad-single\.wasm is no WebAssembly: it starts with "<!doctype html>"; a server's page/,
  ],
  ['html', 'mjs', /omnigrad-single\.mjs is served as "text\/html", not as JavaScript/],
  ['truncated', 'wasm', /omnigrad-single\.wasm is broken or cut short/],
  ['truncated', 'mjs', /omnigrad-single\.mjs/],
  ['garbled', 'wasm', /omnigrad-single\.wasm is broken or cut short/],
  ['old', 'wasm', /omnigrad-single\.wasm is of build 0123456789abcdef, this library of [0-9a-f]{16}; copy/],
  ['old', 'mjs', /omnigrad-single\.mjs is of build 0123456789abcdef, this library of/],
];
for (const [kind, of, message] of broken) {
  test(`a ${kind} .${of} is an error that says so`, async () => {
    const outcome = await start('plain', { assets: fault(kind, of) });
    assert.equal(outcome.is, true, JSON.stringify(outcome));
    assert.equal(outcome.code, 'start-failed');
    assert.match(outcome.message, message);
  });
}

test('files of the other build are told apart', async () => {
  const of = (variant) => ({
    glue: `lib/assets/omnigrad-${variant}.mjs`,
    wasm: `lib/assets/omnigrad-threads.wasm`,
  });
  const { message } = await start('plain', { assets: { single: of('single') } });
  assert.match(message, /omnigrad-threads\.wasm is the threads build, not the single one/);
});

test('a server that never answers: the time limit holds', async () => {
  const begun = performance.now();
  const outcome = await start('plain', { assets: fault('silent', 'wasm'), timeout: 500 });
  assert.deepEqual([outcome.is, outcome.code], [true, 'start-timeout']);
  assert.ok(performance.now() - begun < 10000);
});

// Threads that do not come up, with a single-threaded build that does.
const single = { glue: 'lib/assets/omnigrad-single.mjs', wasm: 'lib/assets/omnigrad-single.wasm' };
const threadsOf = (kind, of) => ({
  threads: {
    glue: `${fault(kind, of)}omnigrad-threads.mjs`,
    wasm: `${fault(kind, of)}omnigrad-threads.wasm`,
  },
  single,
});
for (const [kind, of, code, message] of [
  ['missing', 'wasm', 'start-failed', /omnigrad-threads\.wasm: HTTP 404/],
  [
    'no-worker',
    'mjs',
    'start-failed',
    /a worker of the pool failed: the script cannot be loaded as a worker/,
  ],
  ['silent-worker', 'mjs', 'start-timeout', /did not start in 1500 ms/],
]) {
  test(`threads whose .${of} is ${kind} are replaced, and the reason says so`, async () => {
    const options = { assets: threadsOf(kind, of), timeout: 1500, threads: 3 };
    const body = `
      const started = await attempt(lib.init(arg));
      return [started, lib.tensor([1, 2]).add(1).tolist()];`;
    const { result, complaints } = await run('isolated', body, options);
    const [started, values] = result;
    assert.deepEqual([started.variant, started.threads, started.code], ['single', 1, code]);
    assert.match(started.message, message);
    assert.deepEqual(values, [2, 3]);
    // Threads were asked for: it warns, once.
    assert.equal(complaints.length, 1);
    assert.match(complaints[0], /^omnigrad: 3 threads were asked for, one runs: /);
  });
}

const refuseAbove = (bytes) => `
  const { Memory } = WebAssembly;
  const asked = [];
  WebAssembly.Memory = function (given) {
    asked.push([given.maximum * 65536, given.shared === true]);
    if (given.maximum * 65536 > ${bytes}) throw new RangeError('could not allocate memory');
    return new Memory(given);
  };`;
test('memory that is refused is asked for again, smaller; the reason tells', async () => {
  const body = `${refuseAbove(600e6)}
    const started = await attempt(lib.init({ threads: 2 }));
    const { maxMemory } = await lib.init({ threads: 2 });
    return [started, maxMemory, asked, lib.tensor([4]).sqrt().item()];`;
  const { result, complaints } = await run('isolated', body);
  const [started, maxMemory, asked, value] = result;
  assert.deepEqual(complaints, []);
  assert.deepEqual([started.variant, started.code], ['threads', 'memory']);
  assert.match(started.message, /^2147483648 bytes of memory were refused; the heap may grow to 536870912$/);
  assert.equal(maxMemory, 536870912);
  const bytes = asked.slice(-3).map(([size]) => size);
  assert.deepEqual(bytes, [2147483648, 1073741824, 536870912]);
  assert.equal(value, 2);
});

test('shared memory that is refused at any size leaves the single-threaded build', async () => {
  const body = `
    const { Memory } = WebAssembly;
    WebAssembly.Memory = function (given) {
      if (given.shared && given.maximum > 1) throw new RangeError('could not allocate memory');
      return new Memory(given);
    };
    return [await attempt(lib.init()), lib.tensor([4]).sqrt().item()];`;
  const { result, complaints } = await run('isolated', body);
  assert.deepEqual(complaints, []);
  assert.deepEqual([result[0].variant, result[0].code, result[1]], ['single', 'memory', 2]);
});

test('no memory at all is an error', async () => {
  const { result } = await run('plain', `${refuseAbove(1e6)} return attempt(lib.init())`);
  assert.deepEqual([result.is, result.code], [true, 'memory']);
  assert.match(result.message, /33554432 bytes was refused/);
});

test('init racing with itself and with terminate', async () => {
  const body = `
    const first = lib.init(), same = lib.init(), other = attempt(lib.init({ threads: 2 }));
    const codes = [(await first) === (await same), (await other).code];
    lib.terminate();
    const ended = attempt(lib.init());
    lib.terminate();
    const again = attempt(lib.init({ variant: 'single' }));
    lib.terminate();
    const last = attempt(lib.init({ threads: 2 }));
    return [...codes, (await ended).code, (await again).code, (await last).variant, lib.tensor([9]).sqrt().item()];`;
  const { result, complaints } = await run('isolated', body);
  assert.deepEqual(complaints, []);
  assert.deepEqual(result, [true, 'already-initialised', 'terminated', 'terminated', 'threads', 3]);
});

test('started and ended over and over, there is memory and a pool each time', async () => {
  const body = `
    const before = Object.getOwnPropertyNames(globalThis).length;
    for (let i = 0; i < 12; i++) {
      const { variant, reason } = await lib.init({ threads: 2 });
      if (variant !== 'threads') return [i, reason];
      if (lib.ones([100]).sum().item() !== 100) return [i, 'wrong'];
      lib.terminate();
    }
    return Object.getOwnPropertyNames(globalThis).length - before;`;
  const { result, complaints } = await run('isolated', body);
  assert.deepEqual(complaints, []);
  assert.equal(result, 0);
});

// [headers, build, reason]
for (const [prefix, variant, code] of [
  ['plain', 'single', 'not-isolated'],
  ['plain-strict', 'single', 'not-isolated'],
  ['isolated', 'threads', 'ok'],
  ['strict', 'threads', 'ok'],
  ['credentialless', 'threads', 'ok'],
  ['document', 'threads', 'ok'],
]) {
  test(`headers "${prefix}": ${variant}, in the page and in a worker`, async () => {
    const body = `
      const started = await attempt(lib.init(arg));
      const inside = new Worker(base + '/worker.js', { type: 'module' });
      inside.postMessage(arg);
      const told = await new Promise((resolve) => { inside.onmessage = ({ data }) => resolve(data); });
      return [started.variant, started.code, told];`;
    const { result, complaints } = await run(prefix, body);
    assert.deepEqual(complaints, []);
    assert.deepEqual(result, [variant, code, [variant, code, [3, 6]]]);
  });
}

test('a frame of another origin in an isolated page is not isolated', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${site.origin}/isolated/empty.html`);
  await page.evaluate((src) => {
    document.body.append(Object.assign(document.createElement('iframe'), { src }));
  }, `${elsewhere.origin}/open/empty.html`);
  const frame = await page.waitForSelector('iframe').then((handle) => handle.contentFrame());
  await frame.waitForLoadState();
  const outcome = await frame.evaluate(async () => {
    const { init, tensor } = await import('./lib/index.js');
    const { variant, reason } = await init();
    return [variant, reason.code, tensor([1]).add(1).item()];
  });
  assert.deepEqual(outcome, ['single', 'not-isolated', 2]);
  await context.close();
});

test('assets of another origin run single-threaded; two lines on the own origin bring threads', async () => {
  const far = `${elsewhere.origin}/open/lib/assets/`;
  const body = `return [await attempt(lib.init(arg)), lib.tensor([5]).add(1).item()]`;
  const alone = await run('isolated', body, { assets: far });
  assert.deepEqual(alone.complaints, []);
  const [outcome, value] = alone.result;
  assert.deepEqual([outcome.variant, outcome.code, value], ['single', 'cross-origin-worker', 6]);
  assert.ok(
    outcome.message.includes(`export { default } from '${far}omnigrad-threads.mjs'`),
    outcome.message,
  );

  const threads = { glue: 'shim.mjs', wasm: `${far}omnigrad-threads.wasm` };
  const shimmed = await run('isolated', body, { assets: { threads }, threads: 2 });
  assert.deepEqual(shimmed.complaints, []);
  assert.deepEqual(
    [shimmed.result[0].variant, shimmed.result[0].threads, shimmed.result[1]],
    ['threads', 2, 6],
  );
});

test('coi-serviceworker isolates a page whose server sends no headers', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${site.origin}/plain/coi.html`);
  await page.waitForFunction(() => globalThis.crossOriginIsolated === true, undefined, { timeout: 15000 });
  const outcome = await page.evaluate(async () => {
    const { init, tensor } = await import('./lib/index.js');
    const { variant, reason } = await init({ threads: 2 });
    return [variant, reason.code, tensor([2]).square().item()];
  });
  assert.deepEqual(outcome, ['threads', 'ok', 4]);
  await context.close();
});
