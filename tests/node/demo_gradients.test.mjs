// Demo "A picture from its gradients": targets against differences and formulas, losses where they are known, and runs
// that are taken up again.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as og from 'omnigrad';
import { demoData, demoParts, goesOn } from './lib/demos.mjs';
import { dice } from './lib/files.mjs';

let d;
before(async () => {
  await og.init({ variant: 'single' });
  const own = ['surface', 'modes', 'model', 'picture', 'equation', 'photo', 'task'];
  d = await demoParts(
    'gradients',
    ...own.map((name) => `gradients/${name}.ts`),
    'shared/session.ts',
    'shared/settings.ts',
  );
});
const near = (actual, expected, tolerance) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);
const roll = dice(7);
const chance = () => roll(1e6) / 1e6;
const settings = (more) => ({
  ...d.complete(d.commonRules(d.task.defaults), {}),
  ...d.complete(d.task.rules, {}),
  ...{ width: 16, points: 64, steps: 6, ...more },
});

test('the surface goes through every pixel, and its derivatives are those of its values', () => {
  const side = 9;
  const pixels = Float64Array.from({ length: side * side }, chance);
  const surface = new d.Surface(pixels, side);
  const centres = d.centres(side);
  pixels.forEach((value, i) => near(surface.at(...centres.subarray(2 * i, 2 * i + 2)), value, 1e-6));
  const h = 1e-4;
  for (let i = 0; i < 200; i++) {
    const [x, y] = [1.8 * chance() - 0.9, 1.8 * chance() - 0.9];
    const at = (dx, dy, ...which) => surface.at(x + dx * h, y + dy * h, ...which);
    near(surface.at(x, y, 1, 0), (at(1, 0) - at(-1, 0)) / (2 * h), 1e-4);
    near(surface.at(x, y, 0, 1), (at(0, 1) - at(0, -1)) / (2 * h), 1e-4);
    near(surface.at(x, y, 2, 0), (at(1, 0, 1, 0) - at(-1, 0, 1, 0)) / (2 * h), 0.02);
    near(surface.at(x, y, 0, 2), (at(0, 1, 0, 1) - at(0, -1, 0, 1)) / (2 * h), 0.02);
  }
});

test('a plane has one gradient and no Laplacian, up to the corners', () => {
  const side = 8;
  const centres = d.centres(side);
  const plane = Float64Array.from(
    { length: side * side },
    (_, i) => 3 * centres[2 * i] - 2 * centres[2 * i + 1],
  );
  const surface = new d.Surface(plane, side);
  const points = Float32Array.of(-1, -1, 1, 1, 0.3, -0.7, -1, 1);
  surface.gradient(points).forEach((value, i) => near(value, i % 2 === 0 ? 3 : -2, 1e-5));
  surface.laplacian(points).forEach((value) => near(value, 0, 1e-4));
});

test('what a Laplacian leaves open: powers of x + iy', () => {
  const side = 5;
  const centres = d.centres(side);
  const values = d.harmonics(side, 4).toTypedArray();
  for (let i = 0; i < side * side; i++) {
    const [x, y] = centres.subarray(2 * i, 2 * i + 2);
    const [r, angle] = [Math.hypot(x, y), Math.atan2(y, x)];
    near(values[9 * i], 1, 0);
    for (let k = 1; k <= 4; k++) {
      near(values[9 * i + 2 * k - 1], r ** k * Math.cos(k * angle), 1e-12);
      near(values[9 * i + 2 * k], r ** k * Math.sin(k * angle), 1e-12);
    }
  }
});

test('gradient and second derivatives of a known function', () =>
  og.scope(() => {
    const x = og.tensor(
      Array.from({ length: 10 }, () => [chance(), chance()]),
      { dtype: 'float64', requiresGrad: true },
    );
    const [a, b] = [x.at(':', 0), x.at(':', 1)];
    const slope = d.gradient(a.mul(3).sin().mul(b.square()), x);
    const [xx, yy] = [0, 1].map((i) => d.second(slope, x, i).tolist());
    x.tolist().forEach(([p, q], i) => {
      near(slope.tolist()[i][0], 3 * Math.cos(3 * p) * q * q, 1e-12);
      near(slope.tolist()[i][1], 2 * Math.sin(3 * p) * q, 1e-12);
      near(xx[i], -9 * Math.sin(3 * p) * q * q, 1e-12);
      near(yy[i], 2 * Math.sin(3 * p), 1e-12);
    });
  }));

