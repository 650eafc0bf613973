// What the page, the worker and Node know of this demo alike.

import { type Rules, real, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

const rules = {
  batch: whole(1, 1024, 64),
  /** How far digits are turned at most, either way, in degrees. */
  turn: whole(0, 180, 25, 'turned by, at most (°)'),
  /** Deviation of the bends, in pixels. */
  warp: real(0, 6, 1, 'bent by (pixels)'),
} satisfies Rules;

export type BendRules = typeof rules;

export const facts: Facts<BendRules> = {
  name: 'bend',
  unit: 'images',
  curves: ['plain', 'right', 'plainRight'],
  rules,
  defaults: { steps: 2000, lr: 8e-3 },
};

/** Height and width of an image. */
export const side = 28;
/** Rows and columns of places where the deformable layer's kernel is shifted. */
export const places = 7;
