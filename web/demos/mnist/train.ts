// The training loop that the Node script and the page share. Everything that decides a bit of the losses is here or in
// the model: data order, initial values, schedule. Drawing and printing is not.

import { type Tensor, crossEntropy, manualSeed, noGrad, scope } from 'omnigrad';
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
  /** Images a second since the start, over the time spent in training: pauses and drawing do not count. */
  readonly rate: number;
}

/** What the network reads in an image. */
export interface Answer {
  readonly digit: number;
  /** How sure it is, 0 to 1. */
  readonly share: number;
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
    let step = 0;
    let busy = 0;
    let resumed = performance.now();
    try {
      while (step < steps) {
        for await (const [images, labels] of loader) {
          optimizer.lr = rateAt(step, steps);
          const loss = optimizer.minimize(() => crossEntropy(this.net.call(images), labels));
          step++;
          busy += performance.now() - resumed;
          yield { step, loss, rate: (step * batchSize * 1000) / busy };
          resumed = performance.now();
          if (step >= steps) break;
        }
      }
    } finally {
      optimizer.dispose();
    }
  }

  /** What it reads in images [N, 1, 28, 28]. Draws no random number, so training goes on as if nobody had asked. */
  read(images: Tensor): Answer[] {
    return noGrad(() =>
      scope(() => {
        const shares = this.net.call(images).softmax(1);
        const sure = Array.from(shares.amax(1).toTypedArray(), Number);
        const digits = Array.from(shares.argmax(1).toTypedArray(), Number);
        return digits.map((digit, i) => ({ digit, share: sure[i] ?? 0 }));
      }),
    );
  }

  /** The share of `data` that the network reads right, 0 to 1, and the numbers of the samples that it does not. */
  async test(data: MnistDataset): Promise<{ accuracy: number; wrong: number[] }> {
    const wrong: number[] = [];
    let sample = 0;
    for await (const [images, labels] of new DataLoader(data, { batchSize: 500 })) {
      const truth = labels.toTypedArray();
      this.read(images).forEach(({ digit }, i) => {
        if (digit !== Number(truth[i])) wrong.push(sample + i);
      });
      sample += truth.length;
    }
    return { accuracy: (data.length - wrong.length) / data.length, wrong };
  }

  dispose(): void {
    this.net.dispose();
  }
}

const peakRate = 4e-3;

/** Up over the first twentieth, then straight down to a fiftieth of the peak. */
function rateAt(step: number, steps: number): number {
  const warm = Math.max(1, Math.floor(steps / 20));
  if (step < warm) return (peakRate * (step + 1)) / warm;
  return peakRate * Math.max(0.02, (steps - step) / (steps - warm));
}
