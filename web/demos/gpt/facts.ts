// What the page, the worker and Node know of this demo alike.

import { type Rules, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

const rules = {
  batch: whole(1, 256, 32, 'passages a step'),
  context: whole(16, 256, 64, 'characters it sees'),
  layers: whole(1, 8, 2),
  /** Of 32 features each. */
  heads: whole(1, 8, 3, 'attention heads'),
} satisfies Rules;

export type GptRules = typeof rules;

export const facts: Facts<GptRules> = {
  name: 'gpt',
  unit: 'characters',
  curves: ['heldOut'],
  rules,
  defaults: { steps: 300, lr: 0.01 },
};

/** Nats a character that a trigram model has on the last tenth, its counts (with one added) from the other nine. */
export const trigram = 2.01;
