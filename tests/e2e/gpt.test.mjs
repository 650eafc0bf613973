// Tiny GPT: what it writes. With the cache of keys and values it writes what it would without; writing moves no random
// number that training draws; the page lets it write while it trains, and stop.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { init, manualSeed, noGrad, scope, tensor } from 'omnigrad';
import { CharTokenizer } from 'omnigrad/data';
import { buildData, buildNode } from '../../web/demos/build.mjs';
import { inNode, queryOf, shown } from '../browsers/support/demos.mjs';
import { close, inState, stepped } from './support/demo_page.mjs';
import { demoSite } from './support/demo_site.mjs';

const site = demoSite();

test('with its cache it writes what it would without, beyond what it sees at once', async () => {
  await init({ variant: 'single' });
  const { task } = await import(await buildNode('gpt'));
  const folder = pathToFileURL(`${buildData()}/`);
  const bytes = (path) => readFile(new URL(path, folder));
  const data = { url: (path) => new URL(path, folder), bytes };
  manualSeed(5);
  const context = 16;
  const settings = { batch: 32, context, layers: 2, heads: 1, seed: 5, steps: 120, lr: 0.02 };
  const training = await task.begin(data, settings);
  for (let step = 1; step <= settings.steps; step++) await training.step(step);

  const letters = CharTokenizer.from((await bytes('moby.txt')).toString());
  /** The likeliest characters, each from all that is seen, worked out afresh. */
  const afresh = (text, count) => {
    let [seen, written] = [letters.encode(text).slice(-context / 2), ''];
    while (written.length < count) {
      const input = tensor(seen, { shape: [1, seen.length] });
      const next = noGrad(() => scope(() => training.net.call(input).at(0, -1).argmax(0).item()));
      input.dispose();
      written += letters.chars[next];
      // What is full begins again with its last half.
      seen = Int32Array.from([...seen, next]).slice(seen.length === context ? -context / 2 : 0);
    }
    return written;
  };
  const prompt = 'Some years ago, never mind';
  const { text } = training.answers.write({ prompt, temperature: 0, count: 60 });
  assert.equal(text, afresh(prompt, 60));
  assert.ok(new Set(text).size > 3, text);

  const drawn = (temperature) => training.answers.write({ prompt, temperature, count: 60 }).text;
  assert.notEqual(drawn(1), drawn(1), 'texts are drawn');
  assert.deepEqual(training.answers.write({ prompt: 'é1ü', temperature: 1, count: 1 }).unknown, 'éü');
  assert.equal(training.answers.write({ prompt: '', temperature: 1, count: 3 }).text.length, 3);
  training.dispose();
});

test('asked to write while it trains, it writes, stops, and trains to the same weights', async () => {
  const node = await inNode('gpt');
  const opened = await site.open(`/plain/gpt/${queryOf('gpt')}`);
  const { page } = opened;
  await stepped(page, 1);
  await page.fill('#prompt', 'The whale ');
  await page.press('#prompt', 'Enter');
  await page.waitForFunction(() => document.querySelector('#written').textContent.length > 30);
  await page.click('#write-button');
  await page.waitForSelector('#write-state:not(:empty)');
  const [, length] = /It wrote (\d+) characters/.exec(await page.textContent('#write-state'));
  const written = await page.textContent('#written');
  assert.equal(written.length, 'The whale '.length + Number(length));
  assert.ok(written.startsWith('The whale '), written);
  const run = await page.evaluate(shown);
  assert.deepEqual(run, { error: '', variant: 'single', reason: 'not-isolated', ...node });

  // By itself it writes from the same beginning.
  assert.match(await page.textContent('#stream'), /after step \d+The whale /);
  await page.fill('#temperature', '0');
  assert.equal(await page.textContent('#temperature-shown'), '0.0');
  await page.fill('#prompt', 'naïve');
  await page.click('#write-button');
  await page.waitForFunction(() => /ï: left out/.test(document.querySelector('#write-state').textContent));
  assert.equal((await page.textContent('#written')).length, 405);
  await inState(page, 'done');
  await close(opened);
});
