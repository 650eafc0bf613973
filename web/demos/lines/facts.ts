// What the page, the worker and Node know of this demo alike.

import { type Rules, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

const rules = {
  batch: whole(1, 256, 16),
  hidden: whole(8, 256, 64, 'GRU units a direction'),
} satisfies Rules;

export type LinesRules = typeof rules;

export const facts: Facts<LinesRules> = {
  name: 'lines',
  unit: 'strips',
  curves: ['errors'],
  rules,
  defaults: { steps: 1600, lr: 3e-3 },
};

/** Pixels of a strip. */
export const height = 32;
export const width = 160;
/** Digits of a strip. */
export const [fewest, most] = [3, 8] as const;
/** The network gives one answer for so many columns of pixels. */
export const stride = 4;
export const frames = width / stride;
/** Nothing, and the digits 0 to 9. */
export const classes = 11;
