// The network: sines all the way (Sitzmann et al. 2020, "Implicit neural representations with periodic activation
// functions"), since its derivatives are to look like something: they are sines too.

import { type Tensor, grad } from 'omnigrad';
import * as nn from 'omnigrad/nn';

/** sin(w0 (W x + b)). */
class SineLayer extends nn.Module {
  readonly linear: nn.Linear;
  readonly #w0: number;

  /** @param bound weights are uniform within it; with the paper's, activations keep their spread through the layers */
  constructor(inputs: number, outputs: number, w0: number, bound: number) {
    super();
    this.linear = new nn.Linear(inputs, outputs);
    nn.init.uniform_(this.linear.weight, -bound, bound);
    this.#w0 = w0;
  }
  forward(x: Tensor): Tensor {
    return this.linear.call(x).mul(this.#w0).sin();
  }
}

export interface SineOptions {
  /** Coordinates of a point. */
  readonly inputs: number;
  readonly width: number;
  /** Frequency scale: how fine a picture is at hand from the start. */
  readonly w0: number;
}

/** Points [N, inputs] with coordinates from -1 to 1 to values [N]: three layers of sines and a linear one. */
export class SineNet extends nn.Module {
  readonly layers: nn.Sequential;
  readonly head: nn.Linear;

  constructor({ inputs, width, w0 }: SineOptions) {
    super();
    const later = Math.sqrt(6 / width) / w0;
    this.layers = new nn.Sequential(
      new SineLayer(inputs, width, w0, 1 / inputs),
      new SineLayer(width, width, w0, later),
      new SineLayer(width, width, w0, later),
    );
    this.head = new nn.Linear(width, 1);
    nn.init.uniform_(this.head.weight, -later, later);
  }
  forward(x: Tensor): Tensor {
    return this.head.call(this.layers.call(x)).reshape([-1]);
  }
}

/** du/dx [N, D] of values u [N] of points x [N, D], each of its own point; it can be differentiated again. */
export function gradient(u: Tensor, x: Tensor): Tensor {
  return grad(u.sum(), [x], { createGraph: true })[0] as Tensor;
}

/** d2u/dx_i^2 [N] for a coordinate i, of a gradient [N, D]. */
export function second(slope: Tensor, x: Tensor, i: number): Tensor {
  return gradient(slope.at(':', i), x).at(':', i);
}
