// A recurrent network that writes like Moby Dick, one character after another.
// usage: npm run train -- gru [--steps N] [--batch N] [--seed N] [--resume]

import * as nn from 'omnigrad/nn';
import { AdamW, OneCycleLR } from 'omnigrad/optim';
import { begin, run } from './session.mjs';
import { book, trainOnBook } from './text.mjs';

const width = 96;

class CharGru extends nn.Module {
  constructor(letters, { embedded, hidden }) {
    super();
    this.embedding = new nn.Embedding(letters, embedded);
    this.gru = new nn.GRU(embedded, hidden, { batchFirst: true });
    this.head = new nn.Linear(hidden, letters);
  }
  /** int32 [N, T] to logits [N, T, letters] */
  forward(x) {
    const [y] = this.gru.call(this.embedding.call(x));
    return this.head.call(y);
  }
}

run(async () => {
  const begun = performance.now();
  const session = await begin('gru', { steps: 1000, batch: 32 });
  const text = book();
  const model = new CharGru(text.letters.length, { embedded: 48, hidden: 256 });
  const optimizer = new AdamW(model.parameters(), { lr: 3e-3, weightDecay: 0.01 });
  const schedule = new OneCycleLR(optimizer, { maxLr: 4e-3, totalSteps: session.flags.steps + 1 });
  await trainOnBook('gru', { model, text, optimizer, schedule, width, session, begun });
});
