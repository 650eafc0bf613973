// Resilient backpropagation, in PyTorch's form, composed of ops: it is for full batches, where a step's cost is the loss's.

import { full } from '../create.js';
import { where } from '../ops.generated.js';
import { type Active, Optimizer, type Params, type Settings } from './optimizer.js';

export interface RpropOptions {
  /** The size that each element's steps start with; later changes of it do nothing. Default 0.01. */
  readonly lr?: number;
  /** Factors of a size: where the gradient's sign turned, and where it stayed; default [0.5, 1.2]. */
  readonly etas?: readonly [number, number];
  /** Least and largest size of a step; default [1e-6, 50]. */
  readonly stepSizes?: readonly [number, number];
  /** Go up instead of down. */
  readonly maximize?: boolean;
}

/**
 * Steps by the sign of the gradient alone, of a size that each element has of its own (Riedmiller, Braun 1993). Where the
 * sign turned there is no step. For gradients of the whole data set: those of batches turn too often.
 */
export class Rprop extends Optimizer<RpropOptions> {
  constructor(params: Params<RpropOptions>, options: RpropOptions = {}) {
    const plain: Settings<RpropOptions> = {
      lr: 0.01,
      etas: [0.5, 1.2],
      stepSizes: [1e-6, 50],
      maximize: false,
    };
    super('Rprop', params, plain, options);
  }

  protected update(options: Settings<RpropOptions>, active: readonly Active[]): void {
    const { lr, etas, stepSizes, maximize } = options;
    const before = this.state(active, 'prev');
    const sizes = this.state(active, 'stepSize', (p) => full(p.shape, lr, { dtype: p.dtype }));
    active.forEach(({ param, grad }, i) => {
      const [prev, size] = [before[i], sizes[i]] as [typeof param, typeof param];
      const g = maximize ? grad.neg() : grad;
      const turn = g.mul(prev).sign();
      const turned = turn.lt(0);
      const factor = where(turned, etas[0], where(turn.gt(0), etas[1], turn.add(1)));
      size.copy_(size.mul(factor).clamp(...stepSizes));
      prev.copy_(where(turned, 0, g));
      param.copy_(param.sub(prev.sign().mul(size)));
    });
  }
}
