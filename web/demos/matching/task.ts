// Two views of a photograph are matched by neighbourhood consensus; it learns from random homographies, whose matches are
// known exactly, and is judged on others, of a photograph that it never saw.

import {
  type Tensor,
  crossEntropy,
  interpolate,
  manualSeed,
  defaultGenerator,
  noGrad,
  rand,
  scope,
  tensor,
} from 'omnigrad';
import * as optim from 'omnigrad/optim';
import { photoNames, photoTitles } from '../shared/photo_names.js';
import { luma, photo } from '../shared/photos.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Data, Measure, Step, Task, Training } from '../shared/task.js';
import { type MatchingRules, facts, pixels, side } from './facts.js';
import { inverse } from './geometry.js';
import { type Count, type Match, counted, labels, matches } from './matches.js';
import { Matcher } from './model.js';
import { type Pairs, pairsOf } from './views.js';

/** One pair of views, and what is found in it. */
export interface MatchingView {
  /** Steps that the network had taken. */
  readonly step: number;
  /** Brightness of 96 x 96 pixels each, 0 to 255. */
  readonly a: Uint8ClampedArray;
  readonly b: Uint8ClampedArray;
  /** By plain comparison of untrained features. */
  readonly before: readonly Match[];
  /** By the network as it is. */
  readonly after: readonly Match[];
  /** Over all pairs that are judged: before, and now by plain comparison and with the consensus. */
  readonly counts: { readonly before: Count; readonly plain: Count; readonly consensus: Count };
}

export type MatchingAnswers = {
  /** Another of the pairs that are judged, by its number. */
  pair(number: number): MatchingView;
};

/** Pairs that are judged, the same for every seed, so many at a time. */
const judgedSeed = 7;
const judgedPairs = 32;
const atATime = 4;
const judgeEvery = 50;
const target = 3;
const cells = side * side;

/** What is found in each judged pair, after so many steps. */
interface Found {
  readonly step: number;
  readonly plain: readonly (readonly Match[])[];
  readonly consensus: readonly (readonly Match[])[];
}

/** Scores of two views each, [N, cells, cells]. */
type Scores = (views: Tensor) => Tensor;

export class Matching implements Training<MatchingView, MatchingAnswers> {
  readonly net: Matcher;
  readonly parts;
  readonly answers: MatchingAnswers = {
    pair: (number) => {
      this.#shown = Math.max(0, Math.min(judgedPairs - 1, Math.floor(number)));
      return this.look();
    },
  };
  readonly #settings: Settings<MatchingRules>;
  readonly #optimizer: optim.AdamW;
  readonly #photos: readonly Tensor[];
  readonly #judged: readonly Pairs[];
  /** Of each judged pair, before the first step. */
  readonly #before: readonly (readonly Match[])[];
  #now: Found | undefined;
  #step = 0;
  #shown = 0;

