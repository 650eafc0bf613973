// What is special to the page that makes pictures sharper: the edge between before and after, each interpolation, and a
// photograph of one's own: dropped, doubled, saved, trained on, and gone again.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { close, inState, seen } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';
import { looksRight } from './support/looks.mjs';

const site = demoSite();
const photograph = new URL('../../web/demos/data/photos/chelsea.png', import.meta.url);
const decibels = /network \d+\.\d\d dB, SSIM 0\.\d{4}; cubic \d+\.\d\d dB, SSIM 0\.\d{4}/;

async function ready() {
  const opened = await site.open('/sharper/');
  const { page } = opened;
  await inState(page, 'ready');
  for (const [field, value] of Object.entries({ steps: 2, width: 4, batch: 2 }))
    await page.fill(`#field-${field}`, String(value));
  return opened;
}

async function trained(page) {
  await page.waitForSelector('body[data-state="done"]');
  return JSON.parse(await page.textContent('#losses'));
}

/** As if it came from the desktop. */
async function drop(page, bytes) {
  await page.evaluate((base64) => {
    const file = new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], 'cat.png', {
      type: 'image/png',
    });
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(file);
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }, bytes.toString('base64'));
}

test('the edge between before and after moves by keyboard; the original can stand on its right', async () => {
  const opened = await ready();
  const { page } = opened;
  assert.match(await page.textContent('#scores'), decibels);
  const cut = () => page.$eval('#pair', (pair) => parseFloat(pair.style.getPropertyValue('--cut')));
  const before = await cut();
  await page.focus('#split');
  for (let times = 0; times < 10; times++) await page.keyboard.press('ArrowRight');
  assert.ok((await cut()) > before);
  assert.equal(await page.textContent('#right-name'), 'network');
  const after = await seen(page, '#pair .after');
  await page.check('#original');
  assert.equal(await page.textContent('#right-name'), 'original');
  assert.notEqual(await seen(page, '#pair .after'), after);
  await close(opened);
});

test('through each interpolation it trains, each to its own losses', async () => {
  const opened = await ready();
  const { page } = opened;
  const firsts = new Set();
  for (const base of ['cubic', 'lanczos3', 'linear']) {
    await page.selectOption('#field-base', base);
    await page.click('#primary');
    await inState(page, 'training', 'done').catch(() => undefined);
    await page.waitForFunction(
      (asked) =>
        document.body.dataset.state === 'done' && document.querySelector('#link').value.includes(asked),
      `base=${base}`,
    );
    firsts.add((await trained(page))[0]);
    assert.match(await page.textContent('#measure'), /dB more; the goal is 1\.0 dB/);
  }
  assert.equal(firsts.size, 3);
  await close(opened);
});

test('a photograph that is dropped is doubled, saved, trained on and judged, and gone again', async () => {
  const opened = await ready();
  const { page } = opened;
  await page.click('#primary');
  const without = await trained(page);
  await drop(page, await readFile(photograph));
  await page.waitForFunction(() =>
    /^Doubled to 902 x 600 pixels\. Its middle, .* ahead/.test(
      document.querySelector('#own-text').textContent,
    ),
  );
  assert.equal(await page.inputValue('#which'), 'own');
  assert.equal(await page.$eval('#pair .after', ({ width, height }) => `${width} x ${height}`), '902 x 600');
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
  const png = await readFile(await file.path());
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [902, 600]);

  await looksRight(page);
  await page.click('#train');
  await page.waitForSelector('#own-judged:not(:empty)');
  const withIt = await trained(page);
  assert.match(await page.textContent('#own-judged'), decibels);
  assert.notDeepEqual(withIt, without);
  await page.click('#untrain');
  await page.waitForSelector('#own-judged:empty', { state: 'attached' });
  assert.deepEqual(await trained(page), without);
  await close(opened);
});

test('a file that is no picture is refused and harms no run', async () => {
  const opened = await ready();
  const { page } = opened;
  await drop(page, Buffer.from('no picture'));
  await page.waitForSelector('#error:not([hidden])');
  assert.match(await page.textContent('#error'), /cannot read this file as a picture.*Nothing was changed/s);
  assert.equal(await page.getAttribute('body', 'data-state'), 'ready');
  await page.click('#primary');
  assert.equal((await trained(page)).length, 2);
  assert.equal(await page.isVisible('#error'), false);
  await close(opened);
});
