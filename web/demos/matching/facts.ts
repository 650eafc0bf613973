// What the page, the worker and Node know of this demo alike.

import { photoNames } from '../shared/photo_names.js';
import { type Rules, oneOf, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

const rules = {
  /** Judged on, and never trained on. */
  held: oneOf(photoNames, 'coffee', 'photograph held back'),
  features: whole(4, 64, 24),
  /** Channels of the convolutions over four axes; multiples of 4 are fast. */
  width: whole(1, 32, 8, 'channels in 4-D'),
  batch: whole(1, 16, 4, 'pairs a step'),
} satisfies Rules;

export type MatchingRules = typeof rules;

export const facts: Facts<MatchingRules> = {
  name: 'matching',
  unit: 'pairs',
  curves: ['consensus', 'plain'],
  rules,
  defaults: { steps: 400, lr: 3e-3 },
};

/** Pixels of a view's side, and cells of the grid that is laid over it. */
export const pixels = 96;
export const side = 12;
