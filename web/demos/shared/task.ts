// What a demo is to the shell: a training that runs the same in a page's worker and in Node. A task knows no page, no
// worker and no file; everything that decides a bit of its losses is in it.

import type { Module } from 'omnigrad/nn';
import type { Stateful } from 'omnigrad/train';
import type { Rules, Values } from './settings.js';

/** Where a task's data lies: the folder `data/` of the site in a page, of the built demos in Node. */
export interface Data {
  /** A file's address, for readers that take one; path relative to `data/`, such as 'mnist/'. */
  url(path: string): URL;
  /** A file's bytes; `given/NAME`: what the page gave under that name. @throws OmnigradError code 'not-found' */
  bytes(path: string): Promise<Uint8Array>;
}

/** One optimizer step. */
export interface Step {
  /** What was minimized, to the last bit. */
  readonly loss: number;
  /** How much it trained on, in the task's `unit`. */
  readonly items: number;
  /** Values of further curves, by their names in `curves`, when this step has them. */
  readonly curves?: Readonly<Record<string, number>>;
}

/** What a task was to reach, and did. */
export interface Measure {
  /** Its number, in the unit of the target. */
  readonly value: number;
  /** Undefined: there is no target. */
  readonly reached: boolean | undefined;
  /** One sentence for a person. */
  readonly text: string;
}

/** A training under way. All of its randomness comes from the default generator and from generators among its parts. */
export interface Training<View, Answers> {
  /** What "download weights" gives and "upload weights" takes. */
  readonly net: Module;
  /** All that a resumed run needs besides the default generator and the number of steps: net, optimizer, loaders. */
  readonly parts: Readonly<Record<string, Stateful>>;
  /** Takes step `step`, counted from 1. */
  step(step: number): Promise<Step>;
  /** What the page draws now and then: numbers, texts, typed arrays. Draws no random number that training would miss. */
  look(): View;
  /** Holds what was learnt against the task's target; asked once, after the last step. */
  measure(): Promise<Measure>;
  /**
   * The network has got other weights, a file's or those of a run that was kept and had taken `step` steps: what was
   * computed with the old ones holds no more.
   */
  renewed?(step: number): void;
  /** What the page may ask between two steps and after the last, by name: one argument, an answer that can be cloned. */
  readonly answers: Answers;
  dispose(): void;
}

/** One argument each, like a worker's handlers. */
export type Answering = Readonly<Record<string, (argument: never) => unknown>>;

/** What a page needs to know of its task, which it never loads: that is the worker's. */
export interface Facts<R extends Rules = Rules> {
  /** Its folder, its address and the name of its Node script. */
  readonly name: string;
  /** What `items` counts: 'images', 'characters', 'points'. */
  readonly unit: string;
  /** Names of further curves, each of its own unit; the loss is always there. */
  readonly curves: readonly string[];
  /** Its own settings beside the shell's seed, steps, lr, variant and threads, each with its default. */
  readonly rules: R;
  readonly defaults: { readonly steps: number; readonly lr: number };
}

export interface Task<
  R extends Rules = Rules,
  View = unknown,
  Answers extends Answering = Answering,
> extends Facts<R> {
  /** Begins a run; the default generator has been seeded. Loaded data may be kept for the next run. */
  begin(data: Data, settings: Values<R> & Common): Promise<Training<View, Answers>>;
}

/** The settings that every task has. */
export interface Common {
  readonly seed: number;
  readonly steps: number;
  /** The peak of the learning rate. */
  readonly lr: number;
}
