// Bounds on gradients, in place.

import { noGrad } from '../autograd.js';
import { aTensor, atLeastZero, checkOptions, checkValue, items, positive } from '../options.js';
import { math } from '../runtime.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';

function gradients(op: string, params: Iterable<Tensor>, bound: number): Tensor[] {
  checkValue(op, op === 'clipGradNorm' ? 'maxNorm' : 'clipValue', bound, atLeastZero);
  return items(op, 'params', params, 'a list of tensors')
    .map((p) => {
      checkValue(op, 'each of params', p, aTensor);
      return (p as Tensor).grad;
    })
    .filter((g) => g !== null);
}

/**
 * Scales the gradients so that their joint norm is at most `maxNorm`. Returns the norm they had; where it is not finite,
 * nothing is scaled.
 *
 * @param options `normType`: of the norm, Infinity for the largest size; default 2
 */
export function clipGradNorm(
  params: Iterable<Tensor>,
  maxNorm: number,
  options: { readonly normType?: number } = {},
): number {
  checkOptions('clipGradNorm', options, { normType: positive });
  const { normType = 2 } = options;
  return noGrad(() =>
    scope(() => {
      const grads = gradients('clipGradNorm', params, maxNorm).filter((g) => g.numel > 0);
      const total = jointNorm(grads, normType);
      const factor = maxNorm / (total + 1e-6);
      if (factor < 1 && total < Infinity) for (const g of grads) g.copy_(g.mul(factor));
      return total;
    }),
  );
}

function jointNorm(grads: readonly Tensor[], p: number): number {
  if (p === Infinity) return grads.reduce((most, g) => Math.max(most, g.abs().amax().item()), 0);
  const powers = grads.map((g) => (p === 2 ? g.square() : g.abs().pow(p)).sum().item());
  const sum = powers.reduce((total, part) => total + part, 0);
  return p === 2 ? Math.sqrt(sum) : math('pow', sum, 1 / p);
}

/** Clamps every element of the gradients to [-clipValue, clipValue]. */
export function clipGradValue(params: Iterable<Tensor>, clipValue: number): void {
  noGrad(() => {
    scope(() => {
      for (const g of gradients('clipGradValue', params, clipValue))
        g.copy_(g.maximum(-clipValue).minimum(clipValue));
    });
  });
}
