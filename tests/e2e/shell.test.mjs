// What every demo's page does around its training, tried on the smallest: weights go out and come in, what is no weights
// is refused and harms nothing, a link says which run it was, a run that is kept is offered, a wrong field is told of.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { close, held, holdNext, inState, open, replaceWorker } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const path = '/plain/mnist/';
const site = demoSite();

async function ready() {
  const opened = await site.open(path);
  await inState(opened.page, 'ready');
  return opened;
}

async function train(page, settings) {
  for (const [name, value] of Object.entries(settings)) await page.fill(`#field-${name}`, String(value));
  await page.click('#primary');
}

async function result(page) {
  await inState(page, 'done', 'error');
  const text = (id) => page.textContent(`#${id}`);
  assert.equal(await page.isVisible('#error'), false, await text('error'));
  return {
    losses: JSON.parse(await text('losses')),
    hash: await text('hash'),
    measure: await text('measure'),
  };
}

async function download(page) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('#download')]);
  return { name: file.suggestedFilename(), buffer: await readFile(await file.path()) };
}

const upload = (page, name, buffer) =>
  page.setInputFiles('#upload', { name, mimeType: 'application/octet-stream', buffer });

test('weights that were saved are the same when loaded; a file that is none is refused and changes nothing', async () => {
  const opened = await ready();
  const { page } = opened;
  await train(page, { steps: 12 });
  const { hash } = await result(page);
  const { name, buffer } = await download(page);
  assert.equal(name, 'mnist-seed1-step12.safetensors');
  const digest = Buffer.from(await crypto.subtle.digest('SHA-256', buffer)).toString('hex');
  assert.equal(digest, hash, 'the hash is that of the file');
  const read = await page.textContent('#digits');

  // Another network, as it begins.
  await page.fill('#field-seed', '2');
  await page.click('#reset');
  await inState(page, 'ready');
  assert.notDeepEqual((await download(page)).buffer, buffer);
  assert.notEqual(await page.textContent('#digits'), read);
  await upload(page, name, buffer);
  await page.waitForFunction(() => /^Loaded/.test(document.querySelector('#notice').textContent));
  assert.deepEqual((await download(page)).buffer, buffer);
  assert.equal(await page.textContent('#digits'), read, 'what it reads is drawn anew');

  for (const [what, bytes] of [
    ['no such file', Buffer.from('hello, world; this is no safetensors file')],
    ['half of one', buffer.subarray(0, buffer.length / 2)],
    ['another network', another()],
  ]) {
    await upload(page, 'wrong.safetensors', bytes);
    await page.waitForSelector('#error:not([hidden])');
    assert.match(await page.textContent('#error-advice'), /Nothing was changed/, what);
    assert.equal(await page.getAttribute('body', 'data-state'), 'ready', what);
    assert.deepEqual((await download(page)).buffer, buffer, what);
    await page.evaluate(() => (document.querySelector('#error').hidden = true));
  }
  await close(opened);
});

test('other weights: what was said of the old ones is gone', async () => {
  const opened = await ready();
  const { page } = opened;
  const { name, buffer } = await download(page);
  await train(page, { steps: 12 });
  await result(page);
  assert.ok(await page.isVisible('#wrong-section'));
  assert.ok(await page.isVisible('#measure'));
  await upload(page, name, buffer);
  await page.waitForFunction(() => /^Loaded/.test(document.querySelector('#notice').textContent));
  assert.equal(await page.isVisible('#wrong-section'), false);
  assert.equal(await page.isVisible('#measure'), false);
  await close(opened);
});

/** A good file with a tensor that no demo has. */
function another() {
  const header = Buffer.from(JSON.stringify({ x: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } }));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, Buffer.alloc(4)]);
}

test('a link carries the settings, and runs them', async () => {
  const opened = await ready();
  const { page } = opened;
  await train(page, { seed: 7, steps: 12, lr: '2e-3', batch: 16 });
  const first = await result(page);
  const link = await page.inputValue('#link');
  assert.equal(link, `${site.base}${path}?seed=7&steps=12&lr=0.002&batch=16`);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('#copy');
  await page.waitForFunction(() => /copied/.test(document.querySelector('#notice').textContent));
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
  await close(opened);

  const again = await open(site.browser, link);
  assert.deepEqual(await result(again.page), first);
  for (const [name, value] of [
    ['seed', '7'],
    ['steps', '12'],
    ['lr', '0.002'],
    ['batch', '16'],
  ])
    assert.equal(await again.page.inputValue(`#field-${name}`), value);
  await close(again);
});

test('a run that is kept is offered after a reload, goes on as if it had never stopped, and can be forgotten', async () => {
  const opened = await ready();
  const { page } = opened;
  await train(page, { steps: 80, batch: 128 });
  const whole = await result(page);

  await holdNext(page, 3);
  await page.click('#primary');
  const step = await held(page);
  assert.ok(step < 80, 'it was paused on its way');
  await page.reload();
  await inState(page, 'ready');
  assert.match(await page.textContent('#offer-text'), new RegExp(`at step ${step} of 80`));
  await page.click('#go-on');
  assert.deepEqual(await result(page), whole);

  await page.reload();
  await inState(page, 'ready');
  assert.match(await page.textContent('#offer-text'), /over, all 80 steps/);
  await page.click('#go-on');
  assert.deepEqual(await result(page), whole, 'one that is over is shown again');

  await page.reload();
  await inState(page, 'ready');
  await page.click('#forget');
  await page.waitForSelector('#offer', { state: 'hidden' });
  await page.reload();
  await inState(page, 'ready');
  assert.equal(await page.isVisible('#offer'), false);
  await close(opened);
});

test('a field that is wrong starts nothing and says what is allowed', async () => {
  const opened = await ready();
  const { page } = opened;
  await train(page, { steps: 0 });
  assert.equal(await page.getAttribute('body', 'data-state'), 'ready');
  const told = await page.$eval('#field-steps', (field) => field.validationMessage);
  assert.ok(told.length > 0, 'the browser tells of it');
  await train(page, { steps: 2 });
  assert.equal((await result(page)).losses.length, 2);
  await close(opened);
});

test("without any storage a run whose workers died goes on from the page's own copy", async () => {
  const opened = await ready();
  const { page } = opened;
  await train(page, { steps: 60, batch: 128 });
  const whole = await result(page);
  // As in a private window that keeps nothing.
  await page.route('**/worker.js', async (route) => {
    const response = await route.fetch();
    const without = ['storage', 'indexedDB'].map((name, i) => {
      const holder = i === 0 ? 'navigator' : 'self';
      return `Object.defineProperty(${holder}, '${name}', { value: undefined });`;
    });
    await route.fulfill({ response, body: `${without.join('')}${await response.text()}` });
  });
  await page.reload();
  await inState(page, 'ready');
  assert.equal(await page.isVisible('#offer'), false, 'nothing is stored');
  await holdNext(page, 3);
  await train(page, { steps: 60, batch: 128 });
  const step = await held(page);
  for (let times = 0; times < 3; times++) await replaceWorker(page);
  await page.waitForSelector('body[data-state="error"]');
  await page.waitForSelector('#offer:not([hidden])');
  assert.equal(await page.textContent('#go-on'), `Go on from step ${step}`);
  await page.click('#go-on');
  assert.deepEqual(await result(page), whole);
  await close(opened);
});
