// A decoder-only transformer of characters, small enough for a page (Vaswani et al. 2017; norms first, as in GPT-2).

import { type Tensor, arange } from 'omnigrad';
import * as nn from 'omnigrad/nn';

export type Cache = ReturnType<nn.TransformerEncoder['newCache']>;

export interface Sizes {
  /** How many different characters there are. */
  readonly letters: number;
  /** The most characters that it sees. */
  readonly context: number;
  readonly layers: number;
  /** Of attention, 32 features each. */
  readonly heads: number;
}

export class CharGpt extends nn.Module {
  readonly letter: nn.Embedding;
  readonly place: nn.Embedding;
  readonly body: nn.TransformerEncoder;
  readonly head: nn.Linear;
  readonly context: number;
  readonly letters: number;

  constructor({ letters, context, layers, heads }: Sizes) {
    super();
    const size = 32 * heads;
    this.context = context;
    this.letters = letters;
    this.letter = new nn.Embedding(letters, size);
    this.place = new nn.Embedding(context, size);
    for (const { weight } of [this.letter, this.place]) nn.init.normal_(weight, 0, 0.02);
    const layer = (): nn.TransformerEncoderLayer =>
      new nn.TransformerEncoderLayer(size, heads, {
        ...{ dimFeedforward: 4 * size, dropout: 0, activation: 'gelu' as const },
        ...{ batchFirst: true, normFirst: true },
      });
    this.body = new nn.TransformerEncoder(layer, layers, { norm: new nn.LayerNorm(size) });
    this.head = new nn.Linear(size, letters, { bias: false });
  }

  /** int32 or int64 [N, T], T at most `context`, to [N, T, letters]: scores of the character that follows each. */
  forward(x: Tensor): Tensor {
    return this.goOn(x);
  }

  /**
   * The same for characters that go on from earlier calls, `context` in all; in noGrad.
   *
   * @param cache keys and values of the characters before; takes in those of x
   */
  goOn(x: Tensor, cache?: Cache): Tensor {
    const [, length = 0] = x.shape;
    const before = cache?.layers[0]?.length ?? 0;
    const places = this.place.call(arange(before, before + length, 1, { dtype: 'int64' }));
    const seen = this.letter.call(x).add(places);
    return this.head.call(this.body.call(seen, { isCausal: true, cache }));
  }

  /** The matrices between the embeddings and the head: what Muon is for. */
  get hidden(): Tensor[] {
    return [...this.body.parameters()].filter((parameter) => parameter.ndim === 2);
  }
}
