// "Read the line": strips of digits with unknown spacing, read without being told where a digit is.

import { Generator, type Tensor, ctcLoss, noGrad, scope, tensor } from 'omnigrad';
import { CharErrorRate } from 'omnigrad/metrics';
import { AdamW } from 'omnigrad/optim';
import { failure } from '../shared/failure.js';
import { digits } from '../shared/mnist.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Data, Measure, Step, Task, Training } from '../shared/task.js';
import { type LinesRules, classes, facts, frames, height, width } from './facts.js';
import { Reader, inkOf } from './model.js';
import { type Reading, greedy } from './reading.js';
import { StripMaker, type Strips } from './strips.js';

export interface ReadStrip extends Reading {
  /** Ink, 0 to 255: [32, 160]. */
  readonly pixels: Uint8Array;
  /** What is written there. */
  readonly truth: string;
}

/** Strips of test digits. */
export type LinesView = readonly ReadStrip[];

export type LinesAnswers = {
  /** Reads a strip of ink, 0 to 255: [32, 160]. */
  read(pixels: Uint8Array): Reading;
  /** Composes 1 to 8 digits to a strip, of test digits that the seed chooses, and reads it. */
  write(line: { readonly text: string; readonly seed: number }): ReadStrip;
};

/** Strips that are looked at, that make a point of the curve, and that are measured; none is trained on. */
const [shown, glance, tested] = [4, 64, 1000] as const;
const glanceEvery = 25;
const testSeed = 40;
/** Share of characters that may be wrong. */
const allowed = 0.1;

class Lines implements Training<LinesView, LinesAnswers> {
  readonly net: Reader;
  readonly parts;
  readonly answers: LinesAnswers = {
    read: (pixels) => {
      if (pixels.length !== height * width)
        throw failure('read', 'argument', `${pixels.length} pixels; a strip has ${height} x ${width}`);
      return this.#read({ pixels, texts: [''] })[0] as Reading;
    },
    write: ({ text, seed }) => this.#readAll(this.#test.write(text, new Generator(seed)))[0] as ReadStrip,
  };
  readonly #train: StripMaker;
  readonly #test: StripMaker;
  readonly #watched: Strips;
  readonly #optimizer: AdamW;
  readonly #settings: Settings<LinesRules>;

  constructor(train: StripMaker, test: StripMaker, settings: Settings<LinesRules>) {
    this.net = new Reader(settings.hidden);
    this.#train = train;
    this.#test = test;
    this.#settings = settings;
    this.#watched = test.make(glance, new Generator(testSeed));
    this.#optimizer = new AdamW(this.net.parameters(), { lr: settings.lr, weightDecay: 1e-4 });
    this.parts = { net: this.net, optimizer: this.#optimizer };
  }

  step(step: number): Promise<Step> {
    const { batch, steps, lr } = this.#settings;
    const strips = this.#train.make(batch);
    this.#optimizer.lr = rateAt(step, steps, lr);
    const loss = this.#optimizer.minimize(() => this.#loss(strips), { clipNorm: 5 });
    const look = step % glanceEvery === 0 || step === steps;
    return Promise.resolve({
      loss,
      items: batch,
      ...(look && { curves: { errors: this.#errors(this.#watched) } }),
    });
  }

  #loss({ pixels, texts }: Strips): Tensor {
    const logs = this.net.call(inkOf(tensor(pixels))).permute([1, 0, 2]);
    const targets = tensor(Int32Array.from(texts.join(''), (digit) => Number(digit) + 1));
    return ctcLoss(logs, targets, {
      inputLengths: tensor(new Int32Array(texts.length).fill(frames)),
      targetLengths: tensor(Int32Array.from(texts, ({ length }) => length)),
    });
  }

  #read({ pixels, texts }: Strips): Reading[] {
    this.net.eval();
    try {
      const all = noGrad(
        () =>
        scope(() => this.net.call(inkOf(tensor(pixels))).exp().toTypedArray()), // prettier-ignore
      ) as Float32Array;
      return texts.map((_, i) => {
        const shares = all.slice(i * frames * classes, (i + 1) * frames * classes);
        return { text: greedy(shares), shares };
      });
    } finally {
      this.net.train();
    }
  }

  #readAll(strips: Strips): ReadStrip[] {
    const size = height * width;
    return this.#read(strips).map((reading, i) => ({
      ...reading,
      pixels: strips.pixels.slice(i * size, (i + 1) * size),
      truth: strips.texts[i] ?? '',
    }));
  }

  /** Characters read wrong, left out or made up, as a share of those that are there. */
  #errors(strips: Strips): number {
    const rate = new CharErrorRate();
    rate.update(
      this.#read(strips).map(({ text }) => text),
      strips.texts,
    );
    return rate.compute();
  }

  look(): LinesView {
    const { pixels, texts } = this.#watched;
    return this.#readAll({
      pixels: pixels.subarray(0, shown * height * width),
      texts: texts.slice(0, shown),
    });
  }

  measure(): Promise<Measure> {
    const generator = new Generator(testSeed + 1);
    const part = 100;
    const rate = new CharErrorRate();
    let characters = 0;
    for (let done = 0; done < tested; done += part) {
      const strips = this.#test.make(part, generator);
      rate.update(
        this.#read(strips).map(({ text }) => text),
        strips.texts,
      );
      characters += strips.texts.join('').length;
    }
    const value = rate.compute();
    const text =
      `${(100 * value).toFixed(2)} % of ${characters.toLocaleString('en')} characters are read wrong, on ` +
      `${tested.toLocaleString('en')} strips of test digits; the goal is under ${100 * allowed} %.`;
    return Promise.resolve({ value, reached: value < allowed, text });
  }

  dispose(): void {
    this.#optimizer.dispose();
    this.net.dispose();
  }
}

export const task: Task<LinesRules, LinesView, LinesAnswers> = {
  ...facts,
  async begin(data: Data, settings) {
    const { train, test } = await digits(data);
    return new Lines(new StripMaker(train), new StripMaker(test), settings);
  },
};
