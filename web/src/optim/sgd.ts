// Stochastic gradient descent, in PyTorch's form.

import { sgdStep } from '../ops.generated.js';
import { type Active, Optimizer, type Params, type Settings, gradsOf, paramsOf } from './optimizer.js';

export interface SgdOptions {
  /** Rate; default 1e-3. */
  readonly lr?: number;
  /** Share of the last step; default 0. */
  readonly momentum?: number;
  /** Of the gradient's part in the momentum; default 0. */
  readonly dampening?: number;
  /** L2 penalty; default 0. */
  readonly weightDecay?: number;
  readonly nesterov?: boolean;
  /** Go up instead of down. */
  readonly maximize?: boolean;
}

/** v = momentum v + (1 - dampening) g; p -= lr v. */
export class SGD extends Optimizer<SgdOptions> {
  constructor(params: Params<SgdOptions>, options: SgdOptions = {}) {
    const plain = { lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false, maximize: false };
    super('SGD', params, plain, options);
  }

  protected update(options: Settings<SgdOptions>, active: readonly Active[], step: number): void {
    const velocities = options.momentum === 0 ? null : this.state(active, 'momentumBuffer');
    sgdStep(paramsOf(active), gradsOf(active), { ...options, velocities, step });
  }
}
