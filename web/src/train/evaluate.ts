// A network's results over a data set: evaluation mode, nothing recorded, each batch in a scope.

import { noGrad } from '../autograd.js';
import { failure, shown } from '../errors.js';
import { checkValue, func } from '../options.js';
import { refusePromise, scope, tensorsIn } from '../scope.js';
import { turn, turnAfter } from '../worker/turn.js';
import { Means, numbersOf } from './means.js';
import type { Batches, Numbers, Trainable, Values } from './types.js';

/**
 * Means over all samples of what `metrics` gives of each batch; a batch counts by the first dimension of its first
 * tensor. The module is in evaluation mode meanwhile, and afterwards in the mode it was in.
 *
 * @param metrics from a batch to results of one element by name, each a mean over the batch
 * @returns the means by name; empty if there are no batches
 */
export async function evaluate<Batch>(
  model: Pick<Trainable, 'training' | 'train'>,
  data: Batches<Batch>,
  metrics: (batch: Batch) => Values,
): Promise<Numbers> {
  if (typeof (model as { train?: unknown } | null | undefined)?.train !== 'function')
    throw failure('evaluate', 'argument', `the model is ${shown(model)}; it must be a Module`);
  checkValue('evaluate', 'metrics', metrics, func);
  checkBatches('evaluate', data);
  const { training } = model;
  const means = new Means();
  model.train(false);
  try {
    let begun = performance.now();
    for await (const batch of data) {
      const values = scope(() => noGrad(() => {
        const given: unknown = metrics(batch);
        refusePromise('evaluate', given, 'metrics are synchronous');
        return numbersOf('evaluate', given);
      })); // prettier-ignore
      means.add(values, samplesOf(batch));
      if (performance.now() - begun < turnAfter) continue;
      await turn();
      begun = performance.now();
    }
  } finally {
    model.train(training);
  }
  return means.values;
}

function samplesOf(batch: unknown): number {
  const [first] = tensorsIn(batch);
  return first?.shape[0] ?? 1;
}

/** Refuses what cannot be iterated. */
export function checkBatches(op: string, data: unknown): void {
  const iterable =
    typeof data === 'object' && data !== null && (Symbol.asyncIterator in data || Symbol.iterator in data);
  if (iterable) return;
  const text = `the data is ${shown(data)}; it must be a DataLoader, or a list or other iterable of batches`;
  throw failure(op, 'argument', text);
}
