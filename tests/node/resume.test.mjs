// A run that was stopped and resumed from its checkpoint gives the same bits as one that was never stopped, on both
// builds: model, optimizer, schedule, random state, and the place in the data.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as og from 'omnigrad';
import { DataLoader, TensorDataset, transforms } from 'omnigrad/data';
import { load, save } from 'omnigrad/io';
import * as nn from 'omnigrad/nn';
import * as optim from 'omnigrad/optim';
import { withFolder } from './lib/files.mjs';

after(() => og.terminate());

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3, { padding: 1 });
  head = new nn.Linear(4, 3);
  forward(x) {
    const h = og.dropout(this.conv.call(x).relu(), 0.2);
    return this.head.call(h.mean([2, 3]));
  }
}

/** All that a run is made of; `seed` decides what a checkpoint must replace. */
function makeRun(seed, makeOptimizer) {
  og.manualSeed(seed);
  const net = new Net();
  const optimizer = makeOptimizer(net.parameters());
  const schedule = new optim.CosineAnnealingLR(optimizer, { TMax: 20 });
  const generator = new og.Generator(5);
  const data = new TensorDataset(
    og.randn([22, 1, 6, 6], { generator }),
    og.randint(0, 3, [22], { generator }),
  );
  const crop = transforms.randomCrop(6, { padding: 1 });
  const loader = new DataLoader(data, {
    ...{ batchSize: 4, shuffle: true, seed: 8, prefetch: 1 },
    transform: ([x, y], draw) => [crop(x, draw), y],
  });
  return { net, optimizer, schedule, loader, step: 0 };
}

const checkpoint = ({ net, optimizer, schedule, loader, step }) => ({
  model: net.stateDict(),
  optimizer: optimizer.stateDict(),
  schedule: schedule.stateDict(),
  random: og.defaultGenerator().getState(),
  loader: loader.stateDict(),
  step,
});

function restore(run, state) {
  run.net.loadStateDict(state.model);
  run.optimizer.loadStateDict(state.optimizer);
  run.schedule.loadStateDict(state.schedule);
  og.defaultGenerator().setState(state.random);
  run.loader.loadStateDict(state.loader);
  run.step = state.step;
}

/** Trains up to a step; gives losses and rates. */
async function train(run, until) {
  const told = [];
  while (run.step < until)
    for await (const [x, y] of run.loader) {
      const loss = run.optimizer.minimize(() => og.crossEntropy(run.net.call(x), y));
      run.schedule.step();
      told.push([loss, run.optimizer.lr]);
      if (++run.step === until) break;
    }
  return told;
}

const bits = ({ net, optimizer }) => {
  const dict = { ...net.stateDict() };
  for (const [i, state] of Object.entries(optimizer.stateDict().state))
    for (const [name, value] of Object.entries(state)) dict[`${i}.${name}`] = value;
  return Object.fromEntries(
    Object.entries(dict).map(([name, value]) => {
      if (typeof value === 'number') return [name, value];
      const values = value.toTypedArray();
      return [name, Buffer.from(values.buffer).toString('hex')];
    }),
  );
};

const optimizers = {
  SGD: (params) => new optim.SGD(params, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
  AdamW: (params) => new optim.AdamW(params, { lr: 0.01 }),
  RMSprop: (params) => new optim.RMSprop(params, { lr: 0.01, momentum: 0.9, centered: true }),
};

const total = 15;
for (const variant of ['single', 'threads'])
  test(`${variant}: stopped at any step and resumed from the file, the bits are those of a run without a stop`, () =>
    withFolder(async (folder) => {
      og.terminate();
      await og.init({ variant });
      for (const [name, make] of Object.entries(optimizers)) {
        const whole = makeRun(1, make);
        const losses = await train(whole, total);
        // In the middle of an epoch of six steps, and at the end of one.
        for (const stop of name === 'AdamW' ? [1, 6, 10] : [10]) {
          const path = join(folder, `${name}.safetensors`);
          const first = makeRun(1, make);
          await train(first, stop);
          await save(path, checkpoint(first));
          const second = makeRun(99, make);
          restore(second, await load(path));
          assert.deepEqual(await train(second, total), losses.slice(stop), `${name}, ${stop}`);
          assert.deepEqual(bits(second), bits(whole), `${name}, ${stop}`);
        }
      }
    }));
