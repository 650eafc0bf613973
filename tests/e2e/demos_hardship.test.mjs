// What may happen to a page while it trains, tried on one demo for all, since the shell is one: its worker dies, once and
// again; the tab is frozen and wakes; it lives in a frame of a page that is not isolated; its data does not arrive. Each
// time the losses and weights are those of an untroubled run.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { inNode, queryOf, shown } from '../browsers/support/demos.mjs';
import { close, held, inState, killWorker, replaceWorker, stepOf, stepped } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const name = 'gpt';
const site = demoSite();
let node;
before(async () => {
  node = await inNode(name);
});

const good = (variant, reason) => ({ error: '', variant, reason, ...node });

test('a worker that dies: another goes on from the last copy, and the page says so', async () => {
  const opened = await site.open(`/plain/${name}/${queryOf(name)}`, { holdAt: 2 });
  const { page } = opened;
  // Holding a run keeps a copy of it.
  const step = await held(page);
  await killWorker(page);
  await page.click('#primary');
  await page.waitForSelector('#notice:not(:empty)');
  assert.match(await page.textContent('#notice'), /ended the worker/);
  assert.ok((await stepOf(page)) >= step, 'no step is lost');
  assert.deepEqual(await page.evaluate(shown), good('single', 'not-isolated'));
  await close(opened);
});

test('workers that die again and again: an error, what to do, and the way on from the last copy', async () => {
  const opened = await site.open(`/plain/${name}/${queryOf(name)}`, { holdAt: 2 });
  const { page } = opened;
  const step = await held(page);
  // Two times another goes on by itself; the third is too much.
  for (let times = 0; times < 3; times++) await replaceWorker(page);
  await page.waitForSelector('body[data-state="error"]');
  assert.match(await page.textContent('#error'), /the worker died/);
  assert.match(await page.textContent('#error-advice'), /go on from where the run was kept/);
  await page.waitForSelector('#offer:not([hidden])');
  assert.equal(await page.textContent('#go-on'), `Go on from step ${step}`);
  await page.click('#go-on');
  assert.deepEqual(await page.evaluate(shown), good('single', 'not-isolated'));
  await close(opened);
});

test('a worker that cannot start is told; after a reload the run goes on', async () => {
  const opened = await site.open(`/plain/${name}/${queryOf(name)}`, { holdAt: 2 });
  const { page } = opened;
  const step = await held(page);
  const broken = { contentType: 'text/javascript', body: 'throw new Error("out of order")' };
  await page.route('**/worker.js', (route) => route.fulfill(broken));
  await killWorker(page);
  await page.waitForSelector('body[data-state="error"]');
  assert.match(await page.textContent('#error-text'), /the worker did not start: .*out of order/);
  assert.notEqual((await page.textContent('#error-advice')).trim(), '');
  await page.unroute('**/worker.js');
  await page.reload();
  await page.waitForSelector('body[data-state="training"]');
  assert.match(await page.textContent('#summary'), new RegExp(`after step ${step} `));
  assert.deepEqual(await page.evaluate(shown), good('single', 'not-isolated'));
  await page.context().close();
});

test('a frozen tab that wakes goes on', async () => {
  const opened = await site.open(`/${name}/${queryOf(name, { threads: 1 })}`);
  const { page } = opened;
  await stepped(page, 2);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Page.setWebLifecycleState', { state: 'frozen' });
  await new Promise((resolve) => setTimeout(resolve, 500));
  await devtools.send('Page.setWebLifecycleState', { state: 'active' });
  assert.deepEqual(await page.evaluate(shown), good('threads', 'ok'));
  await close(opened);
});

test('in a frame of a page that is not isolated it runs single-threaded', async () => {
  const opened = await site.open(`/plain/empty.html`);
  const { page } = opened;
  await page.evaluate(
    (source) => {
      const frame = document.createElement('iframe');
      frame.src = source;
      document.body.append(frame);
    },
    `/${name}/${queryOf(name)}`,
  );
  const frame = await (await page.waitForSelector('iframe')).contentFrame();
  await frame.waitForSelector('body[data-state="training"], body[data-state="done"]');
  assert.deepEqual(await frame.evaluate(shown), good('single', 'not-isolated'));
  await close(opened);
});

test('data that does not arrive is told with its name, and trying again helps', async () => {
  const opened = await site.open(`/plain/empty.html`);
  const { page } = opened;
  await page.route('**/moby.txt', (route) => route.fulfill({ status: 404, body: 'not found' }));
  await page.goto(`${site.base}/plain/${name}/${queryOf(name)}`);
  await page.waitForSelector('body[data-state="error"]');
  assert.match(await page.textContent('#error'), /moby\.txt did not arrive: HTTP 404/);
  await page.unroute('**/moby.txt');
  await page.click('#primary');
  assert.deepEqual(await page.evaluate(shown), good('single', 'not-isolated'));
  await page.context().close();
});

test('an address that is no good is told, and the others of its settings hold', async () => {
  const opened = await site.open(`/plain/${name}/?steps=abc&seed=7&foo=1`);
  const { page } = opened;
  await inState(page, 'ready');
  const text = await page.textContent('#error');
  assert.match(text, /steps is "abc"; it is a whole number from 1/);
  assert.match(text, /foo is unknown/);
  assert.equal(await page.inputValue('[name="seed"], #seed'), '7');
  await close(opened);
});
