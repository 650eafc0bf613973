// What the page, the worker and Node know of this demo alike.

import { type Rules, oneOf, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

/** What is learnt: a picture by one of its derivatives, or the solution of an equation. */
export const modeNames = ['gradient', 'laplacian', 'heat', 'wave'] as const;
export const photoNames = ['astronaut', 'cat', 'coffee'] as const;
export type Mode = (typeof modeNames)[number];
export type PhotoName = (typeof photoNames)[number];

const rules = {
  mode: oneOf(modeNames, 'gradient', 'learn from'),
  /** Of gradient and laplacian. */
  photo: oneOf(photoNames, 'astronaut', 'photograph'),
  width: whole(16, 256, 64, 'sines a layer'),
  /** Points of a step. */
  points: whole(64, 4096, 1024),
} satisfies Rules;

export type GradientsRules = typeof rules;

export const facts: Facts<GradientsRules> = {
  name: 'gradients',
  unit: 'points',
  curves: ['psnr', 'error'],
  rules,
  defaults: { steps: 1500, lr: 1e-3 },
};

/** Pixels along a side of the picture that is learnt. */
export const side = 64;
/** Cells along a side of the square in which heat and waves move. */
export const cells = 32;
