// A small decoder-only transformer that writes like Moby Dick, one character after another.
// usage: npm run train -- gpt [--steps N] [--batch N] [--seed N] [--resume]

import { arange } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import { AdamW, OneCycleLR } from 'omnigrad/optim';
import { begin, run } from './session.mjs';
import { book, trainOnBook } from './text.mjs';

const width = 64;

class CharGpt extends nn.Module {
  constructor(letters, { size, heads, layers }) {
    super();
    this.embedding = new nn.Embedding(letters, size);
    this.position = new nn.Embedding(width, size);
    nn.init.normal_(this.embedding.weight, 0, 0.02);
    nn.init.normal_(this.position.weight, 0, 0.02);
    const layer = () =>
      new nn.TransformerEncoderLayer(size, heads, {
        ...{ dimFeedforward: 4 * size, dropout: 0, activation: 'gelu', batchFirst: true, normFirst: true },
      });
    this.body = new nn.TransformerEncoder(layer, layers, { norm: new nn.LayerNorm(size) });
    this.head = new nn.Linear(size, letters, { bias: false });
  }
  /** int32 [N, T], T at most `width`, to logits [N, T, letters] */
  forward(x) {
    const places = arange(0, x.shape[1], 1, { dtype: 'int32' });
    const h = this.embedding.call(x).add(this.position.call(places));
    return this.head.call(this.body.call(h, { isCausal: true }));
  }
}

run(async () => {
  const begun = performance.now();
  const session = await begin('gpt', { steps: 1000, batch: 32 });
  const text = book();
  const model = new CharGpt(text.letters.length, { size: 128, heads: 4, layers: 2 });
  const optimizer = new AdamW(model.parameters(), { lr: 2e-3, betas: [0.9, 0.99], weightDecay: 0.1 });
  const schedule = new OneCycleLR(optimizer, {
    maxLr: 3e-3,
    totalSteps: session.flags.steps + 1,
    pctStart: 0.1,
  });
  await trainOnBook('gpt', { model, text, optimizer, schedule, width, session, begun });
});
