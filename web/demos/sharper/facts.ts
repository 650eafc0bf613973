// What the page, the worker and Node know of this demo alike.

import { photoNames } from '../shared/photo_names.js';
import { type Rules, oneOf, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

/** The ways to interpolate. */
export const bases = ['cubic', 'lanczos3', 'linear'] as const;
export type Base = (typeof bases)[number];

const rules = {
  base: oneOf(bases, 'cubic', 'interpolation'),
  /** Judged on, and never trained on. */
  held: oneOf(photoNames, 'coffee', 'photograph held back'),
  width: whole(4, 64, 24, 'features'),
  batch: whole(1, 64, 16, 'crops a step'),
} satisfies Rules;

export type SharperRules = typeof rules;

export const facts: Facts<SharperRules> = {
  name: 'sharper',
  unit: 'crops',
  curves: ['psnr', 'cubicPsnr', 'ssim', 'cubicSsim'],
  rules,
  defaults: { steps: 1200, lr: 3e-3 },
};

/** Pixels that a tile needs around it, so that its middle is what it would be in the whole picture. */
export const margin = 10;
