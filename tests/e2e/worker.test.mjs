// omnigrad/worker in Chromium: the jobs of tests/node/worker, in a page with threads. The page stays free while both
// processors train.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch } from './support/chromium.mjs';
import { longTasks } from './support/demo_page.mjs';
import { serveSite } from './support/site.mjs';

// Bare names become files of the built package, as a bundler would do.
const job = readFileSync(new URL('../node/worker/job.mjs', import.meta.url), 'utf8').replace(
  /from 'omnigrad(\/\w+)?'/g,
  (_, entry) => `from './lib${entry ?? ''}/index.js'`,
);

let site, browser;
before(async () => {
  site = await serveSite({
    'job.js': job,
    'throws.js': `throw new Error('thrown at the top')`,
    'silent.js': '',
    'late.js': `await new Promise((resolve) => setTimeout(resolve, 200)); await import('./job.js');`,
  });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  site?.close();
});

/**
 * Runs `body` in an isolated page that has `lib` (omnigrad/worker), `make(script)` and `all(run)`.
 *
 * @param watch runs that, given the page and the work; gives what it saw
 */
async function run(body, prefix = 'strict', watch = (_page, work) => work()) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${site.origin}/${prefix}/empty.html`);
  // As text: a strict policy lets the test's own tool evaluate, not the page.
  const text = `(async () => {
    const base = ${JSON.stringify(`${site.origin}/${prefix}`)};
    const lib = await import(base + '/lib/worker/index.js');
    const make = (script = 'job.js') => () => new Worker(base + '/' + script, { type: 'module' });
    const all = async (reports) => {
      const list = [];
      for await (const report of reports) list.push(report);
      return list;
    };
    const failure = (promise) =>
      Promise.resolve(promise).then(
        () => 'no error',
        ({ name, code, message }) => ({ name, code, message }),
      );
    ${body}
  })()`;
  let result;
  const seen = await watch(page, async () => (result = await page.evaluate(text)));
  await page.close();
  return { result, complaints, seen };
}

test('trains with threads, reports all, answers between steps, holds and goes on', async () => {
  const { result, complaints } = await run(`
    const job = lib.connect(make());
    const run = job.train({ steps: 200, variant: 'threads', threads: 2 });
    const steps = [];
    let answer;
    for await (const { step } of run) {
      steps.push(step);
      if (step === 20) {
        await run.pause();
        answer = await job.predict([5, 0]);
        run.resume();
      }
    }
    return [steps, answer, await run];`);
  assert.deepEqual(complaints, []);
  assert.deepEqual(
    result[0],
    Array.from({ length: 200 }, (_, i) => i + 1),
  );
  assert.equal(result[1].length, 2);
  assert.deepEqual(result[2], { steps: 200 });
});

test('the same losses as in Node, to the last bit, restarted from a checkpoint or not', async () => {
  const { result } = await run(`
    const job = lib.connect(make(), { restarts: 1 });
    return [await all(job.train({ steps: 40 })), await all(job.train({ steps: 40, dieAt: 17 }))];`);
  const { connect } = await import('omnigrad/worker');
  const { Worker } = await import('node:worker_threads');
  const inNode = connect(() => new Worker(new URL('../node/worker/job.mjs', import.meta.url)));
  const reports = [];
  for await (const report of inNode.train({ steps: 40 })) reports.push(report);
  assert.deepEqual(result, [reports, reports]);
});

test('a worker that closes itself is noticed within a second', async () => {
  // Of three, the best: the machine may have other work.
  const { result } = await run(`
    const times = [];
    for (let i = 0; i < 3; i++) {
      const job = lib.connect(make());
      const owed = failure(job.count({ to: 1e6, ms: 2 }));
      await job.echo('it has started');
      void failure(job.die());
      const begun = performance.now();
      const died = await owed;
      times.push(performance.now() - begun);
      if (died.code !== 'worker-died') return [died];
      if (i === 2) return [died, Math.min(...times), await job.echo('a new one')];
    }`);
  const [died, ms, echo] = result;
  assert.equal(died.code, 'worker-died');
  assert.match(died.message, /it closed itself, or the browser ended it/);
  assert.ok(ms < 1000, `${ms} ms`);
  assert.equal(echo, 'a new one');
});

test('scripts that are not there, throw, never serve, or serve late', async () => {
  const { result } = await run(`
    return [
      await failure(lib.connect(make('nowhere.js')).echo(1)),
      await failure(lib.connect(make('throws.js')).echo(1)),
      await failure(lib.connect(make('silent.js'), { timeout: 300 }).echo(1)),
      await lib.connect(make('late.js')).echo('late'),
    ];`);
  const [nowhere, throws, silent, late] = result;
  assert.deepEqual(
    [nowhere.code, throws.code, silent.code],
    ['start-failed', 'start-failed', 'start-timeout'],
  );
  assert.match(nowhere.message, /its script cannot be loaded/);
  assert.match(throws.message, /thrown at the top/);
  assert.equal(late, 'late');
});

test('errors of handlers keep class and fields', async () => {
  const { result, complaints } = await run(`
    const job = lib.connect(make());
    const error = await job.fail({ kind: 'type' }).catch((e) => e);
    const own = await job.fail({ kind: 'omnigrad' }).catch((e) => e);
    return [
      [error instanceof TypeError, error.field, error.cause instanceof RangeError, /job\\.js/.test(error.stack)],
      [own.name, own.op, own.code, own.shapes],
    ];`);
  assert.deepEqual(complaints, []);
  assert.deepEqual(result, [
    [true, [1, { a: 2 }], true, true],
    ['OmnigradError', 'matmul', 'shape', [[3], [2, 2]]],
  ]);
});

test('the page is never busy for 50 ms while two threads train and reports pour in', async () => {
  const { result, seen } = await run(
    `
    const job = lib.connect(make());
    await job.count({ to: 1 });
    performance.mark('busy');
    let work = 0;
    // 60000 reports at once, each with work to do: without turns it would be one task of a second and more.
    const flood = job.count({ to: 60000 });
    await flood;
    for await (const i of flood) for (const end = performance.now() + 0.02; performance.now() < end; ) work++;
    for await (const { step } of job.train({ steps: 1500, variant: 'threads', threads: 2 })) work += step;
    return work > 0;`,
    'strict',
    (page, work) => longTasks(browser, page, work, 'busy'),
  );
  assert.ok(result);
  assert.deepEqual(seen, []);
});

test('without isolation the job runs single-threaded', async () => {
  const { result } = await run(
    `return (await all(lib.connect(make()).train({ steps: 5, variant: 'auto' }))).length`,
    'plain-strict',
  );
  assert.equal(result, 5);
});
