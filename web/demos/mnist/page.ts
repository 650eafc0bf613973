// First network: what it reads in ten digits as it learns, and at the end what it still gets wrong.

import { find, show } from '../shared/dom.js';
import { mountDemo } from '../shared/page.js';
import { digitRow } from './digits.js';
import { type MnistRules, facts } from './facts.js';
import type { MnistView } from './task.js';

mountDemo<MnistRules, MnistView, Record<string, never>>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [{ title: 'loss (cross-entropy)', curves: { loss: 'loss' }, range: [0, 0.5] }],
  draw({ digits, wrong }) {
    digitRow(find('digits'), digits);
    find('wrong-section').hidden = !wrong || wrong.count === 0;
    if (!wrong) return;
    const { count, first } = wrong;
    const some = count > first.length;
    show('wrong-text', `${count.toLocaleString('en')} of 10,000 test digits${some ? `. The first ${first.length} of them:` : ':'}`); // prettier-ignore
    digitRow(find('wrong'), first, true);
  },
});
