// What a user writes must type-check, and what is wrong must not. Compiled, never run.
import {
  type Tensor,
  arange,
  conv,
  crossEntropy,
  grad,
  hessian,
  init,
  maxPool,
  noGrad,
  scope,
  sum,
  tensor,
} from 'omnigrad';
import { DataLoader, mnist } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 16, 3, { padding: 1 });
  bend = new nn.DeformConv2dPack(16, 32, 3, { padding: 1 });
  head = new nn.Linear(32, 10);
  forward(x: Tensor): Tensor {
    return this.head.call(this.bend.call(this.conv.call(x).relu()).relu().mean([2, 3]));
  }
}

class Pair extends nn.Module<[a: Tensor, b?: Tensor], { sum: Tensor }> {
  forward(a: Tensor, b?: Tensor): { sum: Tensor } {
    return { sum: b ? a.add(b) : a };
  }
}

export function layers(x: Tensor, index: Tensor, net: Net): void {
  const [y, indices]: [Tensor, Tensor] = new nn.MaxPool2d(2, { returnIndices: true }).call(x);
  const plain: Tensor = new nn.MaxPool2d(2).call(x);
  const [out, [h, c]] = new nn.LSTM(3, 4, { bidirectional: true }).call(x, null, { lengths: [3, 2] });
  const [attended, weights]: [Tensor, Tensor | null] = new nn.MultiheadAttention(8, 2).call(x, x, x, {
    isCausal: true,
  });
  const loss: Tensor = new nn.CrossEntropyLoss({ labelSmoothing: 0.1 }).call(out, index);
  const { missingKeys } = net.loadStateDict({}, { strict: false, keyMap: [[/^module\./, '']] });
  const hook = net.registerForwardHook((_module, [input], output) => output.add(input.sum()));
  net.conv.registerFullBackwardHook((_module, [g]) => (g ? [g.mul(2)] : undefined));
  const table: string = nn.summary(net, x).toString();
  const list: nn.Linear | undefined = new nn.ModuleList([new nn.Linear(1, 2)]).at(0);
  net
    .to('float64')
    .requiresGrad_(false)
    .apply((module) => module.eval());
  hook.remove();
  void [y, indices, plain, h, c, attended, weights, loss, missingKeys, table, list];

  // @ts-expect-error an LSTM's state is a pair
  new nn.LSTM(3, 4).call(x, h);
  // @ts-expect-error without returnIndices there is one tensor
  const [only] = new nn.AdaptiveMaxPool1d(2).call(x);
  void only;
  // @ts-expect-error halves are storage
  net.to('float16');
  // @ts-expect-error a misspelt option
  new nn.Conv2d(1, 2, 3, { paddings: 1 });
  // @ts-expect-error what a summary runs with is what the module takes
  nn.summary(net, 3);
}

export async function train(): Promise<void> {
  const { variant, threads, reason } = await init({ threads: 2 });
  const told: ['threads' | 'single', number, string] = [variant, threads, reason.message];
  const net = new Net();
  const opt = new optim.AdamW(net.parameters(), { lr: 1e-3 });
  const loader = new DataLoader(await mnist('train'), { batchSize: 64, shuffle: true, seed: 1 });
  for await (const [x, y] of loader) {
    const loss: number = opt.minimize(() => crossEntropy(net.call(x), y));
    const aux: { loss: number; scores: Tensor } = opt.minimize(() => {
      const scores = net.call(x);
      return { loss: crossEntropy(scores, y), scores };
    });
    void [told, loss, aux];
  }
}

export function use(x: Tensor, w: Tensor): void {
  const { sum: total } = new Pair().call(x, w);
  const one: Tensor = maxPool(x, 2, { stride: 2 });
  const [values, indices] = maxPool(x, [2, 2], { returnIndices: true });
  const y = conv(x, w, {
    bias: null,
    padding: [
      [1, 0],
      [1, 0],
    ],
    stride: [1, 2],
  });
  const [g] = grad(sum(y), [x], { createGraph: true });
  const rows: Tensor = noGrad(() => scope(() => total.at(':', [0, 4], -1, null, '...')));
  const name: readonly number[] = hessian((a) => a.mul(2).sum(), x).shape;
  using mine = tensor([[1, 2]], { dtype: 'float64', requiresGrad: true });
  x.copy_(w).fill_(0).softmax(-1);
  void [one, values, indices, g, rows, name, mine, arange(0, 10, 2, { dtype: 'int32' })];

  // @ts-expect-error a misspelt option
  conv(x, w, { strides: 2 });
  // @ts-expect-error a missing argument
  maxPool(x);
  // @ts-expect-error no such choice
  x.cast('float8');
  // @ts-expect-error a string is no tensor
  x.add('1');
  // @ts-expect-error forward takes tensors
  new Net().call(1);
}

export function optimise(net: Net, loss: () => Tensor): void {
  const groups = [{ params: net.head.parameters(), lr: 0.1 }, { params: net.conv.parameters() }];
  const opt = new optim.SGD(groups, { momentum: 0.9 });
  const schedule = new optim.SequentialLR(opt, {
    schedulers: [new optim.LinearLR(opt, { totalIters: 5 }), new optim.CosineAnnealingLR(opt, { TMax: 10 })],
    milestones: [5],
  });
  opt.minimize(loss, { clipNorm: 1, accumulate: 4 });
  schedule.step();
  opt.loadStateDict(opt.stateDict());
  const value: number = new optim.LBFGS(net.parameters(), { lineSearchFn: 'strongWolfe' }).step(loss);
  const norm: number = optim.clipGradNorm(net.parameters(), 1, { normType: Infinity });
  nn.init.kaimingNormal_(net.head.weight, { mode: 'fanOut', nonlinearity: 'relu' });
  void [value, norm];

  // @ts-expect-error a misspelt option
  new optim.Adam(net.parameters(), { learningRate: 1 });
  // @ts-expect-error an option of another optimizer
  new optim.Lion([{ params: net.parameters(), eps: 1 }]);
  // @ts-expect-error what must be given
  new optim.OneCycleLR(opt, { totalSteps: 10 });
}
