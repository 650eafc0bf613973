// The digits page in Chromium, isolated and not, against the same run in Node: each picks its build, learns, and shows
// the same losses to the last bit. The server's content security policy allows no eval.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../../web/demos/serve.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const steps = 120;
let server, browser, base;

before(async () => {
  server = await serve(0);
  base = `http://localhost:${server.address().port}`;
  browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** Losses of a run in Node. */
function inNode(...flags) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  const file = join(folder, 'losses.json');
  const args = ['web/demos/node/mnist.mjs', '--steps', steps, '--quiet', '--losses', file, ...flags];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const losses = JSON.parse(readFileSync(file, 'utf8'));
  rmSync(folder, { recursive: true });
  return losses;
}

/** Opens a page; gives it, and what it complained of. */
async function open(path) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => complaints.push(message.text()));
  await page.goto(base + path);
  return { page, complaints };
}

/** What the page shows after its last step. */
async function inPage(path) {
  const { page, complaints } = await open(path);
  await page.waitForSelector('body[data-state="done"], body[data-state="error"]', { timeout: 120000 });
  const text = (id) => page.textContent(`#${id}`);
  const accuracy = await text('accuracy');
  assert.match(accuracy, /%$/, accuracy);
  const result = {
    variant: await text('variant'),
    reason: (await text('reason')).split(':')[0],
    accuracy: parseFloat(accuracy),
    losses: JSON.parse(await text('losses')),
  };
  await page.close();
  assert.deepEqual(complaints, []);
  return result;
}

let losses;
test('both builds print the same losses in Node', () => {
  losses = inNode('--variant', 'threads', '--threads', '2');
  assert.equal(losses.length, steps);
  assert.deepEqual(inNode('--variant', 'single'), losses);
  assert.deepEqual(inNode('--variant', 'threads', '--threads', '3'), losses);
});

for (const [path, variant, reason] of [
  ['/', 'threads', 'ok'],
  ['/plain/', 'single', 'not-isolated'],
]) {
  test(`${path} runs ${variant}, learns, and shows Node's losses to the last bit`, async () => {
    const shown = await inPage(`${path}?steps=${steps}`);
    assert.deepEqual([shown.variant, shown.reason], [variant, reason]);
    assert.deepEqual(shown.losses, losses);
    assert.ok(shown.accuracy > 80, `accuracy ${shown.accuracy}`);
  });
}

for (const variant of ['threads', 'single']) {
  test(`the ${variant} build runs on the page itself`, async () => {
    const { page, complaints } = await open('/empty.html');
    const sum = await page.evaluate(async (chosen) => {
      const { init, tensor } = await import('/lib/index.js');
      const started = await init({ variant: chosen });
      return [started.variant, tensor([1, 2, 3]).square().sum().item()];
    }, variant);
    assert.deepEqual(sum, [variant, 14]);
    await page.close();
    assert.deepEqual(complaints, []);
  });
}
