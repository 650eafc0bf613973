// The visitor's photograph: opened, cut into tiles, and put together again. It leaves the page only for its worker.

import { bitmapOf } from '../shared/bitmap.js';
import type { Compared } from './compare.js';
import { facts, margin } from './facts.js';
import type { Pixels } from './own.js';

export interface Opened {
  readonly width: number;
  readonly height: number;
  /** Its size in the file, in words. */
  readonly was: string;
  /** Pixels of a part. */
  part(x: number, y: number, width: number, height: number): Pixels;
}

/** Doubled, it has four times as many; some browsers hold no more than 2^24. */
const most = 1 << 22;
/** Pixels of a tile's side: about 30 ms of work. */
const tile = 128;

/** @throws Error if the browser cannot read it */
export async function opened(file: Blob): Promise<Opened> {
  const bitmap = await bitmapOf(file, facts.name);
  const was = `${bitmap.width} x ${bitmap.height}`;
  const scale = Math.min(1, Math.sqrt(most / (bitmap.width * bitmap.height)));
  const [width, height] = [bitmap.width, bitmap.height].map((size) => Math.max(8, Math.floor(scale * size))) as [number, number]; // prettier-ignore
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('the browser gives no canvas');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return {
    ...{ width, height, was },
    part(x, y, w, h) {
      const { data } = context.getImageData(x, y, w, h);
      return { width: w, height: h, data };
    },
  };
}

/** Its middle, no larger than this. */
export function middleOf(photo: Opened, width: number, height: number): Pixels {
  const [w, h] = [Math.min(width, photo.width), Math.min(height, photo.height)];
  return photo.part(Math.floor((photo.width - w) / 2), Math.floor((photo.height - h) / 2), w, h);
}

/**
 * Doubles it tile by tile. Each is sent with a margin, so that no seam is seen; training goes on between two.
 *
 * @param double the worker's; undefined if that failed
 * @param going told the share that is done; false ends it
 * @returns whether all tiles were done
 */
export async function doubleTiles(
  photo: Opened,
  into: Compared,
  double: (tile: Pixels) => Promise<{ cubic: Pixels; network: Pixels } | undefined>,
  going: (share: number) => boolean,
): Promise<boolean> {
  const [columns, rows] = [Math.ceil(photo.width / tile), Math.ceil(photo.height / tile)];
  for (let i = 0; i < columns * rows; i++) {
    if (!going(i / (columns * rows))) return false;
    const [x, y] = [tile * (i % columns), tile * Math.floor(i / columns)];
    const [w, h] = [Math.min(tile, photo.width - x), Math.min(tile, photo.height - y)];
    const [left, top] = [Math.max(0, x - margin), Math.max(0, y - margin)];
    const [right, bottom] = [Math.min(photo.width, x + w + margin), Math.min(photo.height, y + h + margin)];
    const made = await double(photo.part(left, top, right - left, bottom - top));
    if (!made) return false;
    for (const name of ['cubic', 'network'] as const) {
      const { width, height, data } = made[name];
      const image = new ImageData(data.slice(), width, height);
      const context = into[name].getContext('2d');
      context?.putImageData(image, 2 * left, 2 * top, 2 * (x - left), 2 * (y - top), 2 * w, 2 * h);
    }
  }
  return going(1);
}
