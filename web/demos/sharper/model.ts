// The network that doubles a picture: what an interpolation gives, and what it lacks, learnt.

import { type Tensor, leakyRelu, scope } from 'omnigrad';
import * as nn from 'omnigrad/nn';
import type { Base } from './facts.js';

const slope = 0.1;

/** One value a pixel [N, 1, H, W] to [N, 1, 2H, 2W]. It begins as the plain interpolation: its last weights are zero. */
export class SharperNet extends nn.Module {
  readonly #base: nn.Interpolate;
  readonly first: nn.Conv2d;
  readonly second: nn.Conv2d;
  readonly third: nn.Conv2d;
  /** Resizes the features, so that what is learnt before it is learnt through its gradient. */
  readonly grow: nn.Interpolate;
  readonly last: nn.Conv2d;

  constructor(base: Base, width: number) {
    super();
    this.#base = new nn.Interpolate({ scaleFactor: 2, mode: base });
    this.first = new nn.Conv2d(1, width, 3, { padding: 1 });
    this.second = new nn.Conv2d(width, width, 3, { padding: 1 });
    this.third = new nn.Conv2d(width, width, 3, { padding: 1 });
    this.grow = new nn.Interpolate({ scaleFactor: 2, mode: base });
    this.last = new nn.Conv2d(width, 1, 5, { padding: 2 });
    for (const layer of [this.first, this.second, this.third]) {
      nn.init.kaimingNormal_(layer.weight, { a: slope });
      if (layer.bias) nn.init.zeros_(layer.bias);
    }
    nn.init.zeros_(this.last.weight);
    if (this.last.bias) nn.init.zeros_(this.last.bias);
  }

  forward(x: Tensor): Tensor {
    return this.base(x).add(this.rest(x));
  }

  /** Plain interpolation, of any number of channels. */
  base(x: Tensor): Tensor {
    return this.#base.call(x);
  }

  /** What the interpolation lacks. */
  rest(x: Tensor): Tensor {
    return scope(() => {
      const low = leakyRelu(this.first.call(x.sub(0.5)), { negativeSlope: slope });
      const middle = leakyRelu(this.second.call(low), { negativeSlope: slope });
      const deep = leakyRelu(this.third.call(middle), { negativeSlope: slope });
      return this.last.call(this.grow.call(deep));
    });
  }
}
