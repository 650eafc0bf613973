// Trains away from the page, reports, and can be held between two steps. Holding changes no bit of the losses: nothing
// here draws a random number or touches the network.

import { OmnigradError, type Tensor, init } from 'omnigrad';
import { type MnistBatch, type MnistDataset, mnist } from 'omnigrad/data';
import type { Command, Message, Sample } from './protocol.js';
import { type Report, type TrainOptions, Training } from './train.js';

/** Milliseconds between two messages to the page, and between two looks at what the page says. */
const messageEvery = 100;
const listenEvery = 20;
/** Digits that are shown of those read wrong. */
const wrongShown = 10;

interface Run {
  readonly id: number;
  stopped: boolean;
  /** Set while held: ends the wait. */
  paused: boolean;
  wake?: () => void;
}

interface Data {
  readonly train: MnistDataset;
  readonly test: MnistDataset;
  /** One test image of each digit, and as the page draws them. */
  readonly watched: Tensor;
}

const post = (message: Message): void => {
  self.postMessage(message);
};

// The training loop waits for promises only, so without a turn of the event loop no message would arrive. A timer would
// take 4 ms.
const channel = new MessageChannel();
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    channel.port1.onmessage = () => {
      resolve();
    };
    channel.port2.postMessage(undefined);
  });

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

async function open({ variant, threads, source }: Command & { type: 'open' }): Promise<Data> {
  const started = await init({ variant, ...(threads === undefined ? {} : { threads }) });
  post({ type: 'build', variant: started.variant, threads: started.threads, ...started.reason });
  const [train, test] = await Promise.all([mnist('train', { source }), mnist('test', { source })]);
  const first = samplesOf(
    test,
    Array.from({ length: 200 }, (_, i) => i),
  );
  const chosen = Array.from({ length: 10 }, (_, digit) => first.findIndex(({ label }) => label === digit));
  const [watched, labels] = test.batch(chosen);
  post({ type: 'ready', samples: toSamples([watched, labels]) });
  labels.dispose();
  return { train, test, watched };
}

async function train({ train, test, watched }: Data, run: Run, options: TrainOptions): Promise<void> {
  const training = new Training(options);
  try {
    // A message a step would keep the page busy; none is dropped.
    let reports: Report[] = [];
    let [sent, listened] = [performance.now(), performance.now()];
    const send = (): void => {
      post({ type: 'reports', run: run.id, reports, answers: training.read(watched) });
      reports = [];
      sent = performance.now();
    };
    for await (const report of training.run(train)) {
      reports.push(report);
      if (report.step === options.steps || performance.now() - sent > messageEvery) send();
      if (performance.now() - listened > listenEvery) {
        await turn();
        listened = performance.now();
      }
      if (run.paused && !run.stopped) {
        send();
        post({ type: 'paused', run: run.id });
        await new Promise<void>((resolve) => (run.wake = resolve));
      }
      if (run.stopped) return;
    }
    const { accuracy, wrong } = await training.test(test);
    const shown = wrong.slice(0, wrongShown);
    post({
      type: 'done',
      run: run.id,
      accuracy,
      tested: test.length,
      wrong: shown.length === 0 ? [] : readAgain(training, test, shown),
    });
  } finally {
    training.dispose();
  }
}

function readAgain(training: Training, data: MnistDataset, indices: readonly number[]) {
  const batch = data.batch(indices);
  const answers = training.read(batch[0]);
  const samples = toSamples(batch);
  for (const tensor of batch) tensor.dispose();
  return samples.flatMap((sample, i) => {
    const answer = answers[i];
    return answer ? [{ ...sample, answer }] : [];
  });
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  post({ type: 'error', code: OmnigradError.is(error) ? error.code : 'unknown', message });
}

let data: Promise<Data> | undefined;
let current: Run | undefined;
/** Ends when the run before has: two at once would share the random numbers. */
let queue: Promise<void> = Promise.resolve();

function hold(paused: boolean): void {
  if (!current) return;
  current.paused = paused;
  if (!paused) current.wake?.();
}

self.onmessage = ({ data: command }: MessageEvent<Command>) => {
  if (command.type === 'open') {
    data = open(command);
    data.catch(fail);
  } else if (command.type === 'start') {
    if (current) current.stopped = true;
    hold(false);
    const run: Run = { id: command.run, stopped: false, paused: false };
    current = run;
    queue = queue
      .then(async () => {
        if (data && !run.stopped) await train(await data, run, command.options);
      })
      .catch(fail);
  } else hold(command.type === 'pause');
};
