// The types of omnigrad/train: what batches are follows from the data, and what is wrong does not compile.
import { crossEntropy, type Tensor } from 'omnigrad';
import { DataLoader, type MnistDataset } from 'omnigrad/data';
import type * as nn from 'omnigrad/nn';
import { AdamW, OneCycleLR } from 'omnigrad/optim';
import {
  type TrainingEvent,
  Checkpoint,
  evaluate,
  fit,
  profile,
  progressBar,
  training,
} from 'omnigrad/train';

export async function train(net: nn.Module, digits: MnistDataset, signal: AbortSignal): Promise<number> {
  const data = new DataLoader(digits, { batchSize: 64 });
  const optimizer = new AdamW(net.parameters());
  const schedule = new OneCycleLR(optimizer, { maxLr: 1e-3, totalSteps: 10 });
  const loss = ([x, y]: readonly [Tensor, Tensor]): Tensor => crossEntropy(net.call(x), y);
  const { history, saved } = await fit(net, data, {
    loss: ([x, y]) => ({ loss: crossEntropy(net.call(x), y), size: x.numel }),
    ...{ optimizer, schedule, signal, epochs: 2, clipNorm: 1, accumulate: 2 },
    validation: { data, metrics: ([x, y]) => ({ loss: loss([x, y]), rows: x.shape[0] ?? 0 }) },
    checkpoint: { target: 'run.safetensors', every: 100, resume: true },
    earlyStop: { monitor: 'loss', patience: 2 },
    callbacks: [
      (event, run) => {
        if (event.kind === 'epoch' && (event.validation?.['loss'] ?? 0) > 9) run.stop();
      },
    ],
    progress: progressBar(),
  });
  const events: AsyncGenerator<TrainingEvent> = training(net, data, { loss, optimizer });
  const { rows } = await evaluate(net, data, ([x]) => ({ rows: x.numel }));
  const { result, ops } = profile(() => optimizer.minimize(() => net.call(ops0())));
  const words: string = await new Checkpoint({ net, optimizer, data }).load<string>('run.safetensors');
  void [events, rows, result.toFixed(2), ops[0]?.name, saved?.length, words];

  // @ts-expect-error a misspelt option
  await fit(net, data, { loss, optimizer, epoch: 1 });
  // @ts-expect-error a batch of another shape
  await fit(net, data, { loss: (batch: string) => net.call(batch), optimizer });
  // @ts-expect-error no module
  await fit({}, data, { loss, optimizer });
  // @ts-expect-error a value that is no number
  await fit(net, data, { step: () => ({ loss: 'low' }) });
  return history.at(-1)?.values['loss'] ?? NaN;
}

declare function ops0(): Tensor;
