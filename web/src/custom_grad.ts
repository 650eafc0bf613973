// Functions whose gradient is written in JavaScript.

import { noGrad } from './autograd.js';
import { tensorHandle } from './dispatch.js';
import { failure, shown } from './errors.js';
import { aTensor, checkValue, func } from './options.js';
import { runtime } from './runtime.js';
import { scope } from './scope.js';
import { Tensor, handleOf, wrap } from './tensor.js';

/** What the backward function is told besides the cotangents. */
export interface CustomGradContext<A extends Tensor[]> {
  readonly inputs: A;
  readonly output: Tensor;
}

/**
 * A function that computes `forward` and takes its gradients from `backward`. Both synchronous. Written in ops, the
 * backward function is differentiable itself.
 *
 * @param forward from tensors to one tensor; not recorded
 * @param backward from the output's cotangent to one gradient an input, null for none
 */
export function customGrad<A extends Tensor[]>(
  forward: (...inputs: A) => Tensor,
  backward: (cotangent: Tensor, context: CustomGradContext<A>) => readonly (Tensor | null)[],
): (...inputs: A) => Tensor {
  checkValue('customGrad', 'forward', forward, func);
  checkValue('customGrad', 'backward', backward, func);
  return (...inputs) => {
    const rt = runtime('customGrad');
    inputs.forEach((x, i) => {
      checkValue('customGrad', `input ${i}`, x, aTensor);
    });
    const made: unknown = noGrad(() => scope(() => forward(...inputs)));
    if (!(made instanceof Tensor)) throw failure('customGrad', 'argument', 'forward must return a Tensor');
    // An input handed through would be recorded as its own child.
    const result = inputs.includes(made) ? made.detach() : made;
    rt.scratch.set([...inputs, result].map((x) => handleOf(x, 'customGrad')));
    const pullBack = (): void => {
      // Handles of this call alone: tensors of the scope, freed with it.
      const given = Array.from(rt.scratch.subarray(0, inputs.length + 2));
      scope(() => {
        const [cotangent, ...context] = given.map((handle) => wrap(handle));
        const grads: unknown = backward(cotangent as Tensor, {
          inputs: context.slice(0, -1) as A,
          output: context.at(-1) as Tensor,
        });
        if (!Array.isArray(grads)) {
          const text = `backward must return a list, one gradient (or null) an input; it returned ${shown(grads)}`;
          throw failure('customGrad', 'argument', text);
        }
        if (grads.length !== inputs.length) {
          const text = `backward returned ${grads.length} gradients for ${inputs.length} inputs; one each`;
          throw failure('customGrad', 'argument', text);
        }
        const handles = grads.map((g: unknown, i) => {
          if (g === null || g === undefined) return 0;
          return tensorHandle('customGrad', `gradient ${i}`, g);
        });
        const aliases = handles.map((handle) => (handle === 0 ? 0 : rt.module.alias(handle)));
        rt.scratch.set(aliases); // a view of the memory as it is now: aliases may have made it grow
      });
    };
    rt.check(rt.module.customGrad(inputs.length, 1, pullBack), 'customGrad');
    return result;
  };
}
