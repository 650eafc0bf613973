// The static site: below any path, on a server that sets no headers, it gets threads by its service worker; where there
// are none it runs on one thread. Both show the losses that Node does.
import assert from 'node:assert/strict';
import { createReadStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { buildSite } from '../../web/demos/site.mjs';
import axe from 'axe-core';
import { launch } from './support/chromium.mjs';

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
};
const base = '/people/someone/demos';
const folder = join(mkdtempSync(join(tmpdir(), 'omnigrad-site-')), 'site');
let server, browser, origin;

before(async () => {
  await buildSite(folder);
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : '/nothing';
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' });
    return createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  origin = `http://localhost:${server.address().port}`;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  server?.closeAllConnections();
  server?.close();
  rmSync(join(folder, '..'), { recursive: true });
});

/** A page of a fresh visitor; `lacks`: files that the server did not have, and errors. */
async function visit(serviceWorkers) {
  const context = await browser.newContext();
  // As in Firefox's private windows.
  if (!serviceWorkers)
    await context.addInitScript(() =>
      Object.defineProperty(navigator, 'serviceWorker', { value: undefined }),
    );
  const page = await context.newPage();
  const lacks = [];
  page.on('pageerror', ({ message }) => lacks.push(message));
  page.on('response', (response) => response.status() >= 400 && lacks.push(response.url()));
  page.on('console', (message) => message.type() === 'error' && lacks.push(message.text()));
  return { context, page, lacks };
}

const losses = [];
for (const [serviceWorkers, variant] of [
  [true, 'threads'],
  [false, 'single'],
]) {
  test(`with${serviceWorkers ? '' : 'out'} service workers the list and a demo get ${variant}`, async () => {
    const { context, page, lacks } = await visit(serviceWorkers);
    await page.goto(`${origin}${base}/`);
    await page.waitForSelector(`body[data-variant="${variant}"]`, { timeout: 60000 });
    assert.match(await page.textContent('#build'), new RegExp(`gets the ${variant} build`));
    assert.ok((await page.locator('.demos li').count()) >= 2);
    await page.click('a[href="mnist/"]');
    await page.waitForSelector('body[data-state="ready"]', { timeout: 60000 });
    assert.equal(await page.textContent('#variant'), variant);
    assert.equal(
      await page.isVisible('#to-plain, #to-isolated'),
      false,
      'there is no other kind of the page',
    );
    await page.fill('#field-steps', '20');
    await page.click('#primary');
    await page.waitForSelector('body[data-state="done"]', { timeout: 60000 });
    losses.push(await page.textContent('#losses'));
    assert.match(await page.inputValue('#link'), new RegExp(`^${origin}${base}/mnist/\\?seed=1&steps=20&`));
    assert.deepEqual(lacks, []);
    await context.close();
  });
}

test('the list: nothing serious that axe finds, light and dark, and it fits a phone', async () => {
  const { context, page, lacks } = await visit(true);
  await page.goto(`${origin}${base}/`);
  await page.waitForSelector('body[data-variant="threads"]', { timeout: 60000 });
  // The site's policy keeps out scripts that are not its own; the test's are set in from outside.
  await page.evaluate(axe.source);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    assert.deepEqual(
      serious.map(({ id }) => id),
      [],
    );
  }
  assert.deepEqual(lacks, []);
  await context.close();
});

test('both computed the same', () => {
  assert.equal(JSON.parse(losses[0]).length, 20);
  assert.equal(losses[1], losses[0]);
});

test('a folder that holds something else is left alone', async () => {
  await assert.rejects(buildSite(tmpdir()), /is not empty, and holds no site of ours/);
});
