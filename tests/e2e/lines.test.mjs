// What is special to the page that reads lines: strips with their alignment below them, and a line of one's own, typed or
// drawn, that is read anew as the network learns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, inState, redrawn, seen } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';
import { looksRight } from './support/looks.mjs';

const site = demoSite();
const map = '#own .map canvas';
const isRead = (page) =>
  page.waitForFunction(() => /^The network reads /.test(document.querySelector('#own-text').textContent));

test('four strips and their alignments; they change as it learns', async () => {
  const opened = await site.open('/lines/');
  const { page } = opened;
  await inState(page, 'ready');
  assert.equal(await page.locator('#strips .strip').count(), 4);
  const first = '#strips .strip .map canvas';
  const [before, ink] = [await seen(page, first), await seen(page, '#strips .strip .ink')];
  for (const [field, value] of Object.entries({ steps: 4, batch: 8 }))
    await page.fill(`#field-${field}`, String(value));
  await page.click('#primary');
  await page.waitForSelector('body[data-state="done"]');
  assert.notEqual(await seen(page, first), before);
  assert.equal(await seen(page, '#strips .strip .ink'), ink);
  assert.match(await page.textContent('#strips'), /reads (✓|✗) (\d+|nothing)/);
  assert.match(await page.textContent('#measure'), /characters are read wrong, on 1,000 strips/);
  await close(opened);
});

test('a line of one’s own: typed, then drawn by keyboard, is read; cleared, nothing is', async () => {
  const opened = await site.open('/lines/');
  const { page } = opened;
  await inState(page, 'ready');
  // A network that has learnt nothing hardly says anything of any place.
  for (const [field, value] of Object.entries({ steps: 20, batch: 16 }))
    await page.fill(`#field-${field}`, String(value));
  await page.click('#primary');
  await page.waitForSelector('body[data-state="done"]');
  await page.fill('#digits', '12a');
  await page.press('#digits', 'Enter');
  assert.equal(await page.$eval('#digits', ({ validity }) => validity.patternMismatch), true);
  await page.fill('#digits', '4071');
  await page.press('#digits', 'Enter');
  await isRead(page);
  const before = await seen(page, map);
  await page.focus('.pad');
  for (const key of [' ', ...Array(8).fill('ArrowDown'), ' ']) await page.keyboard.press(key);
  await redrawn(page, map, before);
  await looksRight(page);
  await page.click('#clear');
  await page.waitForFunction(() => /^Nothing/.test(document.querySelector('#own-text').textContent));
  assert.equal(await page.isVisible(map), false);
  await close(opened);
});
