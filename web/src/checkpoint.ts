// Trading time for memory, and finding where a gradient goes wrong.

import { failure } from './errors.js';
import { aTensor, checkValue, func } from './options.js';
import { defaultGenerator } from './random.js';
import { runtime } from './runtime.js';
import { refusePromise, scope } from './scope.js';
import { Tensor, handleOf, wrap } from './tensor.js';

let reruns = 0;

/** Whether a checkpointed function runs for the second time: what is counted was counted in the first. */
export function isRerun(): boolean {
  return reruns > 0;
}

/**
 * Runs `fn(...inputs)` keeping none of the tensors that its ops would save for backward; backward runs `fn` once more to
 * have them. Gradients, of any order, have the same bits as without. Draws of the default generator are repeated, and
 * running statistics are left alone in the second run.
 *
 * @param fn from tensors to a tensor or a list; synchronous, and the same each time. Parameters it refers to are fine
 * @returns what `fn` returned
 * @throws OmnigradError `graph` if `fn` does something else the second time, or runs a backward pass itself
 */
export function checkpoint<A extends Tensor[], R extends Tensor | Tensor[]>(
  fn: (...inputs: A) => R,
  ...inputs: A
): R {
  const rt = runtime('checkpoint');
  checkValue('checkpoint', 'fn', fn, func);
  inputs.forEach((x, i) => {
    checkValue('checkpoint', `input ${i}`, x, aTensor);
  });
  const drawn = defaultGenerator().getState();
  let single = true as boolean;
  const run = (): void => {
    const given = Array.from(rt.scratch.subarray(0, inputs.length));
    scope(() => {
      const result: unknown = fn(...(given.map((handle) => wrap(handle)) as A));
      single = result instanceof Tensor;
      const list = Array.isArray(result) ? (result as unknown[]) : [result];
      if (!list.every((item) => item instanceof Tensor)) {
        throw failure('checkpoint', 'argument', 'the function must return a Tensor or an array of them');
      }
      const handles = list.map((item) =>
        rt.answer(rt.module.alias(handleOf(item, 'checkpoint')), 'checkpoint'),
      );
      rt.scratch.set([handles.length, ...handles]);
    });
  };
  const runAgain = (): void => {
    const generator = defaultGenerator();
    const now = generator.getState();
    generator.setState(drawn);
    reruns++;
    try {
      run();
    } finally {
      reruns--;
      generator.setState(now);
    }
  };
  rt.scratch.set(inputs.map((x) => handleOf(x, 'checkpoint')));
  rt.check(
    rt.module.checkpoint(inputs.length, (again) => {
      if (again) runAgain();
      else run();
    }),
    'checkpoint',
  );
  const count = rt.scratch[0] ?? 0;
  const outputs = Array.from(rt.scratch.subarray(1, 1 + count)).map((handle) => wrap(handle));
  return (single ? outputs[0] : outputs) as R;
}

/**
 * Runs `fn`; a backward pass inside it stops at the first op whose gradient is NaN though nothing that came to it was.
 * Slow: for looking, not for training.
 *
 * @throws OmnigradError `numeric`, naming the op and the shape of the input whose gradient it is
 */
export function detectAnomaly<T>(fn: () => T): T {
  const { module } = runtime('detectAnomaly');
  checkValue('detectAnomaly', 'fn', fn, func);
  const before = module.setAnomalyDetection(true);
  try {
    const result = fn();
    refusePromise('detectAnomaly', result, 'detectAnomaly is synchronous; call it between the awaits');
    return result;
  } finally {
    module.setAnomalyDetection(before);
  }
}
