// What the page, the worker and Node know of this demo alike.

import { type Rules, whole } from '../shared/settings.js';
import type { Facts } from '../shared/task.js';

const rules = { batch: whole(1, 4096, 64, 'images a step') } satisfies Rules;

export type MnistRules = typeof rules;

export const facts: Facts<MnistRules> = {
  name: 'mnist',
  unit: 'images',
  curves: [],
  rules,
  defaults: { steps: 1500, lr: 4e-3 },
};
