// Every demo in Firefox and WebKitGTK, isolated and not: each picks its build and shows Node's losses and weights, to the
// last bit. Chromium's turn is in tests/e2e.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serve } from '../../web/demos/serve.mjs';
import { inNode, names, queryOf, shown } from './support/demos.mjs';
import { launchFirefox } from './support/firefox.mjs';
import { launchWebKit } from './support/webkit.mjs';

const nodes = {};
let server, base;

before(async () => {
  server = await serve(0);
  base = `http://localhost:${server.address().port}`;
});
after(() => server?.close());

for (const name of names) {
  test(`${name}: both builds in Node`, async () => {
    nodes[name] = await inNode(name, '--variant', 'single');
    assert.deepEqual(await inNode(name, '--variant', 'threads', '--threads', '2'), nodes[name]);
  });
}

const isolated = ['', 'threads', 'ok'];
const plain = ['/plain', 'single', 'not-isolated'];

for (const [title, launch, ...kinds] of [
  ['Firefox', launchFirefox, isolated, plain],
  ['WebKitGTK', launchWebKit, isolated, plain],
  [
    'WebKitGTK without SharedArrayBuffer',
    () => launchWebKit({ sharedMemory: false }),
    ['', 'single', 'no-sab'],
  ],
]) {
  test(title, async (t) => {
    const browser = await launch();
    try {
      for (const name of names)
        for (const [path, variant, reason] of kinds)
          await t.test(`${path}/${name}`, async () => {
            const page = await browser.open(`${base}${path}/${name}/${queryOf(name)}`);
            const run = await page.evaluate(shown);
            assert.deepEqual(run, { error: '', variant, reason, ...nodes[name] });
            assert.deepEqual(page.complaints, []);
            await page.close();
          });
    } finally {
      await browser.close();
    }
  });
}
