// "A picture from its gradients": derivatives of a network with respect to its input, inside its loss.

import { OmnigradError } from 'omnigrad';
import { Adam } from 'omnigrad/optim';
import { failure } from '../shared/failure.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Answering, Data, Measure, Step, Task, Training } from '../shared/task.js';
import { EquationGoal, type EquationView, laws } from './equation.js';
import { type GradientsRules, cells, facts, side } from './facts.js';
import type { Goal } from './goal.js';
import { defaultModes, modesOf } from './modes.js';
import { photo } from './photo.js';
import { PictureGoal, type PictureView } from './picture.js';

export type GradientsView = PictureView | EquationView;
/** Nothing is asked. */
export type GradientsAnswers = Answering;

/** Steps between two points of the curve. */
const glanceEvery = 25;

class Gradients implements Training<GradientsView, GradientsAnswers> {
  readonly net;
  readonly parts;
  readonly answers: GradientsAnswers = {};
  readonly #goal: Goal<GradientsView>;
  readonly #settings: Settings<GradientsRules>;
  readonly #optimizer: Adam;

  constructor(goal: Goal<GradientsView>, settings: Settings<GradientsRules>) {
    this.#goal = goal;
    this.#settings = settings;
    this.net = goal.net;
    this.#optimizer = new Adam(goal.net.parameters(), { lr: settings.lr });
    this.parts = { net: goal.net, optimizer: this.#optimizer, given: goal.given };
  }

  step(step: number): Promise<Step> {
    const { steps, lr, points } = this.#settings;
    this.#optimizer.lr = rateAt(step, steps, lr);
    const loss = this.#optimizer.minimize(() => this.#goal.loss());
    const glance = step % glanceEvery === 0 || step === steps;
    return Promise.resolve({ loss, items: points, ...(glance && { curves: this.#goal.curve() }) });
  }

  look(): GradientsView {
    return this.#goal.look();
  }
  renewed(): void {
    this.#goal.renewed();
  }
  measure(): Promise<Measure> {
    return Promise.resolve(this.#goal.measure());
  }
  dispose(): void {
    this.#optimizer.dispose();
    this.#goal.dispose();
  }
}

/** Brightness from 0 to 1 of what the visitor gave: bytes of across * across pixels, row by row. */
async function given(data: Data, name: string, across: number): Promise<Float64Array | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await data.bytes(`given/${name}`);
  } catch (error) {
    if (OmnigradError.is(error) && error.code === 'not-found') return undefined;
    throw error;
  }
  if (bytes.length === across * across) return Float64Array.from(bytes, (byte) => byte / 255);
  throw failure(
    'gradients',
    'argument',
    `${name} has ${bytes.length} pixels; it must have ${across} x ${across}`,
  );
}

export const task: Task<GradientsRules, GradientsView> = {
  ...facts,
  async begin(data: Data, settings) {
    const { mode } = settings;
    if (mode === 'gradient' || mode === 'laplacian') {
      const pixels = (await given(data, 'picture', side)) ?? (await photo(data, settings.photo));
      return new Gradients(new PictureGoal(mode, pixels, settings), settings);
    }
    const drawing = await given(data, 'start', cells);
    const start = drawing ? modesOf(drawing, cells) : defaultModes();
    return new Gradients(new EquationGoal(laws[mode], start, settings), settings);
  },
};
