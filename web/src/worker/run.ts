// A call as the page holds it: its reports as they arrive, its result. Knows nothing of workers; link.ts feeds it.

import { turn, turnAfter } from './turn.js';
import type { Run } from './types.js';

/** What a run asks of its link. */
export interface Controls {
  pause(): void;
  resume(): void;
  cancel(): void;
}

interface Waiting {
  resolve(result: IteratorResult<unknown, undefined>): void;
  reject(reason: unknown): void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

export class RemoteRun implements Run<unknown, unknown> {
  /** A generator's; plain calls may not bear to be made twice. */
  isRun = false;
  checkpoint: unknown = undefined;
  /** Reports that arrived since the checkpoint. */
  sinceCheckpoint = 0;
  /** As the worker should have it. */
  paused = false;
  readonly #controls: Controls;
  #restartsLeft: number;
  #reports: unknown[] = [];
  #next = 0;
  #waiting: Waiting[] = [];
  #outcome: Outcome | undefined;
  #cancelled = false;
  #observed = false;
  #onOutcome: (() => void)[] = [];
  #onPaused: (() => void)[] = [];
  /** When the page's present task began to take reports. */
  #taskBegan = 0;

  constructor(controls: Controls, restarts: number) {
    this.#controls = controls;
    this.#restartsLeft = restarts;
  }

  // ---- from the worker

  addReports(values: readonly unknown[]): void {
    this.sinceCheckpoint += values.length;
    if (this.#cancelled) return;
    this.#taskBegan = performance.now();
    for (const value of values) {
      const waiting = this.#waiting.shift();
      if (waiting) waiting.resolve({ done: false, value });
      else this.#reports.push(value);
    }
  }

  addCheckpoint(state: unknown): void {
    this.checkpoint = state;
    this.sinceCheckpoint = 0;
  }

  /** Whether it goes on in a new worker, now that its own has died. One restart is used up. */
  goesOn(): boolean {
    return this.isRun && !this.#cancelled && this.#restartsLeft-- > 0;
  }

  standsStill(): void {
    for (const resolve of this.#onPaused.splice(0)) resolve();
  }

  settle(outcome: Outcome): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    this.standsStill();
    for (const tell of this.#onOutcome.splice(0)) tell();
    for (const waiting of this.#waiting.splice(0)) {
      if ('error' in outcome && !this.#cancelled) waiting.reject(outcome.error);
      else waiting.resolve({ done: true, value: undefined });
    }
    if ('error' in outcome && !this.#observed && !this.#cancelled) void this.#reportUnseen();
  }

  /** An error that nobody has asked for by now is the program's, as with any promise. */
  async #reportUnseen(): Promise<void> {
    await turn();
    if (!this.#observed) void this.#result();
  }

  // ---- from the page

  async pause(): Promise<void> {
    if (this.#outcome) return;
    this.paused = true;
    const still = new Promise<void>((resolve) => this.#onPaused.push(resolve));
    this.#controls.pause();
    await still;
  }

  resume(): void {
    if (this.#outcome) return;
    this.paused = false;
    this.standsStill();
    this.#controls.resume();
  }

  async cancel(): Promise<void> {
    if (this.#outcome) return;
    this.#cancelled = true;
    // A loop over it is not kept waiting for the step under way.
    for (const waiting of this.#waiting.splice(0)) waiting.resolve({ done: true, value: undefined });
    const ended = new Promise<void>((resolve) => this.#onOutcome.push(resolve));
    this.#controls.cancel();
    await ended;
  }

  [Symbol.asyncIterator](): AsyncIterator<unknown, undefined> {
    this.#observed = true;
    return {
      next: () => this.#take(),
      return: () => {
        void this.cancel();
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  async #take(): Promise<IteratorResult<unknown, undefined>> {
    // Many reports at once are many turns of the caller's loop, all in one task of the page but for this.
    if (this.#next < this.#reports.length && performance.now() - this.#taskBegan > turnAfter) {
      await turn();
      this.#taskBegan = performance.now();
    }
    if (this.#next < this.#reports.length && !this.#cancelled) {
      const value = this.#reports[this.#next++];
      if (this.#next === this.#reports.length) [this.#reports, this.#next] = [[], 0];
      return { done: false, value };
    }
    if (this.#outcome && 'error' in this.#outcome && !this.#cancelled) throw this.#outcome.error;
    if (this.#outcome || this.#cancelled) return { done: true, value: undefined };
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  then<A = unknown, B = never>(
    onFulfilled?: ((value: unknown) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#result().then(onFulfilled, onRejected);
  }

  catch<T = never>(onRejected?: (reason: unknown) => T | PromiseLike<T>): Promise<unknown> {
    return this.#result().catch(onRejected);
  }

  finally(onSettled?: () => void): Promise<unknown> {
    return this.#result().finally(onSettled);
  }

  async #result(): Promise<unknown> {
    this.#observed = true;
    if (!this.#outcome) await new Promise<void>((resolve) => this.#onOutcome.push(resolve));
    const outcome = this.#outcome;
    if (outcome && 'error' in outcome) throw outcome.error;
    return outcome?.value;
  }
}
