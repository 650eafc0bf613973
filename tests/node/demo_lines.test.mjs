// Demo "Read the line": how strips are composed and readings decoded; runs that are looked at and taken up again.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { MnistDataset } from 'omnigrad/data';
import { demoData, demoParts, goesOn } from './lib/demos.mjs';

let d;
before(async () => {
  await og.init({ variant: 'single' });
  const own = ['strips', 'reading', 'model', 'facts', 'task'].map((name) => `lines/${name}.ts`);
  d = await demoParts('lines', ...own, 'shared/session.ts', 'shared/settings.ts');
});

// Digits that can be told apart by their ink: digit k is a bar, 20 rows high and 6 columns wide, of brightness 100 + 10 k.
function bars() {
  const values = new Uint8Array(10 * 784);
  for (let k = 0; k < 10; k++)
    for (let y = 4; y < 24; y++) values.fill(100 + 10 * k, k * 784 + y * 28 + 11, k * 784 + y * 28 + 17);
  return new MnistDataset(
    { shape: [10, 28, 28], values },
    { shape: [10], values: Uint8Array.from({ length: 10 }, (_, k) => k) },
  );
}
const settings = (more) => ({
  ...d.complete(d.commonRules(d.task.defaults), {}),
  ...d.complete(d.task.rules, {}),
  ...{ batch: 4, hidden: 8, steps: 6, ...more },
});

// What is written on a strip of bars, where they do not overlap: brightness along the row with most ink.
function runsOf(strip) {
  const columns = Array.from({ length: 160 }, (_, x) =>
    Math.max(...Array.from({ length: 32 }, (_, y) => strip[y * 160 + x])),
  );
  const tops = columns.filter(
    (value, x) => value >= columns[x - 1] && value >= columns[x + 1] && value >= 100,
  );
  return tops.filter((value, i) => value !== tops[i - 1]).map((value) => (value - 100) / 10);
}

test('strips say what their texts say, and a seed says all', () => {
  const maker = new d.StripMaker(bars());
  const { pixels, texts } = maker.make(200, new og.Generator(5));
  assert.equal(pixels.length, 200 * 32 * 160);
  const lengths = new Set(texts.map(({ length }) => length));
  for (let n = 3; n <= 8; n++) assert.ok(lengths.has(n), `no strip of ${n}`);
  assert.ok(texts.every((text) => /^\d{3,8}$/.test(text)));
  let compared = 0;
  texts.forEach((text, i) => {
    const seen = runsOf(pixels.subarray(i * 32 * 160, (i + 1) * 32 * 160));
    if (seen.length !== text.length) return; // overlapping, or twice the same
    compared++;
    assert.equal(seen.join(''), text);
  });
  assert.ok(compared > 50, `${compared} could be compared`);
  const again = maker.make(200, new og.Generator(5));
  assert.deepEqual(again, { pixels, texts });
  assert.notDeepEqual(maker.make(200, new og.Generator(6)).texts, texts);
});

test('the default generator is drawn from where no other is given, and only then', () => {
  const maker = new d.StripMaker(bars());
  og.manualSeed(3);
  const first = maker.make(2).texts;
  const state = og.defaultGenerator().getState();
  maker.make(2, new og.Generator(9));
  maker.write('123', new og.Generator(9));
  assert.deepEqual(og.defaultGenerator().getState(), state);
  og.manualSeed(3);
  assert.deepEqual(maker.make(2).texts, first);
});

test('typed digits are written whole, whatever they are', () => {
  const maker = new d.StripMaker(bars());
  for (const text of ['7', '11', '00000000', '13579246'])
    for (let seed = 0; seed < 20; seed++) {
      const { pixels, texts } = maker.write(text, new og.Generator(seed));
      assert.deepEqual(texts, [text]);
      const last = 100 + 10 * Number(text.at(-1));
      assert.ok(
        pixels.some((ink) => ink === last),
        `${text}: the last digit is missing`,
      );
    }
  for (const text of ['', '123456789', '1a', ' 1'])
    assert.throws(
      () => maker.write(text, new og.Generator(1)),
      (error) => og.OmnigradError.is(error) && error.code === 'argument',
    );
});

test('greedy: repeats are one, what nothing parts are two', () => {
  const shares = (classes) => {
    const all = new Float32Array(40 * 11);
    for (let i = 0; i < 40; i++) all[i * 11 + (classes[i] ?? 0)] = 1;
    return all;
  };
  assert.equal(d.greedy(shares([])), '');
  assert.equal(d.greedy(shares([2, 2, 0, 2, 3, 3, 0, 0, 10])), '1129');
  assert.equal(d.greedy(shares([1, 1, 1])), '0');
  assert.equal(d.greedy(shares(new Array(40).fill(5))), '4');
});

test('the network gives log-probabilities for every four columns', () =>
  og.scope(() => {
    const net = new d.Reader(8);
    const y = net.call(d.inkOf(og.tensor(new Uint8Array(2 * 32 * 160).fill(9))));
    assert.deepEqual(y.shape, [2, 40, 11]);
    for (const sum of y.exp().sum(-1).toTypedArray()) assert.ok(Math.abs(sum - 1) < 1e-5);
    net.dispose();
  }));

test('a run that was left goes on with the same bits, looked at or not', () =>
  goesOn(d.Session, d.task, demoData(og.OmnigradError), settings({}), 3));

test('a strip is read as it is told to be', async () => {
  const run = await d.Session.begin(d.task, demoData(og.OmnigradError), settings({}));
  const written = run.training.answers.write({ text: '2024', seed: 4 });
  assert.equal(written.truth, '2024');
  const read = run.training.answers.read(written.pixels);
  assert.deepEqual([read.text, read.shares], [written.text, written.shares]);
  assert.equal(d.greedy(read.shares), read.text);
  assert.throws(() => run.training.answers.read(new Uint8Array(3)), /3 pixels; a strip has 32 x 160/);
  assert.equal(run.training.net.training, true);
  run.dispose();
});
