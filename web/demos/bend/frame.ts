// A drawn digit as MNIST has its own: fitted into 20 x 20 pixels, its centre of mass in the middle of 28 x 28.

import { side } from './facts.js';

const box = 20;

/** @param ink [28 * 28], 0 to 1; undefined if there is none */
export function framed(ink: Float32Array): Float32Array | undefined {
  let [left, right, top, bottom] = [side, -1, side, -1];
  let [sum, sumX, sumY] = [0, 0, 0];
  ink.forEach((value, i) => {
    if (value < 0.05) return;
    const [x, y] = [i % side, Math.floor(i / side)];
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
    [sum, sumX, sumY] = [sum + value, sumX + value * x, sumY + value * y];
  });
  if (sum === 0) return undefined;
  // A dot is not blown up to a blot.
  const scale = Math.max(right - left + 1, bottom - top + 1, box / 2) / box;
  const out = new Float32Array(side * side);
  const middle = (side - 1) / 2;
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++)
      out[y * side + x] = sampled(ink, sumX / sum + (x - middle) * scale, sumY / sum + (y - middle) * scale);
  return out;
}

/** Between four pixels; nothing outside. */
function sampled(ink: Float32Array, x: number, y: number): number {
  const [x0, y0] = [Math.floor(x), Math.floor(y)];
  const at = (i: number, j: number): number =>
    i < 0 || j < 0 || i >= side || j >= side ? 0 : (ink[j * side + i] ?? 0);
  const [u, v] = [x - x0, y - y0];
  const above = at(x0, y0) * (1 - u) + at(x0 + 1, y0) * u;
  const below = at(x0, y0 + 1) * (1 - u) + at(x0 + 1, y0 + 1) * u;
  return above * (1 - v) + below * v;
}
