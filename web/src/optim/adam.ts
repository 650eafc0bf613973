// Adam and AdamW, in PyTorch's form.

import { zerosLike } from '../create.js';
import { adamStep } from '../ops.generated.js';
import type { Tensor } from '../tensor.js';
import { type Active, Optimizer, StateSlots, StepCounts } from './optimizer.js';

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

/** Adam (Kingma, Ba 2014). */
export class Adam extends Optimizer {
  lr: number;
  readonly #fixed: Readonly<Record<'beta1' | 'beta2' | 'eps' | 'weightDecay', number>> &
    Readonly<Record<'amsgrad' | 'maximize' | 'decoupled', boolean>>;
  readonly #means = new StateSlots();
  readonly #squares = new StateSlots();
  readonly #maxSquares = new StateSlots();
  readonly #steps = new StepCounts();

  constructor(params: Iterable<Tensor>, options: AdamOptions = {}, decoupled = false) {
    super(decoupled ? 'AdamW' : 'Adam', params);
    const { lr = 1e-3, betas = [0.9, 0.999], eps = 1e-8, amsgrad = false, maximize = false } = options;
    const weightDecay = options.weightDecay ?? (decoupled ? 0.01 : 0);
    this.lr = lr;
    this.#fixed = { beta1: betas[0], beta2: betas[1], eps, weightDecay, amsgrad, maximize, decoupled };
  }

  protected update(active: readonly Active[]): void {
    for (const [step, group] of this.#steps.next(active)) {
      const state = (slots: StateSlots): Tensor[] =>
        group.map(({ index, param }) => slots.get(index, () => zerosLike(param)));
      adamStep(
        group.map(({ param }) => param),
        group.map(({ grad }) => grad),
        state(this.#means),
        state(this.#squares),
        {
          ...this.#fixed,
          ...(this.#fixed.amsgrad ? { maxSquares: state(this.#maxSquares) } : {}),
          lr: this.lr,
          step,
        },
      );
    }
  }

  protected *stateTensors(): Iterable<Tensor> {
    for (const slots of [this.#means, this.#squares, this.#maxSquares]) yield* slots.values();
  }
}

/** Adam with decay of the parameters instead of an L2 penalty (Loshchilov, Hutter 2017). */
export class AdamW extends Adam {
  constructor(params: Iterable<Tensor>, options: AdamOptions = {}) {
    super(params, options, true);
  }
}
