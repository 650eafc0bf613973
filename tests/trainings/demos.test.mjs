// One full training of each demo in Chromium, isolated, as its page begins it: to its measure. Leaves pictures of each page
// in build/screenshots: light, dark, a phone's width; those of the last look that was taken are in tests/e2e/screenshots.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { names, shown } from '../browsers/support/demos.mjs';
import { close, inState } from '../e2e/support/demo_page.mjs';
import { demoSite } from '../e2e/support/demo_site.mjs';

const folder = fileURLToPath(new URL('../../build/screenshots', import.meta.url));
const site = demoSite();
before(async () => {
  mkdirSync(folder, { recursive: true });
});

/** The whole page as WebP, small enough to be kept. */
async function picture(page, file) {
  const devtools = await page.context().newCDPSession(page);
  const { cssContentSize } = await devtools.send('Page.getLayoutMetrics');
  const { data } = await devtools.send('Page.captureScreenshot', {
    format: 'webp',
    quality: 40,
    captureBeyondViewport: true,
    clip: { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 0.6 },
  });
  writeFileSync(join(folder, file), Buffer.from(data, 'base64'));
}

async function pictures(page, name) {
  for (const [colorScheme, width, kind] of [
    ['light', 1280, 'light'],
    ['dark', 1280, 'dark'],
    ['light', 390, 'phone'],
  ]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // Charts follow the width at the next frame.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
    await picture(page, `${name}-${kind}.webp`);
  }
}

test('the list of demos', async () => {
  const opened = await site.open(`/`);
  await pictures(opened.page, 'list');
  await close(opened);
});

for (const name of names) {
  test(`${name} reaches its measure`, async (t) => {
    const opened = await site.open(`/${name}/`, { viewport: { width: 1280, height: 900 } });
    const { page } = opened;
    await inState(page, 'ready');
    const begun = performance.now();
    await page.click('#primary');
    const { error, hash } = await page.evaluate(shown);
    assert.equal(error, '');
    const measure = await page.textContent('#measure');
    t.diagnostic(`${((performance.now() - begun) / 1000).toFixed(0)} s: ${measure}`);
    assert.match(hash, /^[0-9a-f]{64}$/);
    await pictures(page, name);
    assert.equal(await page.getAttribute('#measure', 'data-reached'), 'true', measure);
    await close(opened);
  });
}
