// Adam and AdamW, in PyTorch's form.

import { adamStep } from '../ops.generated.js';
import { type Active, Optimizer, type Params, type Settings, gradsOf, paramsOf } from './optimizer.js';

export interface AdamOptions {
  /** Rate; default 1e-3. */
  readonly lr?: number;
  /** Decays of the running means of gradients and of their squares; default [0.9, 0.999]. */
  readonly betas?: readonly [number, number];
  /** Added to the root; default 1e-8. */
  readonly eps?: number;
  /** L2 penalty (Adam, default 0) or decay of the parameters (AdamW, default 0.01). */
  readonly weightDecay?: number;
  /** Divide by the greatest square so far. */
  readonly amsgrad?: boolean;
  /** Go up instead of down. */
  readonly maximize?: boolean;
}

abstract class AdamBase extends Optimizer<AdamOptions> {
  protected abstract readonly decoupled: boolean;

  protected constructor(
    name: string,
    params: Params<AdamOptions>,
    weightDecay: number,
    options: AdamOptions,
  ) {
    const betas = [0.9, 0.999] as const;
    super(
      name,
      params,
      { lr: 1e-3, betas, eps: 1e-8, weightDecay, amsgrad: false, maximize: false },
      options,
    );
  }

  protected update(options: Settings<AdamOptions>, active: readonly Active[], step: number): void {
    const { betas, ...rest } = options;
    const [beta1, beta2] = betas;
    const maxSquares = options.amsgrad ? this.state(active, 'maxExpAvgSq') : null;
    const [means, squares] = [this.state(active, 'expAvg'), this.state(active, 'expAvgSq')];
    const decoupled = this.decoupled;
    const all = { ...rest, beta1, beta2, maxSquares, decoupled, step };
    adamStep(paramsOf(active), gradsOf(active), means, squares, all);
  }
}

/** Adam (Kingma, Ba 2014). */
export class Adam extends AdamBase {
  protected readonly decoupled = false;
  constructor(params: Params<AdamOptions>, options: AdamOptions = {}) {
    super('Adam', params, 0, options);
  }
}

/** Adam with decay of the parameters instead of an L2 penalty (Loshchilov, Hutter 2017). */
export class AdamW extends AdamBase {
  protected readonly decoupled = true;
  constructor(params: Params<AdamOptions>, options: AdamOptions = {}) {
    super('AdamW', params, 0.01, options);
  }
}