  /** @param photos brightness, [1, 1, H, W] each; the first is held back */
  constructor([held, ...photos]: readonly Tensor[], settings: Settings<MatchingRules>) {
    this.#settings = settings;
    this.net = new Matcher(settings);
    this.#optimizer = new optim.AdamW(this.net.parameters(), { lr: settings.lr, weightDecay: 0 });
    this.parts = { net: this.net, optimizer: this.#optimizer };
    this.#photos = photos;
    const state = defaultGenerator().getState();
    manualSeed(judgedSeed);
    const four = Array.from({ length: atATime }, () => held as Tensor);
    this.#judged = Array.from({ length: judgedPairs / atATime }, () => pairsOf(four));
    defaultGenerator().setState(state);
    this.#before = this.#found(this.#plain);
  }

  readonly #plain: Scores = (views) => this.net.compare(views).mean(1);
  readonly #consensus: Scores = (views) => this.net.call(views);

  // eslint-disable-next-line @typescript-eslint/require-await -- other tasks await their data
  async step(step: number): Promise<Step> {
    const { steps, lr, batch } = this.#settings;
    this.#optimizer.lr = rateAt(step, steps, lr);
    const loss = scope(() => {
      const which = Array.from(rand([batch]).toTypedArray() as Float32Array);
      const photos = which.map((share) => this.#photos[Math.floor(share * this.#photos.length)]);
      const { views, maps } = pairsOf(photos as Tensor[]);
      const there = maps.flatMap((map) => labels(map));
      const back = maps.flatMap((map) => labels(inverse(map)));
      return this.#optimizer.minimize(() => twoWays(this.net.call(views), there, back), { clipNorm: 1 });
    });
    this.#step = step;
    if (step % judgeEvery !== 0 && step !== steps) return { loss, items: batch };
    const { plain, consensus } = this.#judge();
    return { loss, items: batch, curves: { plain: share(plain), consensus: share(consensus) } };
  }

  /** The best of each row, in all judged pairs. */
  #found(scores: Scores): Match[][] {
    return noGrad(() =>
      this.#judged.flatMap(({ views, maps }) => {
        const best = scope(() => scores(views).argmax(2).toTypedArray());
        return maps.map((map, i) => matches(best.subarray(i * cells, (i + 1) * cells), map));
      }),
    );
  }

  #judge(): Found {
    const [plain, consensus] = [this.#found(this.#plain), this.#found(this.#consensus)];
    return (this.#now = { step: this.#step, plain, consensus });
  }

  renewed(step: number): void {
    this.#step = step;
    this.#now = undefined;
  }

  look(): MatchingView {
    const { step, plain, consensus } = this.#now ?? this.#judge();
    const pairs = this.#judged[Math.floor(this.#shown / atATime)] as Pairs;
    const values = pairs.views.toTypedArray() as Float32Array;
    const seen = (view: number): Uint8ClampedArray => {
      const place = (2 * (this.#shown % atATime) + view) * pixels * pixels;
      return Uint8ClampedArray.from(values.subarray(place, place + pixels * pixels), (v) => 128 + 52 * v);
    };
    return {
      step,
      a: seen(0),
      b: seen(1),
      before: this.#before[this.#shown] ?? [],
      after: consensus[this.#shown] ?? [],
      counts: {
        before: counted(this.#before.flat()),
        plain: counted(plain.flat()),
        consensus: counted(consensus.flat()),
      },
    };
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- other tasks await their data
  async measure(): Promise<Measure> {
    const { plain, consensus } = this.#judge();
    const [before, alone, now] = [this.#before.flat(), plain.flat(), consensus.flat()].map(counted) as [
      Count,
      Count,
      Count,
    ];
    const value = now.right / Math.max(1, before.right);
    const percent = ({ right, all }: Count): string => `${right} (${((100 * right) / all).toFixed(1)} %)`;
    return {
      value,
      reached: value >= target,
      text:
        `Of ${now.all} cells in ${judgedPairs} pairs of ${photoTitles[this.#settings.held]}, which it was never trained on, ` +
        `${percent(now)} are matched within one cell; before training ${percent(before)}, so ${value.toFixed(2)} times as ` +
        `many; the goal is ${target} times. The trained features without the consensus: ${percent(alone)}.`,
    };
  }

  dispose(): void {
    this.#optimizer.dispose();
    for (const { views } of this.#judged) views.dispose();
    for (const each of this.#photos) each.dispose();
    this.net.dispose();
  }
}

/** Cross-entropy of each cell's scores to the true cell, from either view; -1 is left out. */
function twoWays(scores: Tensor, there: readonly number[], back: readonly number[]): Tensor {
  const entropy = (rows: Tensor, truth: readonly number[]): Tensor =>
    crossEntropy(rows.reshape([-1, cells]), tensor(Int32Array.from(truth)), { ignoreIndex: -1 });
  return entropy(scores, there)
    .add(entropy(scores.permute([0, 2, 1]), back))
    .div(2);
}

const share = (found: readonly (readonly Match[])[]): number => {
  const { right, all } = counted(found.flat());
  return right / all;
};

export const task: Task<MatchingRules, MatchingView, MatchingAnswers> = {
  ...facts,
  async begin(data: Data, settings) {
    const names = [settings.held, ...photoNames.filter((name) => name !== settings.held)];
    const photos = await Promise.all(names.map((name) => photo(data, name)));
    const halves = photos.map((colours) =>
      scope(() => {
        const [, , height = 0, width = 0] = colours.shape;
        const size = [height >> 1, width >> 1];
        return interpolate(luma(colours), { size, mode: 'cubic', antialias: true });
      }),
    );
    const training = new Matching(halves, settings);
    halves[0]?.dispose();
    return training;
  },
};
