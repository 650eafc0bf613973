// fit: the same bits as the loop it replaces, going on from a checkpoint as if it had never stopped, and what it says.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { init, manualSeed, memory, mseLoss, scope, tensor } from 'omnigrad';
import { DataLoader } from 'omnigrad/data';
import * as nn from 'omnigrad/nn';
import { Adam, CosineAnnealingLR, SGD } from 'omnigrad/optim';
import {
  Checkpoint,
  EarlyStopping,
  evaluate,
  fit,
  progressBar,
  progressEvents,
  training,
} from 'omnigrad/train';

await init({ variant: 'single' });

/** y = 2a - b of 20 fixed points. */
const points = {
  length: 20,
  batch(indices) {
    const x = indices.map((i) => [(i % 5) / 5, Math.floor(i / 5) / 4]);
    return [tensor(x), tensor(x.map(([a, b]) => [2 * a - b]))];
  },
};

/** A network with dropout, so that random numbers are part of its state, and all that trains it. */
function setUp({ seed = 3, lr = 0.02, shuffle = true } = {}) {
  manualSeed(seed);
  const net = new nn.Sequential(new nn.Linear(2, 8), new nn.Tanh(), new nn.Dropout(0.2), new nn.Linear(8, 1));
  const optimizer = new Adam(net.parameters(), { lr });
  const schedule = new CosineAnnealingLR(optimizer, { TMax: 40 });
  const data = new DataLoader(points, { batchSize: 4, shuffle, seed });
  const loss = ([x, y]) => mseLoss(net.call(x), y);
  return { net, optimizer, schedule, data, loss, plain: { optimizer, schedule, loss, progress: false } };
}
const weights = (net) => Object.values(net.stateDict()).flatMap((x) => Array.from(x.toTypedArray()));
const losses = (events) => events.filter(({ kind }) => kind === 'step').map(({ values }) => values.loss);

/** Runs fit and keeps its events. */
async function kept({ net, data, plain }, options) {
  const events = [];
  const callbacks = [(event) => events.push(event), ...(options.callbacks ?? [])];
  const result = await fit(net, data, { ...plain, ...options, callbacks });
  return { events, result };
}

async function inFolder(fn) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-train-'));
  try {
    await fn(join(folder, 'run.safetensors'), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the losses of the loop that people write, to the last bit', async () => {
  const one = setUp();
  const { events, result } = await kept(one, { epochs: 3 });
  const own = setUp();
  const expected = [];
  for (let epoch = 0; epoch < 3; epoch++) {
    for await (const batch of own.data) {
      expected.push(own.optimizer.minimize(() => own.loss(batch)));
      own.schedule.step();
    }
  }
  assert.deepEqual(losses(events), expected);
  assert.deepEqual(weights(one.net), weights(own.net));
  assert.ok(result.history[2].values.loss < result.history[0].values.loss);
  assert.deepEqual(
    [result.step, result.epoch, result.ending, result.saved, result.history.length],
    [15, 3, 'done', undefined, 3],
  );
  const first = expected.slice(0, 5).reduce((a, b) => a + b) / 5;
  assert.equal(result.history[0].values.loss, first);
  assert.deepEqual(
    events
      .filter(({ kind }) => kind === 'step')
      .map(({ inEpoch, stepsInEpoch, total }) => [inEpoch, stepsInEpoch, total])[6],
    [2, 5, 15],
  );
});

