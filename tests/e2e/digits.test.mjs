// The digits page in Chromium, isolated and not, against the same run in Node: each picks its build, learns, and shows
// the same losses to the last bit, held and resumed or not. The server's content security policy allows no eval.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { close, held, holdNext, inState, stepOf, stepped } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const steps = 120;
const site = demoSite();

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

/** What the page shows after its last step. */
async function shown(page) {
  await inState(page, 'done', 'error');
  const text = (id) => page.textContent(`#${id}`);
  assert.equal(await page.isVisible('#error'), false, await text('error'));
  return {
    variant: await text('variant'),
    reason: await page.getAttribute('#reason', 'data-code'),
    measure: await text('measure'),
    hash: await text('hash'),
    summary: await text('summary'),
    losses: JSON.parse(await text('losses')),
  };
}

let losses;
test('both builds print the same losses in Node', () => {
  losses = inNode('--variant', 'threads', '--threads', '2');
  assert.equal(losses.length, steps);
  assert.deepEqual(inNode('--variant', 'single'), losses);
  assert.deepEqual(inNode('--variant', 'threads', '--threads', '3'), losses);
});

for (const [path, variant, reason] of [
  ['/mnist/', 'threads', 'ok'],
  ['/plain/mnist/', 'single', 'not-isolated'],
]) {
  test(`${path} runs ${variant}, learns, and shows Node's losses to the last bit`, async () => {
    const opened = await site.open(`${path}?steps=${steps}`);
    const { page } = opened;
    const run = await shown(page);
    assert.deepEqual([run.variant, run.reason], [variant, reason]);
    assert.deepEqual(run.losses, losses);
    const [, percent] = /^It reads (\d+\.\d\d) % of 10,000 test digits right\.$/.exec(run.measure);
    assert.ok(Number(percent) > 80, run.measure);
    assert.ok(run.summary.includes(run.measure), run.summary);
    assert.match(run.hash, /^[0-9a-f]{64}$/);
    assert.match(await page.textContent('#digits li'), /(right|wrong): reads \d, \d+ % sure/);
    await close(opened);
  });
}

test('paused, resumed and restarted, the losses are the same', async () => {
  const opened = await site.open('/mnist/');
  const { page } = opened;
  await inState(page, 'ready');
  await page.fill('#field-steps', String(steps));
  await page.focus('#primary');
  for (const step of [5, 40]) {
    await holdNext(page, step);
    await page.keyboard.press('Enter');
    await stepped(page, step);
    const stands = await held(page);
    assert.ok(stands < steps, 'it is held on its way');
    await page.waitForTimeout(300);
    assert.equal(await stepOf(page), stands, 'a paused run stands still');
  }
  await page.keyboard.press('Enter');
  assert.deepEqual((await shown(page)).losses, losses);

  // One that would go on for long is given up.
  await page.fill('#field-steps', '5000');
  await page.fill('#field-seed', '2');
  await page.keyboard.press('Enter');
  await inState(page, 'training');
  await page.click('#reset');
  await inState(page, 'ready');
  await page.fill('#field-steps', String(steps));
  await page.fill('#field-seed', '1');
  await page.click('#primary');
  assert.deepEqual((await shown(page)).losses, losses);
  await close(opened);
});

test('the page follows the theme and fits a phone', async () => {
  const opened = await site.open('/mnist/');
  const { page } = opened;
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await background();
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.notEqual(await background(), light);
  await page.setViewportSize({ width: 360, height: 740 });
  await inState(page, 'ready');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  assert.doesNotMatch(await page.textContent('.u-legend'), /--/);
  // What a page still loads when it is left has failed.
  await page.click('#to-plain');
  await page.waitForURL('**/plain/mnist/');
  await inState(page, 'ready');
  await page.click('#to-isolated');
  await page.waitForURL(`${site.base}/mnist/`);
  await inState(page, 'ready');
  await close(opened);
});

test('a bad address and a build that cannot run are told, with what to do', async () => {
  const opened = await site.open('/plain/mnist/?steps=abc');
  const { page } = opened;
  await inState(page, 'ready');
  assert.match(await page.textContent('#error'), /steps is "abc"; it is a whole number.*press Start/s);
  await page.goto(`${site.base}/plain/mnist/?variant=threads`);
  await inState(page, 'error');
  assert.match(await page.textContent('#error'), /not cross-origin isolated.*take variant=threads out/s);
  assert.equal(await page.textContent('#variant'), '–');
  await close(opened);
});

test('a bad flag ends the Node script with one line and status 2', () => {
  for (const [flags, line] of [
    [['--foo'], /^mnist: --foo is unknown; allowed: --seed, --steps.*\n$/],
    [['--steps', 'abc'], /^mnist: --steps is "abc"; it is a whole number from 1 to 100000\n$/],
    [['--steps'], /^mnist: --steps has no value.*\n$/],
    [['100'], /^mnist: "100" is no flag.*\n$/],
  ]) {
    const args = ['web/demos/node/mnist.mjs', ...flags];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, line);
  }
});

for (const variant of ['threads', 'single']) {
  test(`the ${variant} build runs on the page itself`, async () => {
    const opened = await site.open('/empty.html');
    const { page } = opened;
    const sum = await page.evaluate(async (chosen) => {
      const { init, tensor } = await import('/lib/index.js');
      const started = await init({ variant: chosen });
      return [started.variant, tensor([1, 2, 3]).square().sum().item()];
    }, variant);
    assert.deepEqual(sum, [variant, 14]);
    await close(opened);
  });
}
