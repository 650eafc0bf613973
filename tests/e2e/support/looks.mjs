// Whether a page can be read: by whom axe-core speaks for, in both themes, on a desk and on a phone.
import assert from 'node:assert/strict';
import axe from 'axe-core';

/** What axe finds of weight in the page as it is. */
async function findings(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}

/** In light and dark, on a desk and on a phone, where nothing may reach beyond the edge. */
export async function looksRight(page) {
  for (const [width, height] of [
    [1280, 900],
    [390, 844],
  ])
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      assert.deepEqual(await findings(page), [], `${colorScheme}, ${width} wide`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    }
}
