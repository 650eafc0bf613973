// What a training run is told and what it tells. No behaviour.

import type { LossResult } from '../optim/loss.js';
import type { Tensor } from '../tensor.js';
import type { Source, Target } from '../io/index.js';
import type { PlatformAbortSignal } from '../platform.js';
import type { EarlyStopping, EarlyStoppingOptions } from './early_stop.js';

/** Results by name, each of one element. */
export type Values = Readonly<Record<string, number | Tensor>>;
/** The same as numbers. */
export type Numbers = Readonly<Record<string, number>>;

/** Where a run is. */
export interface Place {
  /** Steps of the optimizer that were taken, this one not counted. */
  readonly step: number;
  /** Passes over the data that are over. */
  readonly epoch: number;
}

/** What has state that a checkpoint keeps: modules, optimizers, schedules, data loaders. */
export interface Stateful {
  stateDict(): unknown;
  loadStateDict(state: never): unknown;
}

/** Batches: a DataLoader, a list, or whatever is iterated once a pass. */
export type Batches<Batch> = AsyncIterable<Batch> | Iterable<Batch>;

/** The part of a module that a run needs. */
export interface Trainable extends Stateful {
  readonly training: boolean;
  train(on?: boolean): unknown;
}

/** The part of an optimizer that a run needs. */
export interface Minimizer extends Stateful {
  readonly lr: number;
  minimize(
    fn: () => LossResult,
    options?: {
      readonly clipNorm?: number;
      readonly clipValue?: number;
      readonly accumulate?: number;
    },
  ): number | { readonly loss: number };
  zeroGrad(): void;
}

export interface Validation<Batch> {
  readonly data: Batches<Batch>;
  /** Results of a batch, in evaluation mode and without recording; their means over all samples are reported. */
  readonly metrics: (batch: Batch) => Values;
  /** After every so many epochs, and at the end; default 1. */
  readonly every?: number;
}

export interface CheckpointOptions {
  /** A place that can be written and read: a path (Node), a file handle, `browserStore(name)`. */
  readonly target: Target & Source;
  /** Save after every so many steps too; always at the end of an epoch, and when the run is stopped. */
  readonly every?: number;
  /** Go on from what is there, if anything is; default false. */
  readonly resume?: boolean;
  /** More that has state, by name: a second network, an average of weights. */
  readonly parts?: Readonly<Record<string, Stateful>>;
}

export interface TrainingOptions<Batch> {
  /** The loss of a batch, alone or as `{ loss, ...values }`; minimized by `optimizer`. */
  readonly loss?: (batch: Batch, place: Place) => LossResult;
  readonly optimizer?: Minimizer;
  /** In place of both: takes one step by itself, in a scope, and gives what to report. */
  readonly step?: (batch: Batch, place: Place) => Values;
  /** Passes over the data; default 1 if `steps` is not given. */
  readonly epochs?: number;
  /** Steps in all, over as many passes as that takes. */
  readonly steps?: number;
  /** Its `step` is called after each step of the optimizer. */
  readonly schedule?: Stateful & { step(): void };
  /** Scale all gradients so that their joint 2-norm is at most this. */
  readonly clipNorm?: number;
  /** Clamp every element of the gradients to this size. */
  readonly clipValue?: number;
  /** Batches a step, whose gradients are averaged; what is left over at the end of an epoch makes no step. Default 1. */
  readonly accumulate?: number;
  readonly validation?: Validation<Batch>;
  readonly checkpoint?: CheckpointOptions;
  readonly earlyStop?: EarlyStoppingOptions | EarlyStopping;
  /** Ends the run after the step that is under way; with `checkpoint`, saved first. */
  readonly signal?: PlatformAbortSignal;
}

/** One step: the means of what its batches gave. */
export interface StepEvent extends Place {
  readonly kind: 'step';
  /** Steps that were taken, this one counted. */
  readonly step: number;
  readonly values: Numbers;
  readonly lr: number | undefined;
  /** Of the epoch: steps that were taken, and how many there are; NaN if the data does not tell. */
  readonly inEpoch: number;
  readonly stepsInEpoch: number;
  /** Steps in all, NaN if the data does not tell. */
  readonly total: number;
}

/** One pass: the means of its steps, and of the validation's samples. */
export interface EpochEvent extends Place {
  readonly kind: 'epoch';
  /** Passes that are over, this one counted. */
  readonly epoch: number;
  readonly seconds: number;
  readonly values: Numbers;
  readonly validation: Numbers | undefined;
}

export interface SaveEvent extends Place {
  readonly kind: 'save';
  /** What the target is called. */
  readonly where: string;
}

export type TrainingEvent = StepEvent | EpochEvent | SaveEvent;

/** Why a run ended: all was done, the signal or a callback stopped it, or nothing got better. */
export type Ending = 'done' | 'stopped' | 'early';

export interface TrainingResult extends Place {
  readonly ending: Ending;
  /** The epochs' events, those before a resume included. */
  readonly history: readonly EpochEvent[];
  /** What the checkpoint's target is called, where one was written. */
  readonly saved: string | undefined;
}
