// A run of a task, as far as page, worker and Node have it in common: begins it, takes its steps, keeps it and goes on
// with it. What it keeps is one safetensors file: the parts' state, the random numbers', and how it came this far.

import { OmnigradError, type Tensor, manualSeed } from 'omnigrad';
import { encodeSafetensors, load } from 'omnigrad/io';
import { Checkpoint } from 'omnigrad/train';
import { failure } from './failure.js';
import type { Rules, Values } from './settings.js';
import type { Answering, Common, Data, Measure, Step, Task, Training } from './task.js';

export type Settings<R extends Rules = Rules> = Values<R> & Common;

/** Points of a further curve: steps and values. */
export type Points = readonly (readonly [step: number, value: number])[];

/** What a run has been through. */
export interface History {
  readonly task: string;
  readonly settings: Settings;
  /** Of steps 1, 2, ..., to the last bit. */
  readonly losses: readonly number[];
  readonly curves: Readonly<Record<string, Points>>;
}

export class Session<R extends Rules = Rules, View = unknown, Answers extends Answering = Answering> {
  readonly settings: Settings<R>;
  readonly training: Training<View, Answers>;
  readonly #task: Task<R, View, Answers>;
  readonly #checkpoint: Checkpoint;
  #losses: number[] = [];
  #curves: Record<string, [number, number][]> = {};
  #disposed = false;

  private constructor(
    task: Task<R, View, Answers>,
    settings: Settings<R>,
    training: Training<View, Answers>,
  ) {
    this.#task = task;
    this.settings = settings;
    this.training = training;
    this.#checkpoint = new Checkpoint(training.parts);
  }

  /**
   * Begins a run, or goes on with one that was kept. Call after init.
   *
   * @param kept what `keep` gave
   * @throws OmnigradError `state-dict` or `format` if what was kept is not of this task
   */
  static async begin<R extends Rules, View, Answers extends Answering>(
    task: Task<R, View, Answers>,
    data: Data,
    settings: Settings<R>,
    kept?: Uint8Array,
  ): Promise<Session<R, View, Answers>> {
    manualSeed(settings.seed);
    const session = new Session(task, settings, await task.begin(data, settings));
    try {
      if (kept) await session.#restore(kept);
    } catch (error) {
      session.dispose();
      throw error;
    }
    return session;
  }

  /** Steps taken. */
  get step(): number {
    return this.#losses.length;
  }
  get done(): boolean {
    return this.step >= this.settings.steps;
  }
  get history(): History {
    const { settings } = this;
    return { task: this.#task.name, settings, losses: this.#losses, curves: this.#curves };
  }

  /** Takes the next step. @throws OmnigradError `numeric` if the loss is no finite number */
  async next(): Promise<Step> {
    const number = this.step + 1;
    const step = await this.training.step(number);
    if (!Number.isFinite(step.loss)) {
      throw failure(this.#task.name, 'numeric', `the loss of step ${number} is ${step.loss}`);
    }
    this.#losses.push(step.loss);
    for (const [name, value] of Object.entries(step.curves ?? {}))
      (this.#curves[name] ??= []).push([number, value]);
    return step;
  }

  measure(): Promise<Measure> {
    return this.training.measure();
  }

  /** All that it takes to go on from here, as one file. */
  async keep(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    const target = new WritableStream<Uint8Array>({
      write: (part) => {
        parts.push(part.slice());
      },
    });
    await this.#checkpoint.save(target, { history: this.history } as never);
    return joined(parts);
  }

  async #restore(kept: Uint8Array): Promise<void> {
    const { history } = await this.#checkpoint.load<{ history: History }>(kept);
    this.#losses = [...history.losses];
    this.#curves = Object.fromEntries(
      Object.entries(history.curves).map(([name, points]) => [name, points.map(([x, y]) => [x, y])]),
    );
    this.training.renewed?.(this.step);
  }

  /** The network as a safetensors file. */
  weights(): Uint8Array {
    return encodeSafetensors(this.training.net.stateDict());
  }

  /** Puts weights into the network. @throws OmnigradError `state-dict` or `format`; the network stays as it was */
  async take(file: Uint8Array): Promise<void> {
    const state = await load(file);
    try {
      this.training.net.loadStateDict(state);
      this.training.renewed?.(this.step);
    } finally {
      for (const tensor of Object.values(state)) tensor.dispose();
    }
  }

  dispose(): void {
    if (!this.#disposed) this.training.dispose();
    this.#disposed = true;
  }
}

/** The history in what `keep` gave; undefined if it is another task's, or none. */
export async function historyIn(kept: Uint8Array, task: string): Promise<History | undefined> {
  try {
    const file = await load<{ words?: { history?: History } }>(kept);
    for (const tensor of tensorsOf(file)) tensor.dispose();
    const history = file.words?.history;
    return history?.task === task ? history : undefined;
  } catch (error) {
    if (OmnigradError.is(error)) return undefined;
    throw error;
  }
}

function* tensorsOf(tree: unknown): Generator<Tensor> {
  if (typeof tree !== 'object' || tree === null) return;
  if ('dispose' in tree) yield tree as Tensor;
  else for (const value of Object.values(tree)) yield* tensorsOf(value);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let place = 0;
  for (const part of parts) {
    all.set(part, place);
    place += part.length;
  }
  return all;
}

/** SHA-256 of some bytes, in hex; undefined where the engine has none (a page that came by plain http). */
export async function hashOf(bytes: Uint8Array): Promise<string | undefined> {
  const { subtle } = globalThis.crypto as Partial<Crypto>;
  if (!subtle) return undefined;
  const digest = new Uint8Array(await subtle.digest('SHA-256', bytes.slice()));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
