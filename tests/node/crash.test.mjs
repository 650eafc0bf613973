// A module that traps: in the caller's thread, in a worker of the pool, and a worker that never comes back. Each is an
// error, never a hang; nothing computes after it until terminate() and init(), and then all is well.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { OmnigradError, checkpoint, init, memory, ones, scope, tensor, terminate } from 'omnigrad';
import { body, changed } from './lib/wasm.mjs';

const assets = new URL('../../dist/assets/', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
const file = (name) => join(folder, name);
const url = (name) => pathToFileURL(file(name)).href;
const read = (name) => readFileSync(new URL(name, assets));

// The chunks of every parallel loop.
const chunks = (name) => /parallel_for<.*::__invoke\(/.test(name);
const trap = () => body(0x00); // unreachable
const forever = () => body(0x03, 0x40, 0x0c, 0x00, 0x0b, 0x00); // loop; br 0; end; unreachable

/** Files of the threaded build, with `own` in the place of its module, whose pool workers run `wasm`. */
function poolWith(name, wasm, own = read('omnigrad-threads.wasm')) {
  writeFileSync(file(`${name}-own.wasm`), own);
  writeFileSync(file(`${name}.wasm`), wasm);
  const glue = read('omnigrad-threads.mjs').toString();
  const load = 'instance.wasmModule = wasmModule;';
  assert.equal(glue.split(load).length, 2);
  const bytes = `nodeBuiltin('fs').readFileSync(${JSON.stringify(file(`${name}.wasm`))})`;
  writeFileSync(
    file(`${name}.mjs`),
    glue.replace(load, `instance.wasmModule = new WebAssembly.Module(${bytes});`),
  );
  return { threads: { glue: url(`${name}.mjs`), wasm: url(`${name}-own.wasm`) } };
}

/** A build whose every thread traps in a parallel loop. */
function brokenBuild(variant) {
  const name = `omnigrad-${variant}`;
  const bodies = changed(read(`${name}.wasm`), read(`${name}.wasm.symbols`).toString(), chunks, trap);
  writeFileSync(file(`${name}.wasm`), bodies);
  return { [variant]: { glue: new URL(`${name}.mjs`, assets).href, wasm: url(`${name}.wasm`) } };
}

let x;
// Made by no parallel loop.
const values = () => tensor(new Float32Array(1e6), { shape: [1000, 1000] });
const large = () => x.exp().add(1).sum();
const crashed = (pattern) => (error) => {
  assert.ok(OmnigradError.is(error), String(error.stack));
  assert.equal(error.code, 'crashed');
  assert.match(error.message, pattern);
  return true;
};
/** That it says so ever after, and that a new start is a good one. */
async function afterwards(options, pattern) {
  for (const use of [() => ones([1]), () => x.add(1), () => x.toTypedArray(), () => memory()])
    assert.throws(use, crashed(pattern));
  await assert.rejects(init(options), crashed(/terminate\(\) first/));
  x.dispose(); // frees nothing, and does not touch the module
  terminate();
  await init({ variant: 'threads', threads: 2 });
  assert.throws(() => x.add(1), { code: 'disposed' });
  assert.equal(ones([300, 300]).exp().sum().item().toFixed(0), String(Math.round(90000 * Math.E)));
}

let wasm, symbols;
before(() => {
  wasm = read('omnigrad-threads.wasm');
  symbols = read('omnigrad-threads.wasm.symbols').toString();
});
afterEach(() => terminate());
after(() => rmSync(folder, { recursive: true }));

/** Until a worker has taken part: the caller may be through before it wakes. */
function untilItThrows(fn) {
  for (let i = 0; i < 2000; i++) scope(fn);
}

test('a worker that traps ends the operation with an error', async () => {
  const options = {
    variant: 'threads',
    threads: 2,
    assets: poolWith('traps', changed(wasm, symbols, chunks, trap)),
  };
  await init(options);
  x = values();
  assert.throws(() => untilItThrows(large), crashed(/a thread of the pool was lost/));
  await afterwards(options, /a thread of the pool was lost/);
});

test('a worker that never comes back is given up after a minute', async () => {
  // The minute is sixty waits of a second; these are of 5 ms.
  const [second, short] = [1000, 5].map((ms) => {
    const bytes = Buffer.alloc(9, 0x44); // f64.const
    bytes.writeDoubleLE(ms, 1);
    return bytes;
  });
  const waits = (name) => /parallel::.*(run|wait_for_workers|doze_while)\(/.test(name);
  const quick = changed(wasm, symbols, waits, (code) => {
    const at = code.indexOf(second);
    return at < 0 ? code : Buffer.concat([code.subarray(0, at), short, code.subarray(at + 9)]);
  });
  const assets = poolWith('hangs', changed(wasm, symbols, chunks, forever), quick);
  const options = { variant: 'threads', threads: 2, assets };
  await init(options);
  x = values();
  const begun = performance.now();
  assert.throws(() => untilItThrows(large), crashed(/a thread of the pool was lost/));
  assert.ok(performance.now() - begun >= 60 * 5);
  await afterwards(options, /a thread of the pool was lost/);
});

for (const variant of ['single', 'threads'])
  test(`a trap in the caller's own thread, ${variant}`, async () => {
    const options = { variant, threads: 1, assets: brokenBuild(variant) };
    await init(options);
    x = values();
    assert.throws(large, (error) => {
      assert.ok(error.cause instanceof WebAssembly.RuntimeError);
      return crashed(/the module trapped: unreachable/)(error);
    });
    await afterwards(options, /the module trapped/);
  });

test('an error of a callback is no trap', async () => {
  await init({ variant: 'single' });
  const { tensors } = memory();
  for (const error of [new Error('mine'), new RangeError('mine')]) {
    const fail = () => {
      throw error;
    };
    assert.throws(() => scope(() => checkpoint(fail, ones([2]))), error);
  }
  assert.equal(memory().tensors, tensors);
  assert.equal(ones([2]).sum().item(), 2);
});
