// A demo's page in Chromium: opens it, watches what it complains of, waits for its states, times its tasks.
import assert from 'node:assert/strict';

/** Milliseconds that a run may take on a machine that has other work. */
const patience = 180_000;

/**
 * Opens a page of its own storage; gives it with what it complained of.
 *
 * @param options Playwright's, and `holdAt`: the step after which a run is held that begins with the page
 */
export async function open(browser, url, { holdAt, ...options } = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  if (holdAt !== undefined) await page.addInitScript(holdAfter, { step: holdAt, once: true });
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

/**
 * In the page: presses its button once so many steps are done. From outside it might be pressed when a short run is over,
 * on a machine that has other work.
 *
 * @param once not after a reload
 */
function holdAfter({ step: least, once }) {
  if (once && performance.getEntriesByType('navigation')[0].type === 'reload') return;
  const watch = () => {
    const observer = new MutationObserver(() => {
      const step = parseInt(document.getElementById('step').textContent.replaceAll(',', ''), 10);
      if (document.body.dataset.state !== 'training' || !(step >= least)) return;
      observer.disconnect();
      document.getElementById('primary').click();
    });
    observer.observe(document.getElementById('step'), {
      childList: true,
      characterData: true,
      subtree: true,
    });
  };
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', watch);
  else watch();
}

/** The step at which a run stands that `holdAt` or `holdNext` holds. */
export async function held(page) {
  await inState(page, 'paused');
  return stepOf(page);
}

/** As `holdAt`, for the run that the test starts next. */
export const holdNext = (page, step) => page.evaluate(holdAfter, { step });

/** What a canvas shows, to be held against what it shows later. */
export const seen = (page, selector) => page.$eval(selector, (canvas) => canvas.toDataURL());

/** Waits until a canvas shows something else. */
export const redrawn = (page, selector, before) =>
  page.waitForFunction(
    ([canvas, old]) => document.querySelector(canvas).toDataURL() !== old,
    [selector, before],
  );

/** Ends the page's worker from within, as a browser that needs its memory does: no error event comes. */
export const killWorker = (page) =>
  page
    .workers()
    .at(-1)
    .evaluate(() => globalThis.close());

/** Waits until the page watches over a worker, not `old`: waits for the lock that the worker holds. Gives its name. */
const watched = async (page, old) => {
  const name = await page.waitForFunction(
    async (but) => {
      const { held, pending } = await navigator.locks.query();
      const [lock, wanted] = [held[0]?.name, pending[0]?.name];
      return held.length === 1 && lock === wanted && lock !== but && lock;
    },
    old,
    { timeout: patience },
  );
  return name.jsonValue();
};

/** Ends the page's worker and waits for the one in its place, until that serves. */
export async function replaceWorker(page) {
  const old = await watched(page);
  await Promise.all([page.waitForEvent('worker', { timeout: patience }), killWorker(page)]);
  await watched(page, old);
}

export async function close({ page, complaints }) {
  await page.context().close();
  assert.deepEqual(complaints, []);
}

/**
 * Milliseconds of computing of each task over 50 ms that a page had from a mark on, up to the end of the work. Of
 * computing, not of waiting: on a machine that does other things a task of 5 ms may take 100 of the clock's, and
 * PerformanceObserver counts those.
 *
 * @param work what the page does
 * @param from the name of the mark (performance.mark) that the page sets; a demo's is set as its training begins
 */
export async function longTasks(browser, page, work, from = 'state training') {
  await page.addInitScript(() => {
    document.addEventListener('DOMContentLoaded', () => {
      new MutationObserver(() => performance.mark(`state ${document.body.dataset.state}`)).observe(
        document.body,
        {
          attributeFilter: ['data-state'],
        },
      );
    });
  });
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] });
  await work().catch(async (error) => {
    await browser.stopTracing();
    throw error;
  });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const start = traceEvents.find(({ name }) => name === from);
  assert.ok(start, `the trace has no mark "${from}"`);
  const tasks = traceEvents.filter(
    ({ name, ph, pid, tid, ts }) =>
      ph === 'X' && /RunTask/.test(name) && pid === start.pid && tid === start.tid && ts > start.ts,
  );
  assert.ok(
    tasks.some(({ tdur }) => tdur > 0),
    'the trace has no times of computing',
  );
  return tasks.map(({ tdur = 0 }) => tdur / 1000).filter((ms) => ms > 50);
}
