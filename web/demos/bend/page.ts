// Digits that bend: what both networks read in warped digits and in the visitor's own, and where the deformable one
// looks.

import { find, make, show } from '../shared/dom.js';
import { pad } from '../shared/pad.js';
import { mountDemo } from '../shared/page.js';
import { canvasSize, colours, drawDigit } from './arrows.js';
import { type BendRules, facts, side } from './facts.js';
import { framed } from './frame.js';
import type { BendAnswers, BendView, Digit, Reading, Shares } from './task.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const nets = [
  ['bent', 'deformable'],
  ['plain', 'plain'],
] as const;

const demo = mountDemo<BendRules, BendView, BendAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (cross-entropy)', curves: { loss: 'deformable', plain: 'plain' }, range: [0, 0.5] },
    {
      title: 'right, of 500 digits',
      curves: { right: 'deformable', plainRight: 'plain' },
      range: [0.8, 1],
      text: percent,
    },
  ],
  draw(view) {
    lastView = view;
    drawTiles();
    // The network has learnt since it was asked.
    void readOwn();
  },
});

let lastView: BendView = [];

/** The digit that is read, and how sure that is. */
function best(shares: Shares): { digit: number; share: number } {
  const share = Math.max(...shares);
  return { digit: shares.indexOf(share), share };
}

const tiles = Array.from({ length: 10 }, () => {
  const canvas = make('canvas', { ...canvasSize });
  canvas.setAttribute('role', 'img');
  const lines = nets.map(() => make('span'));
  find('digits').append(make('li', {}, canvas, ...lines));
  return { canvas, lines };
});

function drawTiles(): void {
  const theme = colours();
  lastView.forEach((digit, i) => {
    const { canvas, lines } = tiles[i] ?? {};
    if (!canvas || !lines) return;
    drawDigit(canvas, digit.ink, digit.shifts, theme);
    canvas.setAttribute('aria-label', `a warped ${digit.label}`);
    nets.forEach(([net, name], line) => {
      verdict(lines[line] as HTMLElement, name, digit[net], digit);
    });
  });
}

function verdict(line: HTMLElement, name: string, shares: Shares, { label }: Digit): void {
  const { digit, share } = best(shares);
  const right = digit === label;
  line.className = right ? 'right' : 'wrong';
  line.replaceChildren(
    make('small', {}, name),
    ' ',
    make('strong', {}, `${right ? '✓' : '✗'} ${digit}`),
    ' ',
    make('small', {}, `${Math.round(100 * share)} %`),
  );
}

// ---- a digit of one's own

const own = find<HTMLCanvasElement>('own');
Object.assign(own, canvasSize);
const bars = Array.from({ length: 10 }, (_, digit) => {
  const meters = nets.map(([net]) => make('span', { className: `bar ${net}` }));
  find('own-bars').append(make('li', {}, make('span', { className: 'digit' }, String(digit)), ...meters));
  return meters;
});
let drawn: Float32Array | undefined;
let asking = false;
let asked: Float32Array | undefined;

const surface = pad(find('pad'), {
  columns: side,
  rows: side,
  brush: 1,
  label: 'A digit of your own',
  changed: (ink) => {
    drawn = framed(ink);
    void readOwn();
  },
});
find('own-clear').addEventListener('click', () => {
  surface.clear();
});

/** Asks what the networks read in the drawing; one question at a time, the last drawing last. */
async function readOwn(): Promise<void> {
  if (asking || demo.state === 'starting' || demo.state === 'error') return;
  if (!drawn) {
    clearOwn();
    return;
  }
  asking = true;
  asked = drawn;
  const reading = await demo.ask('read', drawn);
  asking = false;
  if (asked !== drawn) void readOwn();
  else if (reading) showOwn(drawn, reading);
}

function showOwn(ink: Float32Array, reading: Reading): void {
  drawDigit(own, ink, reading.shifts, colours());
  nets.forEach(([net], i) => {
    reading[net].forEach((share, digit) => {
      bars[digit]?.[i]?.style.setProperty('--share', share.toFixed(3));
    });
  });
  const said = nets.map(([net, name]) => `the ${name} network reads ${best(reading[net]).digit}`).join(', ');
  // Read aloud when it is another digit, not at every stroke.
  show('own-said', `${said.charAt(0).toUpperCase()}${said.slice(1)}.`);
  show('own-sure', nets.map(([net, name]) => `${name} ${percent(best(reading[net]).share)} sure`).join(', '));
}

function clearOwn(): void {
  own.getContext('2d')?.clearRect(0, 0, own.width, own.height);
  for (const bar of bars.flat()) bar.style.setProperty('--share', '0');
  show('own-said', 'Nothing is drawn yet.');
  show('own-sure', '');
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  drawTiles();
  void readOwn();
});
