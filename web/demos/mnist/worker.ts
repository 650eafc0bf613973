// Trains away from the page. Holding a run changes no bit of its losses: nothing here but the training itself draws a
// random number or touches the network.

import { type Tensor, init } from 'omnigrad';
import { type MnistBatch, type MnistDataset, mnist } from 'omnigrad/data';
import { serve } from 'omnigrad/worker';
import { type Answer, type Report, type TrainOptions, Training } from './train.js';

/** Milliseconds between two looks at the digits that are watched. */
const watchEvery = 100;
/** Digits that are shown of those read wrong. */
const wrongShown = 10;

export interface Start {
  readonly variant: 'auto' | 'threads' | 'single';
  readonly threads?: number;
  /** URL of the folder with the MNIST files. */
  readonly source: string;
}

/** A digit to look at. */
export interface Sample {
  /** Brightness of 28 x 28 pixels, 0 to 255. */
  readonly pixels: Uint8Array;
  readonly label: number;
}

/** A step; now and then with what the network reads in the digits that are watched. */
export interface Step extends Report {
  readonly answers?: readonly Answer[];
}

export interface Result {
  readonly accuracy: number;
  readonly tested: number;
  /** Some that it reads wrong, and what it reads. */
  readonly wrong: readonly (Sample & { readonly answer: Answer })[];
}

interface Data {
  readonly train: MnistDataset;
  readonly test: MnistDataset;
  /** One test image of each digit, and as the page draws them. */
  readonly watched: Tensor;
}
let data: Data | undefined;

function toSamples([images, labels]: MnistBatch): Sample[] {
  const values = images.toTypedArray() as Float32Array;
  const size = 28 * 28;
  return Array.from(labels.toTypedArray(), Number).map((label, i) => {
    const image = values.subarray(i * size, (i + 1) * size);
    const low = Math.min(...image);
    const scale = 255 / (Math.max(...image) - low);
    return { pixels: Uint8Array.from(image, (v) => Math.round((v - low) * scale)), label };
  });
}

function samplesOf(data: MnistDataset, indices: readonly number[]): Sample[] {
  const batch = data.batch(indices);
  const samples = toSamples(batch);
  for (const tensor of batch) tensor.dispose();
  return samples;
}

function readAgain(training: Training, data: MnistDataset, indices: readonly number[]): Result['wrong'] {
  if (indices.length === 0) return [];
  const batch = data.batch(indices);
  const answers = training.read(batch[0]);
  const samples = toSamples(batch);
  for (const tensor of batch) tensor.dispose();
  return samples.flatMap((sample, i) => {
    const answer = answers[i];
    return answer ? [{ ...sample, answer }] : [];
  });
}

export const job = serve({
  /** Starts the build that the page asks for. */
  start: ({ variant, threads }: Start) => init({ variant, ...(threads === undefined ? {} : { threads }) }),

  /** Loads the digits; gives one of each to watch. */
  async load({ source }: Start): Promise<Sample[]> {
    const [train, test] = await Promise.all([mnist('train', { source }), mnist('test', { source })]);
    const first = samplesOf(
      test,
      Array.from({ length: 200 }, (_, i) => i),
    );
    const chosen = Array.from({ length: 10 }, (_, digit) => first.findIndex(({ label }) => label === digit));
    const [watched, labels] = test.batch(chosen);
    const samples = toSamples([watched, labels]);
    labels.dispose();
    data = { train, test, watched };
    return samples;
  },

  /** Trains from the start, then tests. */
  async *train(options: TrainOptions): AsyncGenerator<Step, Result> {
    if (!data) throw new Error('load the digits first');
    const { train, test, watched } = data;
    const training = new Training(options);
    try {
      let looked = performance.now();
      for await (const report of training.run(train)) {
        const look = report.step === options.steps || performance.now() - looked > watchEvery;
        yield look ? { ...report, answers: training.read(watched) } : report;
        if (look) looked = performance.now();
      }
      const { accuracy, wrong } = await training.test(test);
      return { accuracy, tested: test.length, wrong: readAgain(training, test, wrong.slice(0, wrongShown)) };
    } finally {
      training.dispose();
    }
  },
});
export type Job = typeof job;
