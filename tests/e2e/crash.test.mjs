// A pool worker that traps while the page itself waits for it, which it does busily: a page's main thread may not sleep.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { body, changed } from '../node/lib/wasm.mjs';
import { launch } from './support/chromium.mjs';
import { serveSite } from './support/site.mjs';

const read = (name) => readFileSync(new URL(`../../dist/assets/omnigrad-threads.${name}`, import.meta.url));

/** The pool's workers run a module whose parallel loops trap; they fetch it where the page's is handed to them. */
function glue() {
  const text = read('mjs').toString();
  const load = 'instance.wasmModule = wasmModule;';
  assert.equal(text.split(load).length, 2);
  return text.replace(
    load,
    `const request = new XMLHttpRequest();
     request.open('GET', new URL('traps.wasm', import.meta.url), false);
     request.responseType = 'arraybuffer';
     request.send();
     instance.wasmModule = new WebAssembly.Module(request.response);`,
  );
}

let site, browser;
before(async () => {
  const chunks = (name) => /parallel_for<.*::__invoke\(/.test(name);
  const traps = changed(read('wasm'), read('wasm.symbols').toString(), chunks, () => body(0x00)); // unreachable
  site = await serveSite({ 'traps.mjs': glue(), 'traps.wasm': traps });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

test('it is an error at once, and terminate and init start anew', async () => {
  const page = await browser.newPage();
  await page.goto(`${site.origin}/isolated/empty.html`);
  const told = await page.evaluate(async () => {
    const { init, ones, scope, tensor, terminate } = await import('./lib/index.js');
    const assets = {
      threads: { glue: './traps.mjs', wasm: './lib/assets/omnigrad-threads.wasm' },
    };
    await init({ variant: 'threads', threads: 2, assets });
    const x = tensor(new Float32Array(1e6), { shape: [1000, 1000] });
    const begun = performance.now();
    const errors = [];
    // Until a worker has taken part: the caller may be through before it wakes.
    for (let i = 0; i < 2000 && errors.length === 0; i++) {
      try {
        scope(() => x.exp().add(1).sum());
      } catch (error) {
        errors.push([error.code, error.message]);
      }
    }
    const seconds = (performance.now() - begun) / 1000;
    try {
      ones([1]);
    } catch (error) {
      errors.push([error.code, error.message]);
    }
    terminate();
    const { variant } = await init({ variant: 'threads', threads: 2 });
    return { errors, seconds, variant, sum: ones([300, 300]).sum().item() };
  });
  await page.close();
  assert.deepEqual(
    told.errors.map(([code]) => code),
    ['crashed', 'crashed'],
  );
  assert.match(told.errors[0][1], /a thread of the pool was lost/);
  assert.ok(told.seconds < 30, `${told.seconds} s`);
  assert.deepEqual([told.variant, told.sum], ['threads', 90000]);
});
