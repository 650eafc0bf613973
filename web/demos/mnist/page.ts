// The page: starts the worker, draws the loss, shows what it says. `?seed=1&steps=200&variant=single&threads=2` set the
// run; `#losses` holds every loss as JSON, to the last bit, for tests.

import uPlot from 'uplot';
import type { Message, Start } from './protocol.js';
import { type Report, defaults } from './train.js';

const query = new URLSearchParams(location.search);
const steps = Number(query.get('steps') ?? defaults.steps);
const threads = query.get('threads');

function show(id: string, text: string): void {
  const element = document.getElementById(id);
  if (element) element.textContent = text;
}

const losses: number[] = [];
const smooth: number[] = [];

const chart = document.getElementById('chart') ?? document.body;
const plot = new uPlot(
  {
    width: Math.max(320, chart.clientWidth),
    height: 320,
    scales: {
      x: { time: false, range: [0, steps] },
      y: { range: (_u, _min, max) => [0, Math.max(0.5, max)] },
    },
    series: [
      { label: 'step' },
      { label: 'loss', stroke: '#9bb7d4', width: 1, points: { show: false } },
      { label: 'smoothed', stroke: '#0b5394', width: 2, points: { show: false } },
    ],
  },
  [[], [], []],
  chart,
);
addEventListener('resize', () => {
  plot.setSize({ width: Math.max(320, chart.clientWidth), height: 320 });
});

function add(reports: readonly Report[]): void {
  for (const { loss } of reports) {
    losses.push(loss);
    smooth.push(0.95 * (smooth.at(-1) ?? loss) + 0.05 * loss);
  }
  const last = reports.at(-1);
  if (!last) return;
  plot.setData([losses.map((_, i) => i + 1), losses, smooth]);
  show('step', `${last.step} / ${steps}`);
  show('loss', last.loss.toFixed(4));
  show('rate', `${Math.round(last.rate)} images/s`);
}

function finish(state: 'done' | 'error', text: string): void {
  show('losses', JSON.stringify(losses));
  show('accuracy', text);
  document.body.dataset.state = state;
}

const worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
worker.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.type === 'ready') {
    show('variant', data.variant);
    show('threads', String(data.threads));
    show('reason', `${data.code}: ${data.message}`);
    document.body.dataset.state = 'training';
  } else if (data.type === 'reports') add(data.reports);
  else if (data.type === 'done') finish('done', `${(100 * data.accuracy).toFixed(2)} %`);
  else finish('error', data.message);
};
worker.onerror = (event) => {
  finish('error', event.message || 'the worker did not start');
};
const start: Start = {
  seed: Number(query.get('seed') ?? defaults.seed),
  steps,
  batchSize: Number(query.get('batch') ?? defaults.batchSize),
  variant: (query.get('variant') ?? 'auto') as Start['variant'],
  ...(threads === null ? {} : { threads: Number(threads) }),
  source: new URL('data/', location.href).href,
};
worker.postMessage(start);
