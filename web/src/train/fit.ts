// The loop that people would write, once: `fit` runs it to its end, `training` hands out its events one by one.

import { failure, shown } from '../errors.js';
import { checkedOptions, checkValue, either, func, oneOf } from '../options.js';
import { progressBar } from './progress.js';
import { Run } from './run.js';
import type { Batches, Trainable, TrainingEvent, TrainingOptions, TrainingResult } from './types.js';

/** Hears of every step, epoch and save; `stop` ends the run after the step that is under way. */
export type Callback = (event: TrainingEvent, run: { stop(): void }) => unknown;

export interface FitOptions<Batch> extends TrainingOptions<Batch> {
  /** Called in order with each event, and waited for if they are asynchronous. */
  readonly callbacks?: readonly Callback[];
  /** Default 'auto': a bar on the terminal in Node, nothing elsewhere; see `progressBar` and `progressEvents`. */
  readonly progress?: 'auto' | false | Callback;
}

/**
 * Trains a network: steps over the data's batches, with validation, checkpoints and progress as asked for.
 *
 *     await fit(net, loader, { optimizer, loss: ([x, y]) => crossEntropy(net.call(x), y), epochs: 5 });
 *
 * The event loop gets its turn at least every few milliseconds, so that signals and messages arrive.
 *
 * @param model the network; in training mode but for validations
 * @param data a DataLoader, or another iterable of batches
 * @returns where the run ended and why, and what each epoch gave
 * @throws OmnigradError `numeric` if a value becomes NaN, naming value and step
 */
export async function fit<Batch>(
  model: Trainable,
  data: Batches<Batch>,
  options: FitOptions<Batch>,
): Promise<TrainingResult> {
  checkedOptions('fit', options, Object.keys(Object(options) as object)); // a record at all; Run looks at what is in it
  checkValue('fit', 'progress', options.progress ?? 'auto', either(oneOf('auto', false), func));
  const { callbacks = [], progress = 'auto', ...rest } = options;
  if (!Array.isArray(callbacks) || callbacks.some((one) => typeof one !== 'function'))
    throw failure('fit', 'option', `callbacks is ${shown(callbacks)}; it must be a list of functions`);
  const listeners = [...(callbacks as readonly Callback[])];
  if (progress === 'auto') listeners.push(progressBar());
  else if (progress !== false) listeners.push(progress);
  const run = new Run(model, data, rest);
  const events = run.events();
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    for (const listener of listeners) {
      await listener(next.value, {
        stop() {
          run.stop();
        },
      });
    }
  }
}

/**
 * The same run as a sequence of events, for a worker's generator: `async *train(o) { yield* training(net, loader, o); }`.
 * Leaving it ends the run; nothing is saved then.
 */
export function training<Batch>(
  model: Trainable,
  data: Batches<Batch>,
  options: TrainingOptions<Batch>,
): AsyncGenerator<TrainingEvent, TrainingResult, undefined> {
  checkedOptions('training', options, Object.keys(Object(options) as object));
  return new Run(model, data, options).events();
}