test('photographs are means of blocks, from 0 to 1', async () => {
  const data = demoData(og.OmnigradError);
  const { decodePng } = await import('omnigrad/data');
  const picture = decodePng(await data.bytes('photos/astronaut.png'));
  const pixels = await d.photo(data, 'astronaut');
  const [column, row, block] = [20, 30, 3];
  const part = picture
    .at(':', [10 + row * block, 10 + (row + 1) * block], [150 + column * block, 150 + (column + 1) * block])
    .cast('float64')
    .mean([1, 2])
    .tolist();
  near(pixels[row * 64 + column], (0.299 * part[0] + 0.587 * part[1] + 0.114 * part[2]) / 255, 1e-12);
  for (const name of ['astronaut', 'cat', 'coffee']) {
    const all = await d.photo(data, name);
    assert.equal(all.length, 64 * 64);
    assert.ok(all.every((value) => value >= 0 && value <= 1));
  }
});

test('every mode goes its own way', () => {
  const amplitudes = new Float64Array(64);
  amplitudes[2 * 8 + 1] = 0.5; // sin(2 pi x) sin(3 pi y)
  const k = Math.PI ** 2 * (4 + 9);
  const [side, frames] = [6, 5];
  for (const [law, factor] of [
    [{ kind: 'heat', a: 0.03 }, (t) => Math.exp(-0.03 * k * t)],
    [{ kind: 'wave', a: 0.2 }, (t) => Math.cos(Math.sqrt(0.2 * k) * t)],
  ]) {
    const exact = d.exactFrames(amplitudes, law, side, frames);
    exact.forEach((value, i) => {
      const t = Math.floor(i / (side * side)) / (frames - 1);
      const [x, y] = [((i % side) + 0.5) / side, ((Math.floor(i / side) % side) + 0.5) / side];
      near(value, 0.5 * Math.sin(2 * Math.PI * x) * Math.sin(3 * Math.PI * y) * factor(t), 1e-12);
    });
  }
  const drawn = d.exactFrames(amplitudes, { kind: 'heat', a: 0.03 }, 32, 2).subarray(0, 32 * 32);
  d.modesOf(drawn, 32).forEach((value, i) => near(value, i === 17 ? 0.5 * Math.exp(-0.0015 * k) : 0, 1e-12));
});

test('a network that is 0 misses all of the derivatives', async () => {
  for (const mode of ['gradient', 'laplacian', 'heat', 'wave']) {
    const run = await d.Session.begin(
      d.task,
      demoData(og.OmnigradError),
      settings({ mode, points: 4096, lr: 1e-6 }),
    );
    og.noGrad(() => [run.training.net.head.weight, run.training.net.head.bias].forEach((p) => p.fill_(0)));
    const { loss } = await run.next();
    near(loss, 1, 0.15);
    run.dispose();
  }
});

test('the start and the edge hold before anything is learnt', async () => {
  const start = Uint8Array.from({ length: 32 * 32 }, (_, i) => (i % 32 > 8 && i % 32 < 20 ? 255 : 0));
  for (const mode of ['heat', 'wave']) {
    const run = await d.Session.begin(d.task, demoData(og.OmnigradError, { start }), settings({ mode }));
    const { network, exact, side, frames, error } = run.training.look();
    assert.equal(network.length, side * side * frames);
    const size = side * side;
    network.subarray(0, size).forEach((value, i) => near(value, exact[i], 1e-4));
    assert.ok(Math.max(...exact) > 0.5 && error > 0.05);
    run.dispose();
  }
});

test('a run that was left goes on with the same bits, and with what the visitor gave', async () => {
  const picture = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i * 7) % 256);
  for (const mode of ['gradient', 'laplacian', 'heat', 'wave'])
    await goesOn(d.Session, d.task, demoData(og.OmnigradError), settings({ mode }), 3);
  const given = await d.Session.begin(d.task, demoData(og.OmnigradError, { picture }), settings({}));
  await given.next();
  const kept = await given.keep();
  const next = await given.next();
  const later = await d.Session.begin(d.task, demoData(og.OmnigradError), settings({}), kept);
  assert.equal((await later.next()).loss, next.loss);
  for (const run of [given, later]) run.dispose();
});

test('a picture of another size is refused', () =>
  assert.rejects(
    d.Session.begin(d.task, demoData(og.OmnigradError, { picture: new Uint8Array(5) }), settings({})),
    /picture has 5 pixels; it must have 64 x 64/,
  ));
