// Pairs of views of a photograph whose matches are known exactly: a window of it, and that window seen through a random
// homography.

import { type Tensor, cat, gridSample, rand, randn, scope, tensor } from 'omnigrad';
import { pixels } from './facts.js';
import {
  type Homography,
  type Strength,
  after,
  draws,
  homography,
  inverse,
  mapped,
  middles,
} from './geometry.js';

/** What training and judging draw from: turns up to 70 degrees, up to 1.6 times the size or 1 over it. */
export const strength: Strength = { turn: 0.7, zoom: 0.6, stretch: 0.2, slant: 0.25, shift: 0.3 };

export interface Pairs {
  /** [N, 2, 96, 96], each view of mean 0 and variance 1. */
  readonly views: Tensor;
  /** From a pair's first view to its second. */
  readonly maps: readonly Homography[];
}

const noise = 0.03;
const places = middles(pixels);

/** As many pairs as there are photographs given, each [1, 1, H, W] with 0 to 1; draws from the default generator. */
export function pairsOf(photos: readonly Tensor[]): Pairs {
  const columns = draws + 3;
  const numbers = rand([photos.length, columns]).toTypedArray();
  const maps: Homography[] = [];
  const views = scope(() => {
    const pairs = photos.map((photo, i) => {
      const uniform = numbers.subarray(i * columns, (i + 1) * columns) as Float32Array;
      const map = homography(uniform, strength);
      maps.push(map);
      const place = windowIn(photo, uniform.subarray(draws));
      return cat([seen(photo, place), seen(photo, after(place, inverse(map)))], 1);
    });
    return standardised(cat(pairs));
  });
  return { views, maps };
}

/** From a view's coordinates to the photograph's: a square window of 0.9 to 1.4 pixels a pixel, somewhere in it. */
function windowIn(photo: Tensor, uniform: Float32Array): Homography {
  const [, , height = 0, width = 0] = photo.shape;
  const wanted = pixels * (0.9 + 0.5 * (uniform[0] as number));
  const [across, down] = [Math.min(1, wanted / width), Math.min(1, wanted / height)];
  const x = (1 - across) * (2 * (uniform[1] as number) - 1);
  const y = (1 - down) * (2 * (uniform[2] as number) - 1);
  return [across, 0, x, 0, down, y, 0, 0, 1];
}

/** The photograph where `map` takes a view's pixels; mirrored beyond its edges. */
function seen(photo: Tensor, map: Homography): Tensor {
  const grid = new Float32Array(2 * places.length);
  places.forEach((place, i) => {
    grid.set(mapped(map, place), 2 * i);
  });
  return gridSample(photo, tensor(grid, { shape: [1, pixels, pixels, 2] }), { paddingMode: 'reflection' });
}

/** Brightness and contrast taken out, noise of a camera put in. */
function standardised(views: Tensor): Tensor {
  const noisy = views.add(randn(views.shape).mul(noise));
  const centred = noisy.sub(noisy.mean([2, 3], { keepdim: true }));
  return centred.div(centred.square().mean([2, 3], { keepdim: true }).add(1e-4).sqrt());
}
