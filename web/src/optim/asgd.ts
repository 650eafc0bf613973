// Averaged stochastic gradient descent, in PyTorch's form, composed of ops.

import { type Active, Optimizer, type Params, type Settings } from './optimizer.js';
import { power } from './schedule.js';

export interface AsgdOptions {
  /** Rate of the first step; default 0.01. */
  readonly lr?: number;
  /** Decay of the parameters, and of the rate; default 1e-4. */
  readonly lambd?: number;
  /** Power of the rate's decay; default 0.75. */
  readonly alpha?: number;
  /** Steps after which averaging begins; default 1e6. */
  readonly t0?: number;
  /** L2 penalty; default 0. */
  readonly weightDecay?: number;
  /** Go up instead of down. */
  readonly maximize?: boolean;
}

/**
 * Descent by a rate lr / (1 + lambd lr (step - 1))^alpha that also keeps the parameters' mean since step t0 (Polyak,
 * Juditsky 1992). The mean is `ax` of each parameter in `stateDict().state`: copy it into the parameters when done.
 */
export class ASGD extends Optimizer<AsgdOptions> {
  constructor(params: Params<AsgdOptions>, options: AsgdOptions = {}) {
    const plain = { lr: 0.01, lambd: 1e-4, alpha: 0.75, t0: 1e6, weightDecay: 0, maximize: false };
    super('ASGD', params, plain, options);
  }

  protected update(options: Settings<AsgdOptions>, active: readonly Active[], step: number): void {
    const { lr, lambd, alpha, t0, weightDecay, maximize } = options;
    const rate = lr / power(1 + lambd * lr * (step - 1), alpha);
    const share = 1 / Math.max(1, step - 1 - t0);
    const means = this.state(active, 'ax');
    active.forEach(({ param, grad }, i) => {
      const mean = means[i] as typeof param;
      const up = maximize ? grad.neg() : grad;
      const g = weightDecay === 0 ? up : up.add(param.mul(weightDecay));
      param.copy_(param.mul(1 - lambd * rate).sub(g.mul(rate)));
      mean.copy_(share === 1 ? param : mean.add(param.sub(mean).mul(share)));
    });
  }
}
