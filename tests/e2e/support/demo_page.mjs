// A demo's page in Chromium: opens it, watches what it complains of, waits for its states, times its tasks.
import assert from 'node:assert/strict';

/** Milliseconds that a run may take on a machine that has other work. */
const patience = 180_000;

/** Opens a page of its own storage; gives it with what it complained of. */
export async function open(browser, url, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => complaints.push(message.text()));
  page.on('requestfailed', (request) => complaints.push(`${request.url()} failed`));
  await page.goto(url);
  return { page, complaints };
}

/** Waits until the page is in one of these states; fails if its run ends first, well or not. */
export async function inState(page, ...states) {
  const wanted = [...states, 'error', 'done'].map((state) => `body[data-state="${state}"]`).join();
  await page.waitForSelector(wanted, { timeout: patience });
  const state = await page.getAttribute('body', 'data-state');
  if (!states.includes(state)) assert.fail(`the page is in ${state}: ${await page.textContent('#error')}`);
}

export const stepOf = async (page) => parseInt((await page.textContent('#step')).replaceAll(',', ''), 10);

/** Waits until so many steps are done. */
export const stepped = (page, step) =>
  page.waitForFunction(
    (least) => parseInt(document.getElementById('step').textContent.replaceAll(',', ''), 10) >= least,
    step,
    { timeout: patience },
  );

export async function close({ page, complaints }) {
  await page.context().close();
  assert.deepEqual(complaints, []);
}

/**
 * Milliseconds of computing of each task over 50 ms that a page had while `work` was done. Of computing, not of waiting:
 * on a machine that does other things a task of 5 ms may take 100 of the clock's, and PerformanceObserver counts those.
 */
export async function longTasks(browser, page, work) {
  await browser.startTracing(page, { categories: ['toplevel'] });
  await work().catch(async (error) => {
    await browser.stopTracing();
    throw error;
  });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid }) => ph === 'X' && /RunTask/.test(name) && mains.has(`${pid} ${tid}`),
  );
  assert.ok(
    tasks.some(({ tdur }) => tdur > 0),
    'the trace has no times',
  );
  return tasks.map(({ tdur = 0 }) => tdur / 1000).filter((ms) => ms > 50);
}
