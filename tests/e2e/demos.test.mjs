// Every demo in Chromium: the losses and weights of Node to the last bit, isolated and not, held, reloaded and resumed or
// not; no long task, no complaint; nothing serious that axe finds. What all demos have from the shell is tried on one of
// them in demos_hardship.test.mjs, full trainings are in tests/trainings, other browsers in tests/browsers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inNode, names, queryOf, shown } from '../browsers/support/demos.mjs';
import { close, held, inState, longTasks, stepOf } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';
import { looksRight } from './support/looks.mjs';

const site = demoSite();

test('the list of demos', async () => {
  const opened = await site.open(`/`);
  await looksRight(opened.page);
  await close(opened);
});

for (const name of names) {
  let known;
  const node = () => (known ??= inNode(name));
  test(`${name}, isolated: threads, with Node's losses and weights and no long task`, async () => {
    const expected = { error: '', variant: 'threads', reason: 'ok', ...(await node()) };
    const opened = await site.open(`/plain/empty.html`);
    const { page } = opened;
    const long = await longTasks(site.browser, page, async () => {
      // One thread, so that a core is free for the page.
      await page.goto(`${site.base}/${name}/${queryOf(name, { threads: 1 })}`);
      assert.deepEqual(await page.evaluate(shown), expected);
    });
    assert.deepEqual(long, []);
    await looksRight(page);
    await close(opened);
  });

  test(`${name}, not isolated: held, reloaded and resumed, the losses and weights are the same`, async () => {
    const opened = await site.open(`/plain/${name}/${queryOf(name)}`, { holdAt: 2 });
    const { page } = opened;
    const step = await held(page);
    await page.waitForTimeout(300);
    assert.equal(await stepOf(page), step, 'a paused run stands still');
    await page.reload();
    const run = await page.evaluate(shown);
    assert.deepEqual(run, { error: '', variant: 'single', reason: 'not-isolated', ...(await node()) });
    await close(opened);
  });

  test(`${name}, before it is started`, async () => {
    const opened = await site.open(`/${name}/`);
    await inState(opened.page, 'ready');
    await looksRight(opened.page);
    await close(opened);
  });
}
