// The page: calls the worker, shows what it says. `?seed=1&steps=200&batch=64&variant=single&threads=2` set a
// run, and an address that sets one starts it at once. `#losses` holds every loss as JSON, to the last bit, for tests.

import type { OmnigradError } from 'omnigrad';
import { type Run, connect } from 'omnigrad/worker';
import { adviceFor } from './advice.js';
import { lossChart } from './chart.js';
import { digitRow } from './digits.js';
import { pageSettings, readSettings } from './settings.js';
import { type Answer, defaults } from './train.js';
import type { Job, Result, Start, Step } from './worker.js';

/** `starting`: no build, or no digits yet. `testing`: all steps are done. `error`: nothing more will come. */
type State = 'starting' | 'ready' | 'training' | 'paused' | 'testing' | 'done' | 'error';

function find<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as E;
}
const show = (id: string, text: string): void => {
  find(id).textContent = text;
};

const primary = find<HTMLButtonElement>('primary');
const restart = find<HTMLButtonElement>('restart');
const another = find<HTMLButtonElement>('another');
const seedField = find<HTMLInputElement>('seed');
const stepsField = find<HTMLInputElement>('steps');
const progress = find<HTMLProgressElement>('progress');

const { values, problems } = readSettings(new URLSearchParams(location.search), pageSettings);
const batchSize = Number(values.batch ?? defaults.batchSize);
seedField.value = values.seed ?? String(defaults.seed);
stepsField.value = values.steps ?? String(defaults.steps);
show('batch', String(batchSize));

const chart = lossChart(find('chart'));
let state: State = 'starting';
/** The run that is shown; another may still be ending. */
let run: Run<Step, Result> | undefined;
let steps = Number(stepsField.value);
let losses: number[] = [];
let smooth: number[] = [];
/** Tenths of the run that the summary has told of. */
let told = 0;
let watch: (answers: readonly Answer[]) => void = () => undefined;
chart.clear(steps);

const labels: Record<State, string> = {
  starting: 'Starting…',
  ready: 'Start',
  training: 'Pause',
  paused: 'Resume',
  testing: 'Testing…',
  done: 'Start again',
  error: 'Start',
};

function enter(next: State): void {
  state = next;
  document.body.dataset.state = next;
  primary.textContent = labels[next];
  const down = next === 'starting' || next === 'error';
  primary.disabled = down;
  // Not `disabled`: the focus would be lost from under the fingers.
  primary.setAttribute('aria-disabled', String(next === 'testing'));
  restart.disabled = down || !run;
  another.disabled = down;
}

function showError(code: string, message: string): void {
  show('error-text', message);
  show('error-advice', adviceFor(code));
  find('error').hidden = false;
}

function fail(code: string, message: string): void {
  showError(code, message);
  show('summary', `Stopped by an error${losses.length > 0 ? `, after step ${losses.length}` : ''}.`);
  if (find('variant').textContent === '–') show('reason', 'No build is running.');
  enter('error');
}

function failWith(error: unknown): void {
  const { code = 'unknown', message = String(error) } = error as Partial<OmnigradError>;
  fail(code, message);
}

function start(): void {
  if (!find<HTMLFormElement>('controls').reportValidity()) return;
  void run?.cancel();
  [losses, smooth, told] = [[], [], 0];
  steps = Number(stepsField.value);
  chart.clear(steps);
  watch([]);
  find('error').hidden = true;
  find('wrong-section').hidden = true;
  for (const id of ['loss', 'rate', 'accuracy']) show(id, '–');
  find('accuracy').classList.remove('known');
  show('losses', '');
  show('step', `0 / ${steps}`);
  progress.value = 0;
  show('summary', `Training from seed ${seedField.value}, for ${steps} steps.`);
  run = job.train({ seed: Number(seedField.value), steps, batchSize });
  nameOtherPage();
  enter('training');
  follow(run).catch(failWith);
}

async function follow(mine: Run<Step, Result>): Promise<void> {
  for await (const step of mine) {
    if (mine !== run) return;
    add(step);
  }
  const result = await mine.catch((error: unknown) => {
    if (mine === run) throw error;
  });
  if (result && mine === run) finish(result);
}

