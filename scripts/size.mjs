// npm run size [-- --check] [-- --families N]: bytes of what a page downloads, against their budgets, and the source
// files that take most of the single-threaded module. --check prints the budgets alone and fails where one is passed.
// Reads what `npm run build` made. The core's JavaScript is the main entry, bundled and minified.
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { root } from './lib/run.mjs';
import { families, gzipped } from './lib/wasm_size.mjs';

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, families: { type: 'string', default: '25' } },
});
process.chdir(root);

// Kilobytes of 1000 bytes, gzip level 9. For the module the project wants 250; this is what it has reached.
const budgets = { wasm: 435, 'core JavaScript': 25, glue: 24 };

async function coreBundle() {
  const { outputFiles } = await build({
    entryPoints: ['dist/index.js'],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    external: [...builtinModules, 'node:*'],
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].contents;
}

const rows = [['core JavaScript', 'core JavaScript', await coreBundle()]];
for (const variant of ['single', 'threads']) {
  rows.push([`omnigrad-${variant}.wasm`, 'wasm', readFileSync(`dist/assets/omnigrad-${variant}.wasm`)]);
  rows.push([`omnigrad-${variant}.mjs`, 'glue', readFileSync(`dist/assets/omnigrad-${variant}.mjs`)]);
}

const kilobytes = (bytes) => (bytes / 1000).toFixed(1).padStart(8);
let passed = 0;
console.log(`${'kB'.padEnd(24)}${'raw'.padStart(8)}${'gzip'.padStart(8)}${'budget'.padStart(8)}`);
for (const [name, kind, bytes] of rows) {
  const small = gzipped(bytes);
  const fits = small <= 1000 * budgets[kind];
  if (fits) passed++;
  const note = fits ? '' : `  over by ${kilobytes(small - 1000 * budgets[kind]).trim()}`;
  console.log(
    `${name.padEnd(24)}${kilobytes(bytes.length)}${kilobytes(small)}${String(budgets[kind]).padStart(8)}${note}`,
  );
}
if (values.check) {
  console.log(`${passed} passed, ${rows.length - passed} failed`);
  process.exitCode = passed === rows.length ? 0 : 1;
} else {
  const list = families(
    'dist/assets/omnigrad-single.wasm',
    'build/wasm-single/wasm/omnigrad-single.mjs.symbols',
    'build/wasm-single',
  );
  console.log(
    `\n${'functions of (single)'.padEnd(46)}${'count'.padStart(6)}${'raw'.padStart(8)}${'gzip'.padStart(8)}`,
  );
  for (const { name, functions, raw, gzip } of list.slice(0, Number(values.families))) {
    console.log(`${name.padEnd(46)}${String(functions).padStart(6)}${kilobytes(raw)}${kilobytes(gzip)}`);
  }
}
