// One training run: steps, passes, validation, checkpoints, and why it ends. Tells what happens as it goes; who listens
// is fit.ts's.

import { failure } from '../errors.js';
import { nameOf } from '../io/source.js';
import {
  type Rule,
  anything,
  boolean,
  checkOptions,
  checkValue,
  func,
  instance,
  positive,
  required,
  whole,
} from '../options.js';
import { type LossResult } from '../optim/loss.js';
import { refusePromise, scope } from '../scope.js';
import { turn, turnAfter } from '../worker/turn.js';
import { Checkpoint } from './checkpoint.js';
import { EarlyStopping } from './early_stop.js';
import { checkBatches, evaluate } from './evaluate.js';
import { Means, type MeansState, numbersOf } from './means.js';
import type {
  Batches,
  Ending,
  EpochEvent,
  Minimizer,
  Numbers,
  SaveEvent,
  Stateful,
  StepEvent,
  Trainable,
  TrainingEvent,
  TrainingOptions,
  TrainingResult,
} from './types.js';

const rules = {
  ...{ loss: func, step: func, optimizer: anything, schedule: anything },
  ...{ epochs: whole(1), steps: whole(1), accumulate: whole(1), clipNorm: positive, clipValue: positive },
  ...{ validation: anything, checkpoint: anything, earlyStop: anything, signal: instance(AbortSignal) },
};
const given: Rule = { text: 'given', test: (v) => v !== undefined && v !== null, required: true };
const validationRules = { data: given, metrics: required(func), every: whole(1) };
const checkpointRules = {
  target: given,
  every: whole(1),
  resume: boolean,
  parts: anything,
};

/** What a checkpoint keeps of a run itself. */
interface Progress {
  readonly step: number;
  readonly epoch: number;
  readonly inEpoch: number;
  readonly seconds: number;
  readonly means: MeansState;
  readonly history: readonly EpochEvent[];
  readonly ended: Ending | null;
}

export class Run<Batch> {
  readonly #model: Trainable;
  readonly #data: Batches<Batch>;
  readonly #options: TrainingOptions<Batch>;
  readonly #earlyStop: EarlyStopping | undefined;
  readonly #checkpoint: Checkpoint | undefined;
  readonly #where: string | undefined;
  readonly #means = new Means();
  #history: EpochEvent[] = [];
  #step = 0;
  #epoch = 0;
  #inEpoch = 0;
  #seconds = 0;
  #ending: Ending | undefined;
  #saved: string | undefined;

  constructor(model: Trainable, data: Batches<Batch>, options: TrainingOptions<Batch>) {
    checkOptions('fit', options, rules);
    checkModel(model);
    checkBatches('fit', data);
    checkLoss(options);
    if (options.validation) {
      checkOptions('fit', options.validation, validationRules);
      checkBatches('fit', options.validation.data);
    }
    this.#model = model;
    this.#data = data;
    this.#options = options;
    const { earlyStop } = options;
    this.#earlyStop =
      earlyStop === undefined || earlyStop instanceof EarlyStopping
        ? earlyStop
        : new EarlyStopping(earlyStop);
    if (options.checkpoint) {
      checkOptions('fit', options.checkpoint, checkpointRules);
      this.#checkpoint = new Checkpoint(this.#parts(options.checkpoint.parts));
      this.#where = nameOf(options.checkpoint.target);
    }
  }

