// Digits that bend: draws what both networks read, and where the deformable one looks.

import { mountDemo } from '../shared/page.js';
import { facts } from './facts.js';
import type { BendAnswers, BendView } from './task.js';
import type { BendRules } from './facts.js';

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

mountDemo<BendRules, BendView, BendAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (cross-entropy)', curves: { loss: 'deformable', plain: 'plain' }, range: [0, 0.5] },
    {
      title: 'test digits read right',
      curves: { right: 'deformable', plainRight: 'plain' },
      range: [0.8, 1],
      text: percent,
    },
  ],
  draw(view) {
    document.body.dataset.digits = String(view.length);
  },
});
