// The training loop that the Node script and the page share. Everything that decides a bit of the losses is here or in
// the model: data order, initial values, schedule. Drawing and printing is not.

import { crossEntropy, manualSeed, noGrad, scope } from 'omnigrad';
import { DataLoader, type MnistDataset } from 'omnigrad/data';
import * as optim from 'omnigrad/optim';
import { DigitNet } from './model.js';

export interface TrainOptions {
  readonly seed: number;
  /** Steps in all; over as many epochs as that takes. */
  readonly steps: number;
  readonly batchSize: number;
}

export const defaults: TrainOptions = { seed: 1, steps: 1500, batchSize: 64 };

export interface Report {
  /** From 1. */
  readonly step: number;
  readonly loss: number;
  /** Images a second since the start. */
  readonly rate: number;
}

/** A network in training. */
export class Training {
  readonly net: DigitNet;
  readonly #options: TrainOptions;

  /** Call after init. */
  constructor(options: TrainOptions) {
    this.#options = options;
    manualSeed(options.seed);
    this.net = new DigitNet();
  }

  /** Trains on `data`, telling of every step. */
  async *run(data: MnistDataset): AsyncGenerator<Report> {
    const { seed, steps, batchSize } = this.#options;
    const optimizer = new optim.AdamW(this.net.parameters(), { lr: peakRate });
    const loader = new DataLoader(data, { batchSize, shuffle: true, seed, dropLast: true });
    const start = performance.now();
    let step = 0;
    while (step < steps) {
      for await (const [images, labels] of loader) {
        optimizer.lr = rateAt(step, steps);
        const loss = optimizer.minimize(() => crossEntropy(this.net.call(images), labels));
        step++;
        yield { step, loss, rate: (step * batchSize * 1000) / (performance.now() - start) };
        if (step >= steps) break;
      }
    }
    optimizer.dispose();
  }

  /** The share of `data` that the network reads right, 0 to 1. */
  async accuracy(data: MnistDataset): Promise<number> {
    let right = 0;
    for await (const [images, labels] of new DataLoader(data, { batchSize: 500 })) {
      right += noGrad(() => scope(() => this.net.call(images).argmax(1).eq(labels).sum().item()));
    }
    return right / data.length;
  }
}

const peakRate = 4e-3;

/** Up over the first twentieth, then straight down to a fiftieth of the peak. */
function rateAt(step: number, steps: number): number {
  const warm = Math.max(1, Math.floor(steps / 20));
  if (step < warm) return (peakRate * (step + 1)) / warm;
  return peakRate * Math.max(0.02, (steps - step) / (steps - warm));
}