for (const at of [7, 10, 11]) {
  test(`stopped at step ${at} and resumed: the bits of a run that never stopped`, () =>
    inFolder(async (target) => {
      const whole = setUp();
      const all = await kept(whole, { epochs: 4 });
      const checkpoint = { target, resume: true };
      const stop = (event, run) => event.kind === 'step' && event.step === at && run.stop();
      const first = await kept(setUp(), { epochs: 4, checkpoint, callbacks: [stop] });
      assert.deepEqual([first.result.ending, first.result.step, first.result.saved], ['stopped', at, target]);

      const second = setUp({ seed: 99 }); // other weights, other draws: all must come from the file
      const seeded = setUp();
      const rest = await kept({ ...second, data: seeded.data }, { epochs: 4, checkpoint });
      assert.deepEqual([...losses(first.events), ...losses(rest.events)], losses(all.events));
      assert.deepEqual(weights(second.net), weights(whole.net));
      const told = ({ history }) => history.map(({ epoch, step, values }) => ({ epoch, step, values }));
      assert.deepEqual(told(rest.result), told(all.result));
    }));
}

test('a checkpoint every few steps, at the end of an epoch, and a longer run from it', () =>
  inFolder(async (target) => {
    const { events } = await kept(setUp(), { epochs: 2, checkpoint: { target, every: 2 } });
    assert.deepEqual(
      events.filter(({ kind }) => kind === 'save').map(({ step }) => step),
      [2, 4, 5, 6, 8, 10, 10],
    );
    const more = await kept(setUp(), { epochs: 3, checkpoint: { target, resume: true } });
    assert.equal(more.result.step, 15);
    const whole = await kept(setUp(), { epochs: 3 });
    assert.deepEqual(losses(more.events), losses(whole.events).slice(10));
  }));

test('a checkpoint of other parts is refused before anything changes', () =>
  inFolder(async (target) => {
    const { net, optimizer } = setUp();
    await new Checkpoint({ model: net, optimizer }).save(target, { note: 'here' });
    assert.deepEqual(await new Checkpoint({ model: net, optimizer }).load(target), { note: 'here' });
    await assert.rejects(new Checkpoint({ model: net }).load(target), {
      code: 'state-dict',
      message: /it holds model, optimizer; the run has model/,
    });
    assert.throws(() => new Checkpoint({ model: {} }), /model .* has no stateDict and loadStateDict/);
    writeFileSync(target, readFileSync(target).subarray(0, 100));
    const before = weights(net);
    await assert.rejects(new Checkpoint({ model: net, optimizer }).load(target), { code: 'format' });
    assert.deepEqual(weights(net), before);
    // A file that is damaged is no file that is missing: resume does not start over.
    const { net: other, data, plain } = setUp();
    await assert.rejects(fit(other, data, { ...plain, checkpoint: { target, resume: true } }), {
      code: 'format',
    });
  }));

test('steps in place of epochs, over as many passes as that takes; the last pass is told too', async () => {
  const { events, result } = await kept(setUp(), { steps: 7 });
  assert.deepEqual([result.step, result.epoch, result.ending], [7, 1, 'done']);
  assert.deepEqual(
    result.history.map(({ step }) => step),
    [5, 7],
  );
  assert.equal(events.at(-1).kind, 'epoch');
});

test('gradients of several batches make a step; what is left over makes none', async () => {
  const one = setUp({ shuffle: false });
  const { events } = await kept(one, { epochs: 2, accumulate: 2 });
  const own = setUp({ shuffle: false });
  const expected = [];
  for (let epoch = 0; epoch < 2; epoch++) {
    let values = [];
    for await (const batch of own.data) {
      values.push(own.optimizer.minimize(() => own.loss(batch), { accumulate: 2 }));
      if (values.length < 2) continue;
      expected.push((values[0] + values[1]) / 2);
      values = [];
      own.schedule.step();
    }
    own.optimizer.zeroGrad();
  }
  assert.equal(expected.length, 4);
  assert.deepEqual(losses(events), expected);
  assert.deepEqual(weights(one.net), weights(own.net));
});

