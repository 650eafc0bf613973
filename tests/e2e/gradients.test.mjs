// What is special to the page of the picture from its gradients: each mode has its own drawings, charts and verdict; a
// picture of one's own is learnt, and a start that was drawn is solved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { close, inState, redrawn, seen } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';
import { looksRight } from './support/looks.mjs';

const site = demoSite();
const photograph = fileURLToPath(new URL('../../web/demos/data/photos/chelsea.png', import.meta.url));

/** Small enough that a run is over at once, and nothing moves by itself. */
async function ready(mode) {
  const opened = await site.open('/gradients/', { reducedMotion: 'reduce' });
  const { page } = opened;
  await inState(page, 'ready');
  for (const [field, value] of Object.entries({ steps: 3, width: 16, points: 64 }))
    await page.fill(`#field-${field}`, String(value));
  await page.selectOption('#field-mode', mode);
  await page.click('#primary');
  await page.waitForSelector('body[data-state="done"]');
  return opened;
}

for (const [mode, reached, chart, part] of [
  ['gradient', 'false', 'PSNR (dB)', 'pictures'],
  ['laplacian', 'no target', 'PSNR (dB)', 'pictures'],
  ['heat', 'false', 'relative error', 'equation'],
  ['wave', 'no target', 'relative error', 'equation'],
]) {
  test(`${mode}: its own charts and drawings; what has no target reached none`, async () => {
    const opened = await ready(mode);
    const { page } = opened;
    const charts = await page.$$eval('.chart:not([hidden])', (all) =>
      all.map((one) => one.getAttribute('aria-label').split(', by ')[0]),
    );
    assert.deepEqual(charts, ['loss (share missed)', chart]);
    assert.deepEqual(
      await page.$$eval('#pictures:not([hidden]), #equation:not([hidden])', (all) => all.map(({ id }) => id)),
      [part],
    );
    assert.equal(await page.getAttribute('#measure', 'data-reached'), reached);
    assert.equal(/goal/.test(await page.textContent('#measure')), reached === 'false');
    await close(opened);
  });
}

test('a picture of one’s own is what is asked for, and goes again; what is none is refused', async () => {
  const opened = await ready('gradient');
  const { page } = opened;
  const canvas = '#target-picture';
  const before = await seen(page, canvas);
  await page.setInputFiles('#file', photograph);
  await redrawn(page, canvas, before);
  const own = await seen(page, canvas);
  await page.click('#primary');
  await page.waitForSelector('body[data-state="done"]');
  assert.equal(await seen(page, canvas), own, 'the run is of it');
  await page.click('#no-file');
  await redrawn(page, canvas, own);
  assert.equal(await seen(page, canvas), before);
  const bad = { name: 'bad.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
  await page.setInputFiles('#file', bad);
  await page.waitForSelector('#error:not([hidden])');
  assert.match(await page.textContent('#error'), /cannot read this file as a picture.*Nothing was changed/s);
  assert.equal(await page.getAttribute('body', 'data-state'), 'ready');
  assert.equal(await seen(page, canvas), before);
  await close(opened);
});

test('a start that was drawn is solved; the time is moved by keyboard', async () => {
  const opened = await ready('heat');
  const { page } = opened;
  const [network, exact] = ['#network-field', '#exact-field'];
  const before = await seen(page, exact);
  await page.focus('.pad');
  for (const key of [' ', ...Array(6).fill('ArrowRight'), ' ']) await page.keyboard.press(key);
  await page.click('#take-drawing');
  await redrawn(page, exact, before);
  const drawn = await seen(page, exact);
  assert.equal(await seen(page, network), drawn, 'at the start the network has what was drawn');
  await looksRight(page);
  await page.focus('#time');
  await page.keyboard.press('End');
  assert.equal(await page.textContent('#time-text'), '1.00');
  assert.notEqual(await seen(page, exact), drawn, 'the heat has spread');
  await page.keyboard.press('Home');
  await page.click('#no-drawing');
  await redrawn(page, exact, drawn);
  assert.equal(await seen(page, exact), before);
  await close(opened);
});
