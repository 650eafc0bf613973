// A deformable network beside a plain one of the same size, on the same warped digits.

import { type Generator, type Tensor, crossEntropy, noGrad, scope, tensor } from 'omnigrad';
import { DataLoader, type MnistBatch, type MnistDataset } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import { endless } from '../shared/batches.js';
import { digits } from '../shared/mnist.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Data, Measure, Step, Task, Training } from '../shared/task.js';
import { type BendRules, facts, places, side } from './facts.js';
import { BentNet, type DigitNet, PlainNet } from './model.js';
import { warped } from './warp.js';

/** What a network reads in an image: how sure it is of each digit, 0 to 1. */
export type Shares = readonly number[];

/** What both read in one image, and where the deformable layer looks. */
export interface Reading {
  readonly plain: Shares;
  readonly bent: Shares;
  /** Shifts (y, x) in pixels of the kernel at each of 7 x 7 places: [2, 7, 7]. */
  readonly shifts: Float32Array;
}

export interface Digit extends Reading {
  /** 28 x 28, 0 to 1. */
  readonly ink: Float32Array;
  readonly label: number;
}

/** One warped test digit of each kind. */
export type BendView = readonly Digit[];

export type BendAnswers = {
  /** What both read in 28 x 28 of ink, 0 to 1. */
  read(ink: Float32Array): Reading;
};

class Pair extends nn.Module {
  readonly plain = new PlainNet();
  readonly bent = new BentNet();
  forward(): never {
    throw new Error('there are two networks here');
  }
}

/** The test digits are warped once and for all: alike for every seed. */
const testSeed = 20;
/** Test digits that are read now and then, and how often. */
const glance = 500;
const glanceEvery = 50;
const target = 0.97;

const inkOf = (images: Tensor): Tensor => images.mul(0.3081).add(0.1307);

export class Bend implements Training<BendView, BendAnswers> {
  readonly net = new Pair();
  readonly parts;
  readonly answers: BendAnswers = { read: (ink) => this.#read(tensor(ink, { shape: [1, 1, side, side] })) };
  readonly #settings: Settings<BendRules>;
  readonly #next: () => Promise<MnistBatch>;
  readonly #test: DataLoader<MnistBatch, MnistBatch>;
  readonly #optimizers: readonly [plain: optim.AdamW, bent: optim.AdamW];
  #shown: { ink: Tensor; labels: readonly number[] } | undefined;

  constructor(train: MnistDataset, test: MnistDataset, settings: Settings<BendRules>) {
    this.#settings = settings;
    const { batch, seed, lr } = settings;
    const transform =
      (how: { turn: number; warp: number }) =>
      ([images, labels]: MnistBatch, { generator }: { generator: Generator }): MnistBatch => [
        warped(inkOf(images), { ...how, generator }),
        labels,
      ];
    const data = new DataLoader(train, { batchSize: batch, shuffle: true, seed, dropLast: true, transform: transform(settings) }); // prettier-ignore
    this.#next = endless(data);
    this.#test = new DataLoader(test, { batchSize: glance, seed: testSeed, transform: transform(settings) });
    const { plain, bent } = this.net;
    this.#optimizers = [plain, bent].map((net) => new optim.AdamW(net.parameters(), { lr })) as never;
    const [ofPlain, ofBent] = this.#optimizers;
    this.parts = { net: this.net, ofPlain, ofBent, data };
  }

  async step(step: number): Promise<Step> {
    const { steps, lr, batch } = this.#settings;
    const [ink, labels] = await this.#next();
    const { plain, bent } = this.net;
    const [ofPlain, ofBent] = this.#optimizers;
    ofPlain.lr = ofBent.lr = rateAt(step, steps, lr);
    const losses = {
      plain: ofPlain.minimize(() => crossEntropy(plain.call(ink), labels)),
      loss: ofBent.minimize(() => crossEntropy(bent.call(ink), labels)),
    };
    const look = step % glanceEvery === 0 || step === steps;
    const rights = look ? await this.#right(1) : undefined;
    return {
      loss: losses.loss,
      items: batch,
      curves: { plain: losses.plain, ...(rights && { right: rights.bent, plainRight: rights.plain }) },
    };
  }

  /** Shares of the first test digits, so many batches, that each reads right. */
  async #right(batches: number): Promise<{ plain: number; bent: number; count: number }> {
    let [plain, bent, count] = [0, 0, 0];
    let left = batches;
    const hits = (net: DigitNet, ink: Tensor, labels: Tensor): number =>
      noGrad(() => scope(() => net.call(ink).argmax(1).eq(labels).sum().item()));
    this.net.eval();
    this.#test.loadStateDict({ epoch: 0, position: 0 });
    for await (const [ink, labels] of this.#test) {
      plain += hits(this.net.plain, ink, labels);
      bent += hits(this.net.bent, ink, labels);
      count += ink.shape[0] ?? 0;
      if (--left === 0) break;
    }
    this.net.train();
    return { plain: plain / count, bent: bent / count, count };
  }

  /** Looks at one digit of each kind; call before `look`. */
  async show(): Promise<void> {
    this.#test.loadStateDict({ epoch: 0, position: 0 });
    for await (const [ink, labels] of this.#test) {
      const all = Array.from(labels.toTypedArray(), Number);
      const chosen = Array.from({ length: 10 }, (_, digit) => all.indexOf(digit));
      this.#shown = { ink: ink.indexSelect(0, tensor(chosen, { dtype: 'int32' })), labels: chosen.map((i) => all[i] ?? 0) }; // prettier-ignore
      break;
    }
  }

  #readings(ink: Tensor): Reading[] {
    this.net.eval();
    const readings = noGrad(() =>
      scope(() => {
        const { plain, bent } = this.net;
        const shares = (net: DigitNet): number[][] => net.call(ink).softmax(1).tolist() as number[][];
        const shifts = bent.shifts(ink).toTypedArray() as Float32Array;
        const size = 2 * places * places;
        const [ofPlain, ofBent] = [shares(plain), shares(bent)];
        return ofPlain.map((row, i) => ({
          plain: row,
          bent: ofBent[i] ?? [],
          shifts: shifts.slice(i * size, (i + 1) * size),
        }));
      }),
    );
    this.net.train();
    return readings;
  }

  #read(ink: Tensor): Reading {
    try {
      return this.#readings(ink)[0] as Reading;
    } finally {
      ink.dispose();
    }
  }

  look(): BendView {
    const { ink, labels } = this.#shown ?? {};
    if (!ink || !labels) return [];
    const pixels = ink.toTypedArray() as Float32Array;
    const size = side * side;
    return this.#readings(ink).map((reading, i) => ({
      ...reading,
      ink: pixels.slice(i * size, (i + 1) * size),
      label: labels[i] ?? 0,
    }));
  }

  async measure(): Promise<Measure> {
    const { plain, bent, count } = await this.#right(Infinity);
    const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
    return {
      value: bent,
      reached: bent >= target && bent > plain,
      text:
        `Of ${count.toLocaleString('en')} warped test digits the deformable network reads ${percent(bent)} right, the ` +
        `plain one ${percent(plain)}; the goal is ${100 * target} %, and ahead of the plain one.`,
    };
  }

  dispose(): void {
    for (const optimizer of this.#optimizers) optimizer.dispose();
    this.#shown?.ink.dispose();
    this.net.dispose();
  }
}

export const task: Task<BendRules, BendView, BendAnswers> = {
  ...facts,
  async begin(data: Data, settings) {
    const { train, test } = await digits(data);
    const training = new Bend(train, test, settings);
    await training.show();
    return training;
  },
};
