// Read the line: draws strips and how the network aligns them; takes a line of the visitor's.

import { find, show } from '../shared/dom.js';
import { pad } from '../shared/pad.js';
import { mountDemo } from '../shared/page.js';
import { StripView } from './alignment.js';
import { type LinesRules, facts, height, width } from './facts.js';
import type { LinesAnswers, LinesView } from './task.js';

const strips: StripView[] = [];

const demo = mountDemo<LinesRules, LinesView, LinesAnswers>({
  facts,
  worker: () => new Worker(new URL('worker.js', import.meta.url), { type: 'module' }),
  charts: [
    { title: 'loss (CTC, nats)', curves: { loss: 'loss' }, range: [0, 4] },
    {
      title: 'character error rate',
      curves: { errors: 'test strips' },
      range: [0, 1],
      text: (share) => `${(100 * share).toFixed(1)} %`,
    },
  ],
  draw(view) {
    view.forEach((strip, i) => {
      let shown = strips[i];
      if (!shown) {
        strips.push((shown = new StripView()));
        find('strips').append(shown.element);
      }
      shown.show(strip);
    });
    void readOwn();
  },
});

const own = new StripView(false);
own.element.hidden = true;
find('own').append(own.element);

const line = pad(find('pad'), {
  columns: width,
  rows: height,
  brush: 1.1,
  label: 'Your line of digits',
  changed() {
    void readOwn();
  },
});

let reading = false;
let again = false;

/** Asks what the network reads in the visitor's line; once more if the line changed meanwhile. */
async function readOwn(): Promise<void> {
  const ink = Uint8Array.from(line.ink, (share) => Math.round(255 * share));
  own.element.hidden = !ink.some((value) => value > 0);
  if (own.element.hidden) {
    show('own-text', 'Nothing is written yet.');
    return;
  }
  if (!['ready', 'training', 'paused', 'done'].includes(demo.state)) return;
  again = reading;
  if (reading) return;
  reading = true;
  const answer = await demo.ask('read', ink);
  reading = false;
  if (answer) {
    own.show(answer);
    show(
      'own-text',
      answer.text === '' ? 'The network reads nothing in it.' : `The network reads ${answer.text}.`,
    );
  }
  if (again) await readOwn();
}

let seed = 0;
find<HTMLFormElement>('typed').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = find<HTMLInputElement>('digits').value;
  void demo.ask('write', { text, seed: seed++ }).then((strip) => {
    if (!strip) return;
    line.set(Array.from(strip.pixels, (ink) => ink / 255));
    void readOwn();
  });
});
find('clear').addEventListener('click', () => {
  line.clear();
});