test('validation: evaluation mode, nothing recorded, means over samples; the mode comes back', async () => {
  const one = setUp();
  const modes = new Set();
  const metrics = ([x, y]) => {
    const output = one.net.call(x);
    modes.add(`${one.net.training} ${output.requiresGrad}`);
    return { loss: mseLoss(output, y), first: x.at(0, 0).add(0), rows: y.shape[0] };
  };
  const validation = { data: new DataLoader(points, { batchSize: 12 }), metrics, every: 2 };
  const { result } = await kept(one, { epochs: 3, validation });
  assert.deepEqual([...modes], ['false false']);
  assert.equal(one.net.training, true);
  const [first, second, third] = result.history.map(({ validation: given }) => given);
  assert.equal(first, undefined);
  // Batches of 12 and 8: the mean of 12 and 8 over 20 samples.
  assert.equal(second.rows, (12 * 12 + 8 * 8) / 20);
  assert.ok(third.loss > 0 && third.loss !== second.loss);
  const measured = await evaluate(one.net, validation.data, metrics);
  assert.deepEqual(measured, third);
  assert.deepEqual(await evaluate(one.net, [], metrics), {});
  await assert.rejects(
    evaluate(one.net, [1], () => ({ all: tensor([1, 2]) })),
    {
      code: 'argument',
      message: /all is a tensor of shape \[2\]; it must be a number or a tensor of one element/,
    },
  );
  assert.equal(one.net.training, true);
});

test('early stopping: by patience, on the value that is named', async () => {
  const stopper = new EarlyStopping({ patience: 2, minDelta: 0.1 });
  assert.deepEqual(
    [5, 4.95, 4, 4.2, NaN].map((value) => stopper.update(value)),
    [false, false, false, false, true],
  );
  assert.equal(stopper.best, 4);
  const upward = new EarlyStopping({ mode: 'max', patience: 1 });
  assert.deepEqual(
    [1, 2, 2].map((value) => upward.update(value)),
    [false, false, true],
  );

  const one = setUp({ lr: 0 });
  const { result } = await kept(one, {
    epochs: 9,
    validation: { data: one.data, metrics: () => ({ score: 1 }) },
    earlyStop: { monitor: 'score', mode: 'max', patience: 2 },
  });
  assert.deepEqual([result.ending, result.epoch], ['early', 3]);
  await assert.rejects(kept(setUp(), { epochs: 1, earlyStop: { monitor: 'accuracy' } }), {
    message: /earlyStop monitors 'accuracy'; there are: loss/,
  });
});

test('a signal ends the run after its step', async () => {
  const controller = new AbortController();
  const { result } = await kept(setUp(), {
    epochs: 50,
    signal: controller.signal,
    callbacks: [({ step }) => step === 8 && controller.abort()],
  });
  assert.deepEqual([result.ending, result.step], ['stopped', 8]);
  // Timers get their turn, or this would run to its end.
  const timed = new AbortController();
  const late = setTimeout(() => timed.abort(), 30);
  const endless = await kept(setUp(), { steps: 1e9, signal: timed.signal });
  clearTimeout(late);
  assert.equal(endless.result.ending, 'stopped');
});

test("a step of one's own, and further values beside the loss", async () => {
  const { net, data, loss } = setUp();
  const optimizer = new SGD(net.parameters(), { lr: 0.1 });
  const step = (batch, place) => ({
    loss: optimizer.minimize(() => loss(batch)),
    at: place.step,
    of: tensor([place.epoch]),
  });
  const { events } = await kept({ net, data, plain: { progress: false } }, { step, epochs: 2 });
  const values = events.filter(({ kind }) => kind === 'step').map((event) => event.values);
  assert.deepEqual(values.map(({ at, of }) => [at, of])[7], [7, 1]);

  const other = setUp();
  const withMore = (batch) => ({ loss: other.loss(batch), size: batch[0].shape[0] });
  const { result } = await kept(other, { loss: withMore, epochs: 1 });
  assert.equal(result.history[0].values.size, 4);
});

test('what becomes NaN stops the run, by name and step', async () => {
  const one = setUp();
  let step = 0;
  const loss = (batch) => (step++ < 2 ? one.loss(batch) : one.loss(batch).mul(NaN));
  await assert.rejects(kept(one, { loss, epochs: 1 }), {
    code: 'numeric',
    message: /loss is NaN at step 2; detectAnomaly/,
  });
});

