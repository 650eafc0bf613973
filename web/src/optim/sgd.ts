// Stochastic gradient descent, in PyTorch's form.

import { zerosLike } from '../create.js';
import { sgdStep } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { type Active, Optimizer, StateSlots, StepCounts } from './optimizer.js';

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
export class SGD extends Optimizer {
  lr: number;
  readonly #options: Omit<Required<SgdOptions>, 'lr'>;
  readonly #velocities = new StateSlots();
  readonly #steps = new StepCounts();

  constructor(params: Iterable<Tensor>, options: SgdOptions = {}) {
    super('SGD', params);
    const {
      lr = 1e-3,
      momentum = 0,
      dampening = 0,
      weightDecay = 0,
      nesterov = false,
      maximize = false,
    } = options;
    this.lr = lr;
    this.#options = { momentum, dampening, weightDecay, nesterov, maximize };
  }

  protected update(active: readonly Active[]): void {
    for (const [step, group] of this.#steps.next(active)) {
      const velocities =
        this.#options.momentum === 0
          ? {}
          : {
              velocities: group.map(({ index, param }) =>
                this.#velocities.get(index, () => zerosLike(param)),
              ),
            };
      sgdStep(
        group.map(({ param }) => param),
        group.map(({ grad }) => grad),
        { ...this.#options, ...velocities, lr: this.lr, step },
      );
    }
  }

  protected stateTensors(): Iterable<Tensor> {
    return this.#velocities.values();
  }
}
