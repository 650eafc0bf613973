// What a demo's page and its worker say to each other. Types only.

import type { Context, Run } from 'omnigrad/worker';
import type { Given } from './data.js';
import type { History, Settings } from './session.js';
import type { Rules } from './settings.js';
import type { Answering, Measure, Step } from './task.js';

/** Which build to run, and where the data is. */
export interface Machine {
  readonly variant: 'auto' | 'threads' | 'single';
  readonly threads: number | 'auto';
  /** URL of the folder with the data. */
  readonly data: string;
}

export interface Started {
  readonly variant: string;
  readonly threads: number;
  readonly reason: { readonly code: string; readonly message: string };
}

export interface Order<R extends Rules> {
  readonly machine: Machine;
  readonly settings: Settings<R>;
  readonly given: Given;
  /** Go on with the run that is stored, or with this one, instead of beginning. */
  readonly from?: 'stored' | Uint8Array;
}

/** A step as the page hears of it. */
export interface Report<View> extends Step {
  readonly step: number;
  /** What the step took, in milliseconds. */
  readonly ms: number;
  /** When this worker began: another value tells of another worker. */
  readonly worker: number;
  /** Now and then, and of the last step. */
  readonly view?: View;
}

export interface Result<View> {
  readonly measure: Measure;
  /** SHA-256 of the weights' safetensors file, in hex; undefined where the engine has none. */
  readonly hash: string | undefined;
  readonly view: View;
}

/** What the worker offers. */
export type Handlers<R extends Rules, View, Answers extends Answering> = {
  /** Starts the build that the page asks for. */
  start(machine: Machine): Promise<Started>;
  /** A network that has learnt nothing, or that was kept: to look at and to ask. */
  prepare(order: Order<R>): Promise<View>;
  train(order: Order<R>, context: Context<Uint8Array>): AsyncGenerator<Report<View>, Result<View>>;
  ask<K extends keyof Answers>(question: Question<K>): Promise<Awaited<ReturnType<Answers[K]>>>;
  /** Keeps the run as it stands now. */
  keep(): Promise<View>;
  /** What the stored run, or this one, has been through; if there is one, and of this task. */
  stored(copy?: Uint8Array): Promise<History | undefined>;
  forget(): Promise<void>;
  weights(): Promise<Uint8Array>;
  upload(file: Uint8Array): Promise<View>;
};

export interface Question<K> {
  readonly name: K;
  readonly argument: unknown;
}

/** The same from the page's side. */
export type Remote<R extends Rules, View, Answers extends Answering> = Omit<
  Handlers<R, View, Answers>,
  'train'
> & {
  train(order: Order<R>): Run<Report<View>, Result<View>>;
  close(): void;
};
