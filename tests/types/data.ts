// Types of data, files and metrics: what a batch is follows from what a sample is. Compiled, never run.
import type { Tensor } from 'omnigrad';
import {
  ConcatDataset,
  DataLoader,
  type Dataset,
  TensorDataset,
  WeightedRandomSampler,
  csvRows,
  randomSplit,
  shuffled,
  transforms,
} from 'omnigrad/data';
import { browserStore, decodeTorch, load, save } from 'omnigrad/io';
import * as metrics from 'omnigrad/metrics';

interface Sample {
  image: Tensor;
  label: bigint;
  name: string;
  box: [number, number];
}
declare const pictures: Dataset<Sample>;

export async function batches(x: Tensor, y: Tensor): Promise<void> {
  for await (const batch of new DataLoader(pictures, { batchSize: 2 })) {
    const {
      image,
      label,
      name,
      box,
    }: { image: Tensor; label: Tensor; name: string[]; box: [Tensor, Tensor] } = batch;
    void [image, label, name, box];
  }
  const augment = transforms.compose(transforms.randomCrop(4), transforms.normalize(0.5, 0.5));
  const loader = new DataLoader(new TensorDataset(x, y), {
    sampler: new WeightedRandomSampler([1, 2], 4),
    transform: ([images, labels], draw) => ({ images: augment(images, draw), labels }),
  });
  for await (const { images, labels } of loader) void (images satisfies Tensor, labels satisfies Tensor);
  const sizes = new DataLoader(new ConcatDataset([pictures, pictures]), {
    collate: (samples) => samples.length,
  });
  for await (const size of sizes) void (size satisfies number);
  for await (const row of new DataLoader(shuffled(csvRows('a.csv'), { bufferSize: 9 }))) void row;
  const [train] = randomSplit(pictures, [0.5, 0.5]);
  if (train) for await (const { name } of new DataLoader(train)) void (name satisfies string[]);
  loader.loadStateDict(loader.stateDict());

  // @ts-expect-error a misspelt option
  new DataLoader(pictures, { batchsize: 2 });
  // @ts-expect-error a sample has no such entry
  new DataLoader(pictures, { collate: (samples) => samples.map(({ nothing }) => nothing) });
  // @ts-expect-error no such mode
  transforms.resize(4, { mode: 'sharp' });
}

export async function files(model: Record<string, Tensor>): Promise<void> {
  await save('run.safetensors', { model, step: 1, rates: [0.1, null] });
  await save(browserStore('run'), model, { metadata: { format: 'pt' } });
  const weights: Record<string, Tensor> = await load('run.safetensors');
  const { step } = await load<{ step: number }>(new Blob([]));
  const dict: Record<string, Tensor> = decodeTorch(new Uint8Array());
  void [weights, step satisfies number, dict];

  // @ts-expect-error functions are not saved
  await save('a', { run: () => 1 });
  // @ts-expect-error no place
  await save(5, model);
}

export function measures(x: Tensor): void {
  const f1 = new metrics.F1Score({ numClasses: 3 });
  f1.update(x, [1, 2]);
  const one: number = f1.compute();
  const each: number[] = new metrics.Precision({ numClasses: 3, average: 'none' }).compute();
  void [one, each];

  // @ts-expect-error how many classes must be given
  new metrics.Recall({});
  // @ts-expect-error text is compared with text
  new metrics.WordErrorRate().update(x, 'a');
}
