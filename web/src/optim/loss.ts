// The function of a `minimize`: what it may give, and what comes of that.

import { failure, shown } from '../errors.js';
import { atLeastZero, boolean, checkValue, either, func, whole } from '../options.js';
import { refusePromise, scope } from '../scope.js';
import { Tensor } from '../tensor.js';

/** A loss of one element, alone or with other results. */
export type LossResult = Tensor | { readonly loss: Tensor };

/** The same with the loss as a number. */
export type Minimized<R> = R extends Tensor ? number : Omit<R, 'loss'> & { loss: number };

export interface MinimizeOptions {
  /** Scale all gradients so that their joint 2-norm is at most this. */
  readonly clipNorm?: number;
  /** Clamp every element of the gradients to this size. */
  readonly clipValue?: number;
  /**
   * A number n: step at every n-th call, with the mean of n gradients. True: only add this gradient to those that wait;
   * the next call without it adds its own and steps. Default false.
   */
  readonly accumulate?: boolean | number;
}

export const minimizeRules = {
  clipNorm: atLeastZero,
  clipValue: atLeastZero,
  accumulate: either(boolean, whole(1)),
};

/** Runs the function of a `minimize`; its result, the loss in it, and that one's value. */
export function evaluate<R extends LossResult>(fn: () => R): { result: R; loss: Tensor; value: number } {
  checkValue('minimize', 'fn', fn, func);
  // In a scope of its own: what the tape does not need is gone before the backward pass, which is when most is held.
  const result: unknown = scope(() => {
    const given: unknown = fn();
    refusePromise('minimize', given, 'await first, and compute the loss in the function');
    return given;
  });
  const inside = typeof result === 'object' && result !== null && 'loss' in result ? result.loss : result;
  const loss = result instanceof Tensor ? result : inside;
  const value = lossValue('minimize', loss);
  return { result: result as R, loss: loss as Tensor, value };
}

/** The value of a loss that a function gave. */
export function lossValue(op: string, loss: unknown): number {
  if (!(loss instanceof Tensor))
    throw failure(op, 'argument', `the function must return its loss, a Tensor; it returned ${shown(loss)}`);
  if (loss.numel !== 1) {
    const shape = `[${loss.shape.join(', ')}]`;
    throw failure(
      op,
      'shape',
      `the loss has shape ${shape}; it must be one element, e.g. by mean() or sum()`,
    );
  }
  return loss.item();
}

/** What `minimize` gives for a result whose loss has this value. */
export function minimized<R extends LossResult>(result: R, value: number): Minimized<R> {
  return (result instanceof Tensor ? value : Object.assign({}, result, { loss: value })) as Minimized<R>;
}
