// Checkpoints in Chromium: the private file system, IndexedDB where that cannot be written, in a page and a worker, over a
// reload; a save that fails leaves the old file. The built package is loaded as it is, without a bundler.
/* global io, og -- of the page */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const site = demoSite();
/** A page with the built package below /lib/. */
const open = () => site.open('/empty.html');

const setUp = async () => {
  const [og, io] = await Promise.all([import('/lib/index.js'), import('/lib/io/index.js')]);
  await og.init({ variant: 'single' });
  Object.assign(globalThis, { og, io });
};

/** What one does with a store; runs in the page. */
const use = async () => {
  const store = io.browserStore('run/1 *.größe');
  const told = [await store.exists()];
  await io.load(store).catch((error) => told.push(error.code));
  await io.save(store, { model: { w: og.arange(3) }, step: 7 });
  const { model, step } = await io.load(store);
  told.push(await store.exists(), model.w.tolist(), step);
  const old = (await store.read()).length;
  await io.save(store, { a: og.ones([10]) });
  const fresh = (await store.read()).length;
  told.push(old !== fresh);
  return told;
};
const expected = [false, 'not-found', true, [0, 1, 2], 7, true];

test('the private file system: there and back, over a reload, removed', async () => {
  const opened = await open();
  const { page } = opened;
  await page.evaluate(setUp);
  assert.deepEqual(await page.evaluate(use), expected);
  await page.reload();
  await page.evaluate(setUp);
  const later = async () => {
    const store = io.browserStore('run/1 *.größe');
    const { a } = await io.load(store);
    await store.remove();
    await store.remove();
    const inFolder = await (await navigator.storage.getDirectory()).getDirectoryHandle('omnigrad');
    const left = [];
    for await (const name of inFolder.keys()) left.push(name);
    return [a.sum().item(), await store.exists(), left];
  };
  assert.deepEqual(await page.evaluate(later), [10, false, []]);
  await close(opened);
});

test('IndexedDB where the private file system cannot be written', async () => {
  const opened = await open();
  const { page } = opened;
  await page.evaluate(() => delete FileSystemFileHandle.prototype.createWritable);
  await page.evaluate(setUp);
  assert.deepEqual(await page.evaluate(use), expected);
  const removed = async () => {
    const store = io.browserStore('run/1 *.größe');
    await store.remove();
    return [await store.exists(), (await indexedDB.databases()).map(({ name }) => name)];
  };
  assert.deepEqual(await page.evaluate(removed), [false, ['omnigrad']]);
  await close(opened);
});

test('a write that fails midway leaves the old file, in both', async () => {
  for (const database of [false, true]) {
    const opened = await open();
    const { page } = opened;
    if (database) await page.evaluate(() => delete FileSystemFileHandle.prototype.createWritable);
    await page.evaluate(setUp);
    const failing = async (inDatabase) => {
      const store = io.browserStore('a');
      await io.save(store, { x: og.ones([5]) });
      if (inDatabase) {
        const { put } = IDBObjectStore.prototype;
        IDBObjectStore.prototype.put = function (...args) {
          const request = put.apply(this, args);
          this.transaction.abort();
          return request;
        };
      } else {
        const { write } = FileSystemWritableFileStream.prototype;
        let count = 0;
        FileSystemWritableFileStream.prototype.write = function (part) {
          return count++ > 0 ? Promise.reject(new Error('quota')) : write.call(this, part);
        };
      }
      const error = await io.save(store, { x: og.zeros([500]), y: og.zeros([500]) }).catch((e) => e);
      return [error.code, error.op, (await io.load(store)).x.tolist()];
    };
    assert.deepEqual(await page.evaluate(failing, database), ['write', 'save', [1, 1, 1, 1, 1]]);
    await close(opened);
  }
});

test('in a worker too', async () => {
  const opened = await open();
  const { page } = opened;
  const run = async ([prepare, work]) => {
    const code = `(${prepare})().then(${work}).then((told) => postMessage(told), (error) => postMessage(String(error)));`;
    return new Promise((resolve, reject) => {
      const worker = new Worker(`/worker.js?${encodeURIComponent(code)}`, { type: 'module' });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
  };
  // The policy allows scripts of the page's own origin only.
  await page.route('**/worker.js?*', (route) => {
    const code = decodeURIComponent(new URL(route.request().url()).search.slice(1));
    // An isolated page starts isolated workers only.
    const headers = { 'Cross-Origin-Embedder-Policy': 'require-corp' };
    return route.fulfill({ contentType: 'text/javascript', body: code, headers });
  });
  assert.deepEqual(await page.evaluate(run, [setUp.toString(), use.toString()]), expected);
  await close(opened);
});