  #parts(more: Readonly<Record<string, Stateful>> = {}): Record<string, Stateful | undefined> {
    const { optimizer, schedule } = this.#options;
    if (!hasState(this.#data)) {
      const text =
        'the data has no stateDict, so a resumed run would not know where it was; use a DataLoader';
      throw failure('fit', 'option', `checkpoint: ${text}`);
    }
    return {
      ...more,
      ...{ model: this.#model, optimizer, schedule, data: this.#data, earlyStop: this.#earlyStop },
    };
  }

  /** Ends the run after the step that is under way. */
  stop(): void {
    this.#ending ??= 'stopped';
  }

  // Also notes why, the first time that it is so.
  #isOver(): boolean {
    if (this.#options.signal?.aborted) this.stop();
    const { steps, epochs = steps === undefined ? 1 : Infinity } = this.#options;
    if (this.#step >= (steps ?? Infinity) || this.#epoch >= epochs) this.#ending ??= 'done';
    return this.#ending !== undefined;
  }

  async *events(): AsyncGenerator<TrainingEvent, TrainingResult, undefined> {
    if (this.#options.checkpoint?.resume) await this.#resume();
    this.#model.train(true);
    while (!this.#isOver()) yield* this.#pass();
    // The checkpoint does not know of this: a run that is resumed goes on in the middle of its pass.
    if (this.#ending === 'done' && this.#inEpoch > 0) yield await this.#close();
    return {
      ...{ step: this.#step, epoch: this.#epoch, history: this.#history, saved: this.#saved },
      ending: this.#ending ?? 'done',
    };
  }

  // From where the data is to its end, or to the end of the run.
  async *#pass(): AsyncGenerator<TrainingEvent, void, undefined> {
    const { accumulate = 1, checkpoint } = this.#options;
    const begun = performance.now() - 1000 * this.#seconds;
    let turned = performance.now();
    let gathered = new Means();
    let parts = 0;
    for await (const batch of this.#data) {
      gathered.add(this.#compute(batch));
      if (++parts === accumulate) {
        parts = 0;
        const event = this.#taken(gathered.values);
        gathered = new Means();
        this.#seconds = (performance.now() - begun) / 1000;
        yield event;
        // A callback may have stopped the run. What ends with its pass is saved with that.
        const ends = this.#isOver() && !this.#atEnd();
        const due = checkpoint?.every !== undefined && this.#step % checkpoint.every === 0;
        if (this.#checkpoint && (ends || due)) yield await this.#save();
        if (ends) return;
      }
      if (performance.now() - turned < turnAfter) continue;
      await turn();
      turned = performance.now();
    }
    if (this.#inEpoch === 0) {
      const what = parts === 0 ? 'no batches' : `${parts} batches, fewer than accumulate`;
      throw failure('fit', 'argument', `the data gave ${what}`);
    }
    if (parts > 0) this.#options.optimizer?.zeroGrad();
    this.#seconds = (performance.now() - begun) / 1000;
    yield* this.#passed();
  }

  // Whether the pass ends with the step just taken, as far as the data tells.
  #atEnd(): boolean {
    return this.#ending === 'done' && this.#inEpoch === this.#stepsInEpoch;
  }

  get #stepsInEpoch(): number {
    const { length } = this.#data as { length?: number };
    return Math.floor((length ?? NaN) / (this.#options.accumulate ?? 1));
  }

  /** The numbers of one batch; the optimizer steps if it is a step's last. */
  #compute(batch: Batch): Numbers {
    const { loss, optimizer, step } = this.#options;
    const place = { step: this.#step, epoch: this.#epoch };
    const values = scope(() => {
      if (step) {
        const given: unknown = step(batch, place);
        refusePromise('fit', given, 'a step is synchronous');
        return numbersOf('fit', given);
      }
      // Either is there: the constructor saw to it.
      const fn = (): LossResult => (loss as NonNullable<typeof loss>)(batch, place);
      const given = (optimizer as Minimizer).minimize(fn, this.#minimizing());
      return typeof given === 'number' ? { loss: given } : numbersOf('fit', given);
    });
    const bad = Object.keys(values).find((name) => Number.isNaN(values[name]));
    if (bad === undefined) return values;
    const hint = 'detectAnomaly(() => ...) around a step names the op; a lower rate or clipNorm may help';
    throw failure('fit', 'numeric', `${bad} is NaN at step ${this.#step}; ${hint}`);
  }

  #minimizing(): NonNullable<Parameters<Minimizer['minimize']>[1]> {
    const { clipNorm, clipValue, accumulate } = this.#options;
    return {
      ...(clipNorm !== undefined && { clipNorm }),
      ...(clipValue !== undefined && { clipValue }),
      ...(accumulate !== undefined && { accumulate }),
    };
  }

  #taken(values: Numbers): StepEvent {
    const { optimizer, schedule, steps, epochs = steps === undefined ? 1 : Infinity } = this.#options;
    const lr = optimizer?.lr;
    schedule?.step();
    this.#step++;
    this.#inEpoch++;
    this.#means.add(values);
    const left = (epochs - this.#epoch) * this.#stepsInEpoch - this.#inEpoch;
    return {
      ...{ kind: 'step', step: this.#step, epoch: this.#epoch, values, lr },
      ...{ inEpoch: this.#inEpoch, stepsInEpoch: this.#stepsInEpoch },
      total: epochs === Infinity ? (steps ?? NaN) : Math.min(steps ?? Infinity, this.#step + left),
    };
  }

  async *#passed(): AsyncGenerator<TrainingEvent, void, undefined> {
    this.#epoch++;
    this.#inEpoch = 0;
    yield await this.#close();
    if (this.#checkpoint) yield await this.#save();
  }

  // Tells of a pass, or of what there was of it when the last step was taken.
  async #close(): Promise<EpochEvent> {
    const { validation } = this.#options;
    const due = validation && (this.#isOver() || this.#epoch % (validation.every ?? 1) === 0);
    const measured = due ? await evaluate(this.#model, validation.data, validation.metrics) : undefined;
    const event: EpochEvent = {
      ...{ kind: 'epoch', epoch: this.#epoch, step: this.#step, seconds: this.#seconds },
      ...{ values: this.#means.values, validation: measured },
    };
    this.#history.push(event);
    this.#means.clear();
    this.#seconds = 0;
    if (this.#earlyStop && (!validation || measured)) this.#judge(this.#earlyStop, measured ?? event.values);
    return event;
  }

  #judge(earlyStop: EarlyStopping, values: Numbers): void {
    const value = values[earlyStop.monitor];
    if (value === undefined) {
      const names = Object.keys(values).join(', ') || 'none';
      throw failure('fit', 'option', `earlyStop monitors '${earlyStop.monitor}'; there are: ${names}`);
    }
    if (earlyStop.update(value)) this.#ending ??= 'early';
  }

  async #save(): Promise<SaveEvent> {
    const { target } = this.#options.checkpoint as NonNullable<TrainingOptions<Batch>['checkpoint']>;
    const progress: Progress = {
      ...{ step: this.#step, epoch: this.#epoch, inEpoch: this.#inEpoch, seconds: this.#seconds },
      ...{ means: this.#means.stateDict(), history: this.#history },
      // A run that was stopped goes on when it is resumed; one that is done may be told to go further.
      ended: this.#ending === 'early' ? 'early' : null,
    };
    await (this.#checkpoint as Checkpoint).save(target, progress as never);
    this.#saved = this.#where;
    return { kind: 'save', step: this.#step, epoch: this.#epoch, where: this.#where ?? '' };
  }

  async #resume(): Promise<void> {
    const { target } = this.#options.checkpoint as NonNullable<TrainingOptions<Batch>['checkpoint']>;
    let progress: Progress;
    try {
      progress = await (this.#checkpoint as Checkpoint).load<Progress>(target);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'not-found') return;
      throw error;
    }
    this.#step = progress.step;
    this.#epoch = progress.epoch;
    this.#inEpoch = progress.inEpoch;
    this.#seconds = progress.seconds;
    this.#means.loadStateDict(progress.means);
    this.#history = [...progress.history];
    this.#saved = this.#where;
    if (progress.ended) this.#ending = progress.ended;
  }
}

function hasState(value: unknown): value is Stateful {
  return typeof (value as Partial<Stateful> | null)?.stateDict === 'function';
}

function checkModel(model: unknown): void {
  const given = model as Partial<Trainable> | null | undefined;
  const good = typeof given?.train === 'function' && typeof given.stateDict === 'function';
  if (!good) throw failure('fit', 'argument', 'the model must be a Module');
}

function checkLoss<Batch>({ loss, optimizer, step, accumulate }: TrainingOptions<Batch>): void {
  const rule = 'give loss and optimizer, or step, which does it all';
  if (step && (loss ?? optimizer))
    throw failure('fit', 'option', `step and loss exclude each other; ${rule}`);
  if (step && accumulate !== undefined) throw failure('fit', 'option', 'a step accumulates by itself');
  if (!step && !(loss && typeof (optimizer as Partial<Minimizer> | undefined)?.minimize === 'function'))
    throw failure('fit', 'option', rule);
  if (loss) checkValue('fit', 'loss', loss, func);
}
