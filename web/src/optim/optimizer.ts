// What all optimizers share: the parameter list, zeroGrad, and minimize. The update itself is a fused op of the core.

import { backward, noGrad } from '../autograd.js';
import { failure } from '../errors.js';
import { keep, scope } from '../scope.js';
import { Tensor } from '../tensor.js';

/** A loss of one element, alone or with other results. */
export type LossResult = Tensor | { readonly loss: Tensor };

/** The same with the loss as a number. */
export type Minimized<R> = R extends Tensor ? number : Omit<R, 'loss'> & { loss: number };

export interface MinimizeOptions {
  /** Scale all gradients so that their joint 2-norm is at most this. */
  readonly clipNorm?: number;
  /** Only add gradients up: no zeroGrad before, no step after. Default false. */
  readonly accumulate?: boolean;
}

/** A parameter that has a gradient, and its number. */
export interface Active {
  readonly index: number;
  readonly param: Tensor;
  readonly grad: Tensor;
}

/** Base of the optimizers. */
export abstract class Optimizer {
  protected readonly params: readonly Tensor[];

  /** @param params leaves that require grad, e.g. `net.parameters()` */
  protected constructor(name: string, params: Iterable<Tensor>) {
    this.params = [...params];
    if (this.params.length === 0) throw failure(name, 'argument', 'there are no parameters to optimise');
    const wrong = this.params.findIndex((p) => !(p instanceof Tensor) || !p.requiresGrad || !p.isLeaf);
    if (wrong >= 0)
      throw failure(name, 'argument', `parameter ${wrong} is not a leaf tensor that requires grad`);
  }

  /** The rate of the next step; settable, for schedules. */
  abstract lr: number;

  /** Updates every parameter that has a gradient. */
  step(): void {
    noGrad(() => {
      scope(() => {
        const active: Active[] = [];
        this.params.forEach((param, index) => {
          const grad = param.grad;
          if (grad) active.push({ index, param, grad });
        });
        if (active.length > 0) this.update(active);
      });
    });
  }

  /** Calls the fused update; runs in a scope, without recording. */
  protected abstract update(active: readonly Active[]): void;

  /** Forgets the gradients. */
  zeroGrad(): void {
    for (const param of this.params) param.grad = null;
  }

  /**
   * One training step: zeroGrad, the function, backward, step, in a scope of its own.
   *
   * @param fn gives the loss (one element), or an object with it as `loss`
   * @returns the loss as a number; or the object with loss as a number, its other tensors kept for the caller's scope
   */
  minimize<R extends LossResult>(
    fn: () => R,
    { clipNorm, accumulate = false }: MinimizeOptions = {},
  ): Minimized<R> {
    return scope(() => {
      if (!accumulate) this.zeroGrad();
      const result = fn();
      const loss = result instanceof Tensor ? result : result.loss;
      if (!(loss instanceof Tensor))
        throw failure('minimize', 'argument', 'the function must return its loss, a Tensor');
      const value = loss.item();
      backward(loss);
      if (!accumulate) {
        if (clipNorm !== undefined) clipGradNorm(this.params, clipNorm);
        this.step();
      }
      return (result instanceof Tensor ? value : Object.assign({}, result, { loss: value })) as Minimized<R>;
    });
  }

  /** Frees the state. */
  dispose(): void {
    for (const tensor of this.stateTensors()) tensor.dispose();
  }

  protected abstract stateTensors(): Iterable<Tensor>;
}

/** Scales the gradients in place so that their joint 2-norm is at most `maxNorm`. Returns the norm they had. */
export function clipGradNorm(params: Iterable<Tensor>, maxNorm: number): number {
  return noGrad(() =>
    scope(() => {
      const grads = Array.from(params, (p) => p.grad).filter((g) => g !== null);
      const total = Math.sqrt(grads.reduce((sum, g) => sum + g.square().sum().item(), 0));
      const factor = maxNorm / (total + 1e-6);
      if (factor < 1) for (const g of grads) g.copy_(g.mul(factor));
      return total;
    }),
  );
}

/** State tensors by parameter, made when first needed and freed by no scope. */
export class StateSlots {
  readonly #slots = new Map<number, Tensor>();

  get(index: number, make: () => Tensor): Tensor {
    let tensor = this.#slots.get(index);
    if (!tensor) this.#slots.set(index, (tensor = keep(make())));
    return tensor;
  }
  values(): Iterable<Tensor> {
    return this.#slots.values();
  }
}

/** Steps taken by each parameter. Those that lacked a gradient at times are behind, so a step goes in groups. */
export class StepCounts {
  readonly #counts = new Map<number, number>();

  /** Counts one more step for each, and groups them by their count. */
  next(active: readonly Active[]): Map<number, Active[]> {
    const groups = new Map<number, Active[]>();
    for (const item of active) {
      const step = (this.#counts.get(item.index) ?? 0) + 1;
      this.#counts.set(item.index, step);
      const group = groups.get(step);
      if (group) group.push(item);
      else groups.set(step, [item]);
    }
    return groups;
  }
}
