// Digits as a row of tiles: the image, what the network reads, how sure it is, and what it is if that is asked for. In
// words too, not by colour alone.

import { make } from '../shared/dom.js';
import type { Sample } from './task.js';

const side = 28;

interface Tile {
  readonly place: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly image: ImageData;
}

/** Tiles by the list that they fill: drawn anew, not made anew. */
const rows = new WeakMap<HTMLElement, Tile[]>();

function tile(): Tile {
  const canvas = make('canvas', { width: side, height: side });
  canvas.setAttribute('role', 'img');
  return { place: make('li', {}, canvas), canvas, image: new ImageData(side, side) };
}

/** Writes what the network reads into the tiles of `list`. */
export function digitRow(list: HTMLElement, samples: readonly Sample[], truth = false): void {
  const tiles = rows.get(list) ?? [];
  rows.set(list, tiles);
  while (tiles.length < samples.length) tiles.push(tile());
  samples.forEach((sample, i) => {
    draw(tiles[i] as Tile, sample, truth);
  });
  if (list.children.length !== samples.length)
    list.replaceChildren(...tiles.slice(0, samples.length).map(({ place }) => place));
}

function draw({ place, canvas, image }: Tile, { pixels, label, answer }: Sample, truth: boolean): void {
  canvas.setAttribute('aria-label', `handwritten ${label}`);
  pixels.forEach((brightness, i) => (image.data[4 * i + 3] = brightness));
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  const right = answer.digit === label;
  const sure = `${Math.round(100 * answer.share)} %`;
  place.className = right ? 'right' : 'wrong';
  const shown = [
    make('strong', {}, `${right ? '✓' : '✗'} ${answer.digit}`),
    make('small', {}, sure),
    ...(truth ? [make('small', {}, `is ${label}`)] : []),
  ];
  for (const element of shown) element.setAttribute('aria-hidden', 'true');
  const said = `${right ? 'right' : 'wrong'}: reads ${answer.digit}, ${sure} sure`;
  place.replaceChildren(canvas, ...shown, make('span', { className: 'unseen' }, said));
}
