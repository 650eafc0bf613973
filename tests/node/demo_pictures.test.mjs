// The parts of the demos Sharper and Four dimensions that a wrong sign would spoil unseen: homographies and what counts as
// a right match, the pairs of views, crops that belong together, scores.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import * as og from 'omnigrad';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

async function bundled(name, ...files) {
  const outfile = join(root, `dist/demos/node/${name}.mjs`);
  mkdirSync(dirname(outfile), { recursive: true });
  const contents = files.map((file) => `export * from './web/demos/${file}';`).join('\n');
  const stdin = { contents, resolveDir: root, loader: 'ts' };
  await build({ stdin, outfile, bundle: true, format: 'esm', platform: 'node', packages: 'external' });
  return import(pathToFileURL(outfile).href);
}

await og.init({ threads: 1 });
const matching = await bundled(
  'test-matching',
  'matching/geometry.ts',
  'matching/matches.ts',
  'matching/views.ts',
);
const sharper = await bundled('test-sharper', 'sharper/pictures.ts');
const near = (a, b, by = 1e-9) => assert.ok(Math.abs(a - b) <= by, `${a} and ${b}`);

test('a homography and its inverse, and lines that stay straight', () => {
  const { strength, homography, inverse, mapped, draws } = matching;
  og.manualSeed(3);
  for (let i = 0; i < 50; i++) {
    const h = homography(og.rand([draws]).toTypedArray(), strength);
    for (const point of [
      [0, 0],
      [1, 1],
      [-1, 0.5],
    ]) {
      const back = mapped(inverse(h), mapped(h, point));
      near(back[0], point[0]);
      near(back[1], point[1]);
    }
    const [a, b, c] = [-1, 0.2, 1].map((x) => mapped(h, [x, 0.3 * x - 0.2]));
    near((b[0] - a[0]) * (c[1] - a[1]), (b[1] - a[1]) * (c[0] - a[0]));
  }
});

test('half of a turn by its tangent', () => {
  const { homography, mapped } = matching;
  const none = { zoom: 1, stretch: 0, slant: 0, shift: 0 };
  const quarter = homography([1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], { ...none, turn: 1 });
  const [x, y] = mapped(quarter, [1, 0]);
  near(x, 0);
  near(y, 1);
});

test('matches count where the second view shows the cell, and within one cell', () => {
  const { matches, labels } = matching;
  const still = [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const all = Array.from({ length: 144 }, (_, cell) => cell);
  assert.deepEqual(labels(still), all);
  const count = (best, map) => matches(best, map).filter(({ right }) => right).length;
  assert.equal(count(all, still), 144);
  // One column on: right but for the last column, which has nowhere to go.
  assert.equal(
    count(
      all.map((cell) => (cell + 1) % 144),
      still,
    ),
    132,
  );
  assert.equal(
    count(
      all.map((cell) => (cell + 2) % 144),
      still,
    ),
    0,
  );
  // Two cells to the right: the last two columns leave the view.
  assert.equal(matches(all, [1, 0, 4 / 12, 0, 1, 0, 0, 0, 1]).length, 120);
});

test('the second view shows at the mapped place what the first shows', () => {
  const { pairsOf, mapped } = matching;
  og.manualSeed(5);
  // Smooth, so that a pixel more or less decides nothing, and strong against the camera's noise.
  const ramp = og.linspace(0, 1, 256);
  const picture = ramp
    .reshape([1, 1, 1, 256])
    .add(ramp.square().reshape([1, 1, 256, 1]))
    .mul(10);
  const { views, maps } = pairsOf([picture, picture]);
  assert.deepEqual(views.shape, [2, 2, 96, 96]);
  maps.forEach((map, n) => {
    const [a, b] = [0, 1].map((view) => views.at(n, view).toTypedArray());
    const seen = [];
    for (let row = 12; row < 96; row += 6)
      for (let column = 12; column < 96; column += 6) {
        const [x, y] = mapped(map, [(2 * column + 1) / 96 - 1, (2 * row + 1) / 96 - 1]);
        const [u, v] = [x, y].map((at) => Math.round(((at + 1) / 2) * 96 - 0.5));
        if (u >= 0 && u < 96 && v >= 0 && v < 96) seen.push([a[96 * row + column], b[96 * v + u]]);
      }
    assert.ok(seen.length > 30);
    // Each view has its own brightness and contrast, so: do they go together?
    const mean = (i) => seen.reduce((sum, pair) => sum + pair[i], 0) / seen.length;
    const [ma, mb] = [mean(0), mean(1)];
    const over = (f) => seen.reduce((sum, pair) => sum + f(pair[0] - ma, pair[1] - mb), 0);
    const r = over((p, q) => p * q) / Math.sqrt(over((p) => p * p) * over((_, q) => q * q));
    assert.ok(r > 0.99, `correlation ${r}`);
  });
});

test('a crop and its half are of one place, laid the same way', () => {
  const { Crops, halved } = sharper;
  og.manualSeed(1);
  const picture = og.interpolate(og.rand([1, 1, 20, 24]), { size: [80, 97], mode: 'cubic' }).clamp(0, 1);
  const pair = halved(picture);
  assert.deepEqual([pair.large.shape, pair.small.shape], [[1, 1, 80, 96], [1, 1, 40, 48]]); // prettier-ignore
  const { large, small } = new Crops([pair], 16).draw(12);
  assert.deepEqual([large.shape, small.shape], [[12, 1, 32, 32], [12, 1, 16, 16]]); // prettier-ignore
  const away = og.avgPool(large, 2).sub(small).abs().amax().item();
  assert.ok(away < 0.1, `${away}`);
  const elsewhere = og
    .avgPool(large, 2)
    .sub(small.flip([2]))
    .abs()
    .amax()
    .item();
  assert.ok(elsewhere > 0.2, `${elsewhere}`);
});

test('scores leave the border out', () => {
  const { score } = sharper;
  const truth = og.rand([1, 1, 40, 40]).mul(0.5).add(0.2);
  assert.deepEqual(score(truth, truth), { psnr: Infinity, ssim: 1 });
  const framed = truth.clone();
  og.noGrad(() => framed.at(0, 0, [0, 4]).copy_(og.ones([4, 40])));
  assert.equal(score(framed, truth).psnr, Infinity);
  near(score(truth.add(0.1), truth).psnr, 20, 1e-4);
});