/** The page with the other headers, for the same run. */
function nameOtherPage(): void {
  const plain = location.pathname.endsWith('/plain/');
  find('isolated').hidden = plain;
  find('plain').hidden = !plain;
  const query = new URLSearchParams({ seed: seedField.value, steps: stepsField.value });
  if (values.batch !== undefined) query.set('batch', values.batch);
  for (const id of ['to-plain', 'to-isolated']) {
    const link = find<HTMLAnchorElement>(id);
    link.href = `${link.pathname}${!run ? '' : `?${query.toString()}`}`;
  }
}

const grouped = (count: number): string => count.toLocaleString('en');
const smoothLoss = (): string => (smooth.at(-1) ?? 0).toFixed(2);
const sofar = (): string =>
  `loss ${smoothLoss()}, down from ${(losses[0] ?? 0).toFixed(2)} at the first step`;

let latest: Step | undefined;
let drawing = 0;

/** Takes a step; what there is to draw is drawn once a frame. */
function add(step: Step): void {
  losses.push(step.loss);
  smooth.push(0.9 * (smooth.at(-1) ?? step.loss) + 0.1 * step.loss);
  if (step.answers) watch(step.answers);
  latest = step;
  if (step.step === steps) {
    draw();
    show('accuracy', '…');
    enter('testing');
  } else if (drawing === 0) drawing = requestAnimationFrame(draw);
}

function draw(): void {
  cancelAnimationFrame(drawing);
  drawing = 0;
  if (!latest || losses.length === 0) return;
  const { step, loss, rate } = latest;
  chart.draw(losses, smooth);
  show('step', `${step} / ${steps}`);
  show('loss', loss.toFixed(3));
  show('rate', grouped(Math.round(rate)));
  progress.value = step / steps;
  // Read aloud, so not more often than a tenth of the run.
  const tenth = Math.floor((10 * step) / steps);
  if (tenth > told && state === 'training') {
    told = tenth;
    show('summary', `Step ${step} of ${steps}: ${sofar()}.`);
  }
}

async function pause(): Promise<void> {
  const mine = run;
  await mine?.pause();
  // Reports that have arrived are shown a frame later.
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  if (mine !== run || state !== 'training') return;
  draw();
  show('summary', `Paused after step ${losses.length} of ${steps}: ${sofar()}.`);
  enter('paused');
}

function finish({ accuracy, tested, wrong }: Result): void {
  const percent = `${(100 * accuracy).toFixed(2)} %`;
  show('accuracy', percent);
  find('accuracy').classList.add('known');
  show('losses', JSON.stringify(losses));
  show(
    'summary',
    `Done after ${steps} steps: ${sofar()}. It reads ${percent} of ${grouped(tested)} test digits right.`,
  );
  if (wrong.length > 0) {
    const count = Math.round((1 - accuracy) * tested);
    show(
      'wrong-text',
      wrong.length < count
        ? `${grouped(count)} of ${grouped(tested)} test digits. The first ${wrong.length} of them:`
        : `${grouped(count)} of ${grouped(tested)} test digits:`,
    );
    digitRow(find('wrong'), wrong, true)(wrong.map(({ answer }) => answer));
    find('wrong-section').hidden = false;
  }
  enter('done');
}

const job = connect<Job>(() => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }));

async function open(options: Start): Promise<void> {
  const { variant, threads, reason } = await job.start(options);
  show('variant', variant);
  show('threads', String(threads));
  const count = threads === 1 ? 'one thread' : `${threads} threads`;
  show('reason', `The ${variant} build, on ${count}: ${reason.message}.`);
  find('reason').dataset.code = reason.code;
  watch = digitRow(find('digits'), await job.load(options));
  show('summary', 'Ready. Press Start to train.');
  enter('ready');
  // An address that names a run is asking for it.
  if (problems.length === 0 && location.search !== '') start();
}

primary.addEventListener('click', () => {
  if (state === 'training') void pause();
  else if (state === 'paused') {
    show('summary', `Training again, from step ${losses.length + 1} of ${steps}.`);
    enter('training');
    run?.resume();
  } else if (state !== 'testing') start();
});
find('controls').addEventListener('submit', (event) => {
  event.preventDefault();
  start();
});
another.addEventListener('click', () => {
  seedField.value = String((Number(seedField.value) + 1) % Number.MAX_SAFE_INTEGER);
  start();
});

if (problems.length > 0) showError('setting', problems.join('. '));
nameOtherPage();
const threads = values.threads;
open({
  variant: (values.variant ?? 'auto') as Start['variant'],
  ...(threads === undefined ? {} : { threads: Number(threads) }),
  source: new URL('data/', location.href).href,
}).catch(failWith);