test('what is wrong is told before the first step', async () => {
  const { net, data, plain, optimizer, loss } = setUp();
  const refused = (options, message, model = net, batches = data) =>
    assert.rejects(fit(model, batches, options), message);
  const quiet = { progress: false };
  await refused({ ...quiet }, /fit: give loss and optimizer, or step/);
  await refused({ ...quiet, loss }, /give loss and optimizer/);
  await refused({ ...plain, step: () => ({}) }, /step and loss exclude each other/);
  await refused({ ...quiet, step: () => ({}), accumulate: 2 }, /a step accumulates by itself/);
  await refused({ ...plain, epoch: 1 }, /unknown option 'epoch'; allowed: .*epochs/);
  await refused({ ...plain, epochs: 0 }, /epochs is 0; it must be a whole number from 1/);
  await refused({ ...plain, callbacks: [1] }, /callbacks is \[1\]; it must be a list of functions/);
  await refused(plain, /the model must be a Module/, {});
  await refused(plain, /the data is 5; it must be a DataLoader/, net, 5);
  await refused({ ...plain, epochs: 1 }, /the data gave no batches/, net, []);
  await refused({ ...plain, steps: 1, accumulate: 6 }, /the data gave 5 batches, fewer than accumulate/);
  await refused({ ...plain, checkpoint: { target: 'x' } }, /the data has no stateDict/, net, [[1]]);
  await refused({ ...plain, checkpoint: {} }, /target is undefined; it must be given/);
  await refused({ ...quiet, optimizer, loss: async () => 1 }, /a promise/);
  await refused({ ...quiet, step: () => 5 }, /it must give results by name/);
});

test('the same run as a sequence of events, and as events of a page', async () => {
  const { net, data, plain } = setUp();
  const options = { ...plain };
  delete options.progress;
  const kinds = [];
  for await (const { kind } of training(net, data, { ...options, epochs: 1 })) kinds.push(kind);
  assert.deepEqual(kinds, [...Array(5).fill('step'), 'epoch']);

  const heard = [];
  const target = new EventTarget();
  for (const kind of ['step', 'epoch'])
    target.addEventListener(kind, ({ detail }) => heard.push(detail.kind));
  await kept(setUp(), { epochs: 1, progress: progressEvents(target) });
  assert.deepEqual(heard, kinds);
});

test('the bar: one line on a terminal, lines alone elsewhere', async () => {
  const terminal = { text: '', isTTY: true, columns: 100, write: (text) => (terminal.text += text) };
  await kept(setUp(), { epochs: 2, progress: progressBar(terminal) });
  const lines = terminal.text.split('\n');
  assert.equal(lines.length, 3);
  assert.match(lines[0], /\r\u001b\[Kepoch 1 █+░+ 1\/5 {2}loss [\d.]+ {2}[\d.e+]+ steps\/s, 0:0\d left\r/);
  assert.match(lines[0], /\r\u001b\[Kepoch 1, step 5: loss [\d.]+ \([\d.]+ s\)$/);
  for (const drawn of terminal.text.split('\r\u001b[K')) assert.ok(drawn.trimEnd().length < 100);

  const file = { text: '', write: (text) => (file.text += text) };
  await kept(setUp(), { epochs: 2, progress: progressBar(file) });
  assert.match(file.text, /^epoch 1, step 5: loss [\d.]+ \(.*\)\nepoch 2, step 10: loss [\d.]+ \(.*\)\n$/);
});

test('a run holds no more after many steps than after few', async () => {
  const one = setUp();
  const live = [];
  await kept(one, {
    epochs: 40,
    validation: { data: one.data, metrics: (batch) => ({ loss: one.loss(batch) }) },
    callbacks: [({ kind }) => kind === 'epoch' && live.push(scope(() => memory().liveBytes))],
  });
  assert.equal(new Set(live.slice(1)).size, 1);
});
