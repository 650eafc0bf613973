// Firefox and WebKitGTK, isolated and not: each picks its build and shows Node's losses to the last bit.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '../../web/demos/serve.mjs';
import { launchFirefox } from './support/firefox.mjs';
import { launchWebKit } from './support/webkit.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const steps = 50;
let server, base, losses;

before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  const file = join(folder, 'losses.json');
  const flags = ['--steps', String(steps), '--quiet', '--losses', file];
  execFileSync(process.execPath, ['web/demos/node/mnist.mjs', ...flags], { cwd: root });
  losses = JSON.parse(readFileSync(file, 'utf8'));
  rmSync(folder, { recursive: true });
  server = await serve(0);
  base = `http://localhost:${server.address().port}`;
});
after(() => server?.close());

/** What the page shows when its run is over. */
const ended = async () => {
  while (!['done', 'error'].includes(document.body.dataset.state))
    await new Promise((go) => setTimeout(go, 50));
  const text = (id) => document.getElementById(id).textContent;
  const error = document.getElementById('error');
  return {
    error: error.hidden ? '' : error.textContent,
    variant: text('variant'),
    reason: document.getElementById('reason').dataset.code,
    losses: JSON.parse(text('losses')),
  };
};

for (const [launch, isolated, reason] of [
  [launchFirefox, 'threads', 'ok'],
  [launchWebKit, 'threads', 'ok'],
  [() => launchWebKit({ sharedMemory: false }), 'single', 'no-sab'],
]) {
  test(`${launch.name || 'launchWebKit without shared memory'}`, async () => {
    const browser = await launch();
    try {
      for (const [path, variant, why] of [
        ['/', isolated, reason],
        ['/plain/', 'single', 'not-isolated'],
      ]) {
        const page = await browser.open(`${base}${path}?steps=${steps}`);
        assert.deepEqual(await page.evaluate(ended), { error: '', variant, reason: why, losses });
        assert.deepEqual(page.complaints, []);
        await page.close();
      }
    } finally {
      await browser.close();
    }
  });
}
