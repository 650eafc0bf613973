// The first network: handwritten digits.

import { type Tensor, crossEntropy, noGrad, scope } from 'omnigrad';
import { DataLoader, type MnistBatch, type MnistDataset } from 'omnigrad/data';
import * as optim from 'omnigrad/optim';
import { endless } from '../shared/batches.js';
import { digits } from '../shared/mnist.js';
import { rateAt } from '../shared/rate.js';
import type { Settings } from '../shared/session.js';
import type { Measure, Step, Task, Training } from '../shared/task.js';
import { type MnistRules, facts } from './facts.js';
import { DigitNet } from './model.js';

/** What the network reads in an image. */
export interface Answer {
  readonly digit: number;
  /** How sure it is, 0 to 1. */
  readonly share: number;
}

/** A digit to look at. */
export interface Sample {
  /** Brightness of 28 x 28 pixels, 0 to 255. */
  readonly pixels: Uint8Array;
  readonly label: number;
  readonly answer: Answer;
}

export interface MnistView {
  /** One test image of each digit. */
  readonly digits: readonly Sample[];
  /** After the test: how many were read wrong, and the first of them. */
  readonly wrong: { readonly count: number; readonly first: readonly Sample[] } | undefined;
}

/** Digits that are shown of those read wrong. */
const wrongShown = 10;
const target = 0.97;

class FirstNetwork implements Training<MnistView, Record<string, never>> {
  readonly net = new DigitNet();
  readonly parts;
  readonly answers = {};
  readonly #test: MnistDataset;
  readonly #settings: Settings<MnistRules>;
  readonly #optimizer: optim.AdamW;
  readonly #next: () => Promise<MnistBatch>;
  readonly #watched: readonly number[];
  #wrong: number[] | undefined;

  constructor(train: MnistDataset, test: MnistDataset, settings: Settings<MnistRules>) {
    [this.#test, this.#settings] = [test, settings];
    const { batch, seed, lr } = settings;
    const data = new DataLoader(train, { batchSize: batch, shuffle: true, seed, dropLast: true });
    this.#next = endless(data);
    this.#optimizer = new optim.AdamW(this.net.parameters(), { lr });
    this.parts = { net: this.net, optimizer: this.#optimizer, data };
    const first = labelsOf(test.batch(Array.from({ length: 200 }, (_, i) => i)));
    this.#watched = Array.from({ length: 10 }, (_, digit) => first.indexOf(digit));
  }

  async step(step: number): Promise<Step> {
    const { steps, lr, batch } = this.#settings;
    const [images, labels] = await this.#next();
    this.#optimizer.lr = rateAt(step, steps, lr);
    return {
      loss: this.#optimizer.minimize(() => crossEntropy(this.net.call(images), labels)),
      items: batch,
    };
  }

  look(): MnistView {
    const wrong = this.#wrong;
    return {
      digits: this.#samples(this.#watched),
      wrong: wrong && { count: wrong.length, first: this.#samples(wrong.slice(0, wrongShown)) },
    };
  }

  renewed(): void {
    this.#wrong = undefined;
  }

  /** The share of the test digits that it reads right, 0 to 1. */
  async measure(): Promise<Measure> {
    const wrong: number[] = [];
    let sample = 0;
    for await (const [images, labels] of new DataLoader(this.#test, { batchSize: 500 })) {
      const truth = labels.toTypedArray();
      this.#read(images).forEach(({ digit }, i) => {
        if (digit !== Number(truth[i])) wrong.push(sample + i);
      });
      sample += truth.length;
    }
    this.#wrong = wrong;
    const count = this.#test.length;
    const value = (count - wrong.length) / count;
    const text = `It reads ${(100 * value).toFixed(2)} % of ${count.toLocaleString('en')} test digits right.`;
    return { value, reached: value >= target, text };
  }

  #read(images: Tensor): Answer[] {
    return noGrad(() =>
      scope(() => {
        const shares = this.net.call(images).softmax(1);
        const sure = Array.from(shares.amax(1).toTypedArray(), Number);
        const digits = Array.from(shares.argmax(1).toTypedArray(), Number);
        return digits.map((digit, i) => ({ digit, share: sure[i] ?? 0 }));
      }),
    );
  }

  #samples(indices: readonly number[]): Sample[] {
    if (indices.length === 0) return [];
    return scope(() => {
      const [images, labels] = this.#test.batch(indices);
      const answers = this.#read(images);
      const values = images.toTypedArray() as Float32Array;
      const size = values.length / indices.length;
      return Array.from(labels.toTypedArray(), Number).map((label, i) => {
        const image = values.subarray(i * size, (i + 1) * size);
        const low = Math.min(...image);
        const scale = 255 / (Math.max(...image) - low);
        const pixels = Uint8Array.from(image, (v) => Math.round((v - low) * scale));
        return { pixels, label, answer: answers[i] as Answer };
      });
    });
  }

  dispose(): void {
    this.#optimizer.dispose();
    this.net.dispose();
  }
}

function labelsOf(batch: MnistBatch): number[] {
  const labels = Array.from(batch[1].toTypedArray(), Number);
  for (const tensor of batch) tensor.dispose();
  return labels;
}

export const task: Task<MnistRules, MnistView, Record<string, never>> = {
  ...facts,
  async begin(data, settings) {
    const { train, test } = await digits(data);
    return new FirstNetwork(train, test, settings);
  },
};
