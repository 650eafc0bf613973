// Every entry, without the DOM library and without Node's types. Compiled, never run.
import { type InitResult, type Tensor, crossEntropy, init, tensor, terminate } from 'omnigrad';
import { DataLoader, TensorDataset, mnist, readCsv, transforms } from 'omnigrad/data';
import { type Source, browserStore, load, save } from 'omnigrad/io';
import { Accuracy } from 'omnigrad/metrics';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import { init as initSingle } from 'omnigrad/single';
import { fit } from 'omnigrad/train';
import omnigrad from 'omnigrad/vite';
import { type Run, connect, serve } from 'omnigrad/worker';

interface Options {
  readonly steps: number;
}
const job = serve({
  async *train({ steps }: Options, { signal, restored, checkpoint }) {
    const begun: InitResult = await init({ assets: '/assets/', threads: 2 });
    const net = new nn.Linear(2, 2);
    const opt = new optim.AdamW(net.parameters(), { lr: 1e-3 });
    for (let step = 0; step < steps && !signal.aborted; step++) {
      const loss = opt.minimize(() => crossEntropy(net.call(tensor([[1, 2]])), tensor([0n])));
      checkpoint([restored, begun.reason.code]);
      yield { step, loss };
    }
    return 'done' as const;
  },
  predict: (pixels: Float32Array) => Array.from(pixels),
  *count() {
    yield 1;
  },
});
type Job = typeof job;

const page = connect<Job>(() => ({ postMessage: () => undefined, terminate: () => undefined }), {
  restarts: 2,
});
const run: Run<{ step: number; loss: number }, 'done'> = page.train({ steps: 3 });
const answer: Promise<number[]> = page.predict(new Float32Array(4));
const counted: Run<number> = page.count();
const ended: Promise<void> = run.pause();
// @ts-expect-error an option that is missing
page.train({});
// @ts-expect-error no such handler
page.test();
// @ts-expect-error an argument of another type
page.predict('pixels');

export async function use(x: Tensor): Promise<number> {
  let sum = 0;
  for await (const { loss } of run) sum += loss;
  const loader = new DataLoader(await mnist('train', { source: '/data' }), { batchSize: 2 });
  for await (const [images] of loader) sum += images.numel;
  await initSingle();
  terminate();
  page.close();
  return sum + x.numel + omnigrad({ isolate: false }).name.length;
}
export const values = [answer, counted, ended];

export async function files(x: Tensor, source: Source): Promise<void> {
  const optimizer = new optim.SGD([x], { lr: 0.1 });
  await save('run.safetensors', { x, step: 1, optimizer: optimizer.stateDict() });
  await save(browserStore('run'), { x });
  const { step } = await load<{ step: number }>(source);
  const accuracy = new Accuracy({ numClasses: 2 });
  const flip = transforms.randomHorizontalFlip();
  for await (const [images] of new DataLoader(new TensorDataset(x), {
    transform: ([a], draw) => [flip(a, draw)],
  }))
    accuracy.update(images as Tensor, [step]);
  const column: (number | string)[] = (await readCsv('a.csv')).column('a');
  void [accuracy.compute() satisfies number, column];
}

export async function loop(net: nn.Linear, optimizer: optim.SGD, x: Tensor): Promise<number> {
  const { step } = await fit(net, [[x]], { optimizer, loss: ([batch]) => net.call(batch as Tensor).sum() });
  return step;
}
