// What is special to the page of the digits that bend: a digit of one's own, drawn by pointer and by keyboard, is read by
// both networks, while they learn and after; arrows lie over the digits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, inState, stepped } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const site = demoSite();

const said = (page) => page.textContent('#own-said');
const reads = /^The deformable network reads \d, the plain network reads \d\.$/;
const isRead = (page) =>
  page.waitForFunction(
    (form) => new RegExp(form).test(document.querySelector('#own-said').textContent),
    reads.source,
  );
/** Sums of the two networks' bars: 1 each when something is read. */
const bars = (page) =>
  page.$$eval('#own-bars li', (items) =>
    [1, 2].map((net) =>
      items.reduce((sum, item) => sum + Number(item.children[net].style.getPropertyValue('--share')), 0),
    ),
  );
/** Pixels of a canvas that are not empty. */
const inked = (page, selector) =>
  page.$eval(selector, (canvas) => {
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, i) => i % 4 === 3 && value > 0).length;
  });

test('a drawn digit is read by both networks; by keyboard too; cleared, nothing is read', async () => {
  const opened = await site.open('/bend/');
  const { page } = opened;
  await inState(page, 'ready');
  const pad = page.locator('.pad');
  await pad.scrollIntoViewIfNeeded();
  const box = await pad.boundingBox();
  const middle = box.x + box.width / 2;
  await page.mouse.move(middle, box.y + 0.2 * box.height);
  await page.mouse.down();
  await page.mouse.move(middle, box.y + 0.8 * box.height, { steps: 8 });
  await page.mouse.up();
  await isRead(page);
  for (const sum of await bars(page)) assert.ok(Math.abs(sum - 1) < 0.01, String(sum));
  assert.ok((await inked(page, '#own')) > 500);

  await page.click('#own-clear');
  await page.waitForFunction(() => /^Nothing/.test(document.querySelector('#own-said').textContent));
  assert.deepEqual(await bars(page), [0, 0]);

  await page.focus('.pad');
  for (const key of [' ', ...Array(6).fill('ArrowDown'), ' ']) await page.keyboard.press(key);
  await isRead(page);
  await page.keyboard.press('Delete');
  await page.waitForFunction(() => /^Nothing/.test(document.querySelector('#own-said').textContent));
  await close(opened);
});

test('the drawing is read again as the networks learn, and the digits are', async () => {
  const opened = await site.open('/bend/');
  const { page } = opened;
  await inState(page, 'ready');
  await page.focus('.pad');
  for (const key of [' ', ...Array(8).fill('ArrowDown'), ' ']) await page.keyboard.press(key);
  await isRead(page);
  const sure = await page.textContent('#own-sure');
  const digits = await page.textContent('#digits');
  assert.equal(await page.locator('#digits li canvas').count(), 10);
  await page.fill('#field-steps', '60');
  await page.click('#primary');
  await stepped(page, 40);
  await page.waitForFunction((old) => document.querySelector('#own-sure').textContent !== old, sure);
  await inState(page, 'done');
  assert.notEqual(await page.textContent('#digits'), digits);
  assert.match(await said(page), reads);
  assert.match(
    await page.textContent('#measure'),
    /deformable network reads \d+\.\d\d % right, the plain one/,
  );
  await close(opened);
});
