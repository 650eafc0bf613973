// Functions whose gradient is written in JavaScript.

import { noGrad } from './autograd.js';
import { tensorHandle } from './dispatch.js';
import { failure, shown } from './errors.js';
import { aTensor, checkValue, func } from './options.js';
import { type Runtime, runtime } from './runtime.js';
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
    record(rt, inputs, [result], ([cotangent], context) => {
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
      return grads as unknown[];
    });
    return result;
  };
}

/**
 * The same tensors, recorded once more, so that `seen` is told their gradients (null: none) on the way back, all at
 * once; what it returns goes on in their place.
 */
export function intercept(
  tensors: readonly Tensor[],
  seen: (grads: (Tensor | null)[]) => readonly (Tensor | null)[],
): Tensor[] {
  if (tensors.length === 0) return [];
  const passed = tensors.map((x) => x.detach());
  record(runtime('intercept'), tensors, passed, seen);
  return passed;
}

// Records `outputs` as made of `inputs`. `backward` gets cotangents of the outputs, and inputs and outputs as handles of
// its own; it gives one gradient (or null) an input.
function record(
  rt: Runtime,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  backward: (cotangents: (Tensor | null)[], context: Tensor[]) => readonly unknown[],
): void {
  rt.scratch.set([...inputs, ...outputs].map((x) => handleOf(x, 'customGrad')));
  const count = outputs.length;
  const pullBack = (): void => {
    // Handles of this call alone: tensors of the scope, freed with it.
    const given = Array.from(rt.scratch.subarray(0, inputs.length + 2 * count));
    scope(() => {
      const own = given.map((handle) => (handle === 0 ? null : wrap(handle)));
      const grads = backward(own.slice(0, count), own.slice(count) as Tensor[]);
      const handles = grads.map((g, i) => {
        if (g === null || g === undefined) return 0;
        return tensorHandle('customGrad', `gradient ${i}`, g);
      });
      const aliases = handles.map((handle) =>
        handle === 0 ? 0 : rt.answer(rt.module.alias(handle), 'customGrad'),
      );
      rt.scratch.set(aliases); // a view of the memory as it is now: aliases may have made it grow
    });
  };
  rt.check(rt.module.customGrad(inputs.length, count, pullBack), 'customGrad');
}
