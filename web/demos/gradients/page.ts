// A picture from its gradients: draws what is asked for and what is learnt, plays solutions, takes what the visitor gives.

import { bitmapOf } from '../shared/bitmap.js';
import { find, show } from '../shared/dom.js';
import { pad } from '../shared/pad.js';
import { mountDemo } from '../shared/page.js';
import type { EquationView } from './equation.js';
import { type GradientsRules, cells, facts, side } from './facts.js';
import { grey, paint, relief, strength, tinted } from './fields.js';
import type { PictureView } from './picture.js';
import { Player } from './player.js';
import type { GradientsAnswers, GradientsView } from './task.js';

const player = new Player();

const demo = mountDemo<GradientsRules, GradientsView, GradientsAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (share missed)', curves: { loss: 'loss' }, range: [0, 1] },
    {
      title: 'PSNR (dB)',
      curves: { psnr: 'PSNR' },
      range: [10, 32],
      text: (v) => v.toFixed(1),
      when: ({ mode }) => mode === 'gradient' || mode === 'laplacian',
    },
    {
      title: 'relative error',
      curves: { error: 'error' },
      range: [0, 0.5],
      text: (v) => `${(100 * v).toFixed(1)} %`,
      when: ({ mode }) => mode === 'heat' || mode === 'wave',
    },
  ],
  draw(view) {
    find('pictures').hidden = !('target' in view);
    find('equation').hidden = !('frames' in view);
    if ('target' in view) drawPicture(view);
    else drawEquation(view);
  },
});

function drawPicture({ kind, target, network, psnr }: PictureView): void {
  const [slope, bend] = [3 * strength(target.gradient), 4 * strength(target.laplacian)];
  for (const [name, fields] of [
    ['target', target],
    ['network', network],
  ] as const) {
    // prettier-ignore
    paint(find(`${name}-picture`), side, grey(fields.picture));
    paint(find(`${name}-gradient`), side, tinted(fields.gradient, slope));
    paint(find(`${name}-laplacian`), side, relief(fields.laplacian, bend));
  }
  const open = kind === 'gradient' ? 'a constant' : 'a harmonic function';
  show('pictures-text', `From the ${kind} alone: ${psnr.toFixed(1)} dB against the picture, up to ${open}.`);
}

function drawEquation(view: EquationView): void {
  player.show(view);
  const about = { heat: 'heat', wave: 'wave' }[view.kind];
  show(
    'equation-text',
    `${(100 * view.error).toFixed(1)} % off the exact solution of the ${about} equation.`,
  );
}

/** What the visitor gives ends the run; the next one begins with it. */
async function give(name: 'picture' | 'start', pixels: Uint8Array | null): Promise<void> {
  await demo.give(name, pixels);
  find('primary').focus();
}

const file = find<HTMLInputElement>('file');
file.addEventListener('change', () => {
  const [chosen] = file.files ?? [];
  file.value = '';
  if (chosen)
    squared(chosen)
      .then((pixels) => give('picture', pixels))
      .catch((error: unknown) => {
        demo.complain(error);
      });
});
find('no-file').addEventListener('click', () => void give('picture', null));

/** The middle of a picture, grey, 64 x 64 bytes. */
async function squared(picture: Blob): Promise<Uint8Array> {
  const bitmap = await bitmapOf(picture, facts.name);
  const { width, height } = bitmap;
  const size = Math.min(width, height);
  const canvas = new OffscreenCanvas(side, side);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser gives no canvas');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, (width - size) / 2, (height - size) / 2, size, size, 0, 0, side, side);
  bitmap.close();
  const { data } = context.getImageData(0, 0, side, side);
  return Uint8Array.from({ length: side * side }, (_, i) => {
    const [red = 0, green = 0, blue = 0] = data.subarray(4 * i);
    return Math.round((299 * red + 587 * green + 114 * blue) / 1000);
  });
}

const drawing = pad(find('pad'), {
  columns: cells,
  rows: cells,
  brush: 1.8,
  label: 'The state at the start',
});
find('take-drawing').addEventListener('click', () => {
  void give(
    'start',
    Uint8Array.from(drawing.ink, (ink) => Math.round(255 * ink)),
  );
});
find('clear-drawing').addEventListener('click', () => {
  drawing.clear();
});
find('no-drawing').addEventListener('click', () => void give('start', null));
