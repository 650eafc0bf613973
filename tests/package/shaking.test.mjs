// Importing one thing keeps one thing: which files of the library end up in a bundle, for esbuild and for Rollup.
// (webpack: tests/consumers.)
import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { rollup } from 'rollup';
import { root } from './support/pack.mjs';

const dist = join(root, 'dist');

async function withEsbuild(text) {
  const { metafile } = await build({
    ...{
      stdin: { contents: text, resolveDir: root },
      bundle: true,
      format: 'esm',
      write: false,
      metafile: true,
    },
    logLevel: 'silent',
  });
  const [{ inputs }] = Object.values(metafile.outputs);
  return Object.entries(inputs).map(([file, { bytesInOutput }]) => [relative('dist', file), bytesInOutput]);
}

async function withRollup(text) {
  // The package's own name, resolved as npm would have it.
  const resolve = {
    name: 'self',
    resolveId: (id) =>
      id === 'entry' ? id : id.startsWith('omnigrad') ? import.meta.resolve(id).slice(7) : null,
    load: (id) => (id === 'entry' ? text : null),
  };
  const bundle = await rollup({
    ...{ input: 'entry', plugins: [resolve], treeshake: { moduleSideEffects: false } },
    onwarn: (warning) => assert.equal(warning.code, 'CIRCULAR_DEPENDENCY', warning.message),
  });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  return Object.entries(output[0].modules)
    .filter(([id]) => id !== 'entry')
    .map(([id, { renderedLength }]) => [relative(dist, id), renderedLength]);
}

// [what is imported, files that must be there, files that must not, bytes at most before minifying]
const cases = [
  [
    `export { Linear } from 'omnigrad/nn'`,
    /^nn\/linear\.js$/,
    /^(nn\/(conv|recurrent|loss|transformer|attention)|optim|loader\/|worker|data)/,
    120e3,
  ],
  [
    `export { SGD } from 'omnigrad/optim'`,
    /^optim\/sgd\.js$/,
    /^(optim\/(adam|lbfgs|muon|schedules)|nn|loader\/|worker|data)/,
    120e3,
  ],
  [
    `export { connect } from 'omnigrad/worker'`,
    /^worker\/link\.js$/,
    /^(tensor|dispatch|runtime|ops\.generated|scope|worker\/serve|loader\/(start|instance))/,
    30e3,
  ],
  [
    `export { init } from 'omnigrad/single'`,
    /^assets_single\.js$/,
    /^(assets_threads|tensor|nn|optim)/,
    50e3,
  ],
  [`export { default } from 'omnigrad/vite'`, /^vite\/index\.js$/, /^(tensor|runtime|loader|nn)/, 8e3],
];
for (const [name, bundle] of [
  ['esbuild', withEsbuild],
  ['Rollup', withRollup],
]) {
  for (const [text, there, absent, most] of cases) {
    test(`${name}: ${text}`, async () => {
      const kept = (await bundle(text)).filter(([, bytes]) => bytes > 0);
      const files = kept.map(([file]) => file);
      assert.ok(
        files.some((file) => there.test(file)),
        files.join(' '),
      );
      assert.deepEqual(
        files.filter((file) => absent.test(file)),
        [],
      );
      const bytes = kept.reduce((sum, [, size]) => sum + size, 0);
      assert.ok(bytes <= most, `${bytes} bytes, allowed are ${most}`);
    });
  }
}
