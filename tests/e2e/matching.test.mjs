// What is special to the page of the four dimensions: matches before and after, of any pair that is judged; the wrong ones
// alone; counts that say the same in words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, inState, redrawn, seen } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const site = demoSite();

/** Matches that a caption counts: right ones, and all. */
async function counted(page, id) {
  const [, right, all] = /(\d+) of (\d+) \(\d+\.\d %\)/.exec(await page.textContent(id));
  return [Number(right), Number(all)];
}

test('before the first step it matches by plain comparison; then as it has learnt; any pair, and the wrong ones alone', async () => {
  const opened = await site.open('/matching/');
  const { page } = opened;
  await inState(page, 'ready');
  assert.equal(await seen(page, '#before'), await seen(page, '#after'));
  assert.match(await page.textContent('#counts'), /1\.00 times as many/);
  for (const [field, value] of Object.entries({ steps: 3, batch: 1, features: 8, width: 2 }))
    await page.fill(`#field-${field}`, String(value));
  await page.click('#primary');
  await page.waitForSelector('body[data-state="done"]');
  assert.notEqual(await seen(page, '#before'), await seen(page, '#after'));
  assert.match(await page.textContent('#after-text'), /^After 3 steps/);

  const after = await seen(page, '#after');
  await page.fill('#pair', '5');
  await page.press('#pair', 'Enter');
  await redrawn(page, '#after', after);
  const [right, all] = await counted(page, '#after-text');
  assert.ok(right <= all && all <= 144);

  const whole = await seen(page, '#before');
  await page.check('#only-wrong');
  await redrawn(page, '#before', whole);
  await page.uncheck('#only-wrong');
  assert.equal(await seen(page, '#before'), whole);
  await close(opened);
});
