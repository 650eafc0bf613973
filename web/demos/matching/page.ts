// Four dimensions: two views beside each other, and lines between the cells that were matched.

import { find, show } from '../shared/dom.js';
import { mountDemo } from '../shared/page.js';
import { type MatchingRules, facts, pixels, side } from './facts.js';
import type { Count, Match } from './matches.js';
import type { MatchingAnswers, MatchingView } from './task.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const said = ({ right, all }: Count): string => `${right} of ${all} (${percent(right / all)})`;

/** Pixels of the drawing for a pixel of a view, and between the views. */
const scale = 4;
const gap = 24;
/** One cell in so many is drawn; all of them would hide the views. */
const every = 3;
const size = scale * pixels;

let shown: MatchingView | undefined;

const demo = mountDemo<MatchingRules, MatchingView, MatchingAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (cross-entropy)', curves: { loss: 'loss' } },
    {
      title: 'right matches',
      curves: { consensus: '4-D consensus', plain: 'features alone' },
      range: [0, 1],
      text: percent,
    },
  ],
  draw(view) {
    shown = view;
    draw();
  },
});

function draw(): void {
  if (!shown) return;
  const { before, after, counts, step } = shown;
  paint('before', before);
  paint('after', after);
  const here = (list: readonly Match[]): Count => ({
    right: list.filter(({ right }) => right).length,
    all: list.length,
  });
  show('before-text', `Before training: ${said(here(before))} right in this pair.`);
  show('after-text', `After ${step} steps: ${said(here(after))} right in this pair.`);
  show(
    'counts',
    `In all pairs that are judged: before training ${said(counts.before)}; now ${said(counts.consensus)}, ` +
      `${(counts.consensus.right / Math.max(1, counts.before.right)).toFixed(2)} times as many; the features alone, without ` +
      `the consensus, ${said(counts.plain)}.`,
  );
}

/** On photographs, the same in light and dark: bright, with a dark edge. */
const colours = { right: '#8ff0b0', wrong: '#ff9c87' };

function paint(id: string, matches: readonly Match[]): void {
  const canvas = find<HTMLCanvasElement>(id);
  const context = canvas.getContext('2d');
  if (!context || !shown) return;
  const width = 2 * size + gap;
  if (canvas.width !== width) Object.assign(canvas, { width, height: size });
  context.clearRect(0, 0, width, size);
  context.imageSmoothingEnabled = true;
  [shown.a, shown.b].forEach((view, i) => {
    context.drawImage(picture(view), i * (size + gap), 0, size, size);
  });
  const wrongOnly = find<HTMLInputElement>('only-wrong').checked;
  const drawn = matches.filter(({ from, right }) => from % every === 0 && !(wrongOnly && right));
  // The right ones on top.
  for (const { from, found, right } of drawn.sort((a, b) => Number(a.right) - Number(b.right))) {
    const [x, y] = middle(from);
    const [u, v] = middle(found);
    line(context, x, y, u + size + gap, v, right);
  }
}

function line(c: CanvasRenderingContext2D, x: number, y: number, u: number, v: number, right: boolean): void {
  c.setLineDash(right ? [] : [9, 7]);
  const width = right ? 4 : 2.5;
  const strokes = [[width + 2, '#000c'] as const, [width, right ? colours.right : colours.wrong] as const];
  for (const [thick, stroke] of strokes) {
    c.lineWidth = thick;
    c.strokeStyle = stroke;
    c.beginPath();
    c.moveTo(x, y);
    c.lineTo(u, v);
    c.stroke();
  }
  c.setLineDash([]);
  c.beginPath();
  if (right) c.arc(u, v, 3, 0, 7);
  else {
    c.moveTo(u - 5, v - 5);
    c.lineTo(u + 5, v + 5);
    c.moveTo(u - 5, v + 5);
    c.lineTo(u + 5, v - 5);
  }
  c.stroke();
}

const middle = (cell: number): [number, number] => {
  const row = Math.floor(cell / side);
  const step = size / side;
  return [(cell - row * side + 0.5) * step, (row + 0.5) * step];
};

function picture(grey: Uint8ClampedArray): OffscreenCanvas {
  const made = new OffscreenCanvas(pixels, pixels);
  const data = new Uint8ClampedArray(4 * grey.length);
  grey.forEach((value, i) => {
    data.fill(value, 4 * i, 4 * i + 3);
    data[4 * i + 3] = 255;
  });
  made.getContext('2d')?.putImageData(new ImageData(data, pixels, pixels), 0, 0);
  return made;
}

const pair = find<HTMLInputElement>('pair');
pair.addEventListener('change', () => {
  if (!pair.reportValidity() || pair.value === '') return;
  void demo.ask('pair', Number(pair.value) - 1).then((view) => {
    if (!view) return;
    shown = view;
    draw();
  });
});
find('only-wrong').addEventListener('change', draw);
