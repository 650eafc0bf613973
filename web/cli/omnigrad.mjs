#!/usr/bin/env node
// npx omnigrad info: the build that starts here, its threads, why, and its limits.
// npx omnigrad copy FOLDER [--library]: puts the files of both builds into FOLDER, for servers that know no node_modules
// and bundlers that copy no files; with --library the JavaScript too, for pages without a bundler.
import { cpSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const usage = `omnigrad ${version}

  omnigrad info                       the build that starts here, its threads, why, and its limits
  omnigrad copy FOLDER                puts the WebAssembly builds into FOLDER
  omnigrad copy FOLDER --library      and the JavaScript beside them, for pages without a bundler
`;

async function info() {
  const { features } = await import('../../dist/loader/features.js');
  const { buildId } = await import('../../dist/loader/build_id.js');
  const { init, schema, terminate } = await import('../../dist/index.js');
  const { simd, exceptions, sharedMemory, isolated, workers, cores } = features();
  const { variant, threads, reason, maxMemory } = await init();
  const lines = {
    omnigrad: `${version}, build ${buildId}`,
    engine: `Node ${process.versions.node}, V8 ${process.versions.v8}, ${process.platform} ${process.arch}`,
    build: `${variant}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`,
    reason: `${reason.code}: ${reason.message}`,
    memory: `the heap may grow to ${maxMemory / 1048576} MiB`,
    operations: schema().ops.length,
    processors: cores,
    features: Object.entries({ simd, exceptions, sharedMemory, isolated, workers })
      .map(([name, there]) => `${name} ${there ? 'yes' : 'no'}`)
      .join(', '),
  };
  terminate();
  for (const [name, value] of Object.entries(lines)) console.log(`${name.padEnd(12)}${value}`);
}

/** Everything of the library that a page loads: no source maps, no declarations. */
const isLibrary = (path) => statSync(path).isDirectory() || /\.(js|mjs|wasm)$/.test(path);
const isAsset = (path) => statSync(path).isDirectory() || /\.(mjs|wasm)$/.test(path);

function copy(folder, library) {
  mkdirSync(folder, { recursive: true });
  const from = join(root, library ? 'dist' : 'dist/assets');
  cpSync(from, folder, { recursive: true, filter: library ? isLibrary : isAsset });
  const shown = relative('.', folder) || '.';
  const count = readdirSync(folder, { recursive: true }).filter((name) => /\.\w+$/.test(name)).length;
  console.log(`${count} files in ${shown}`);
  console.log(
    library
      ? `import { init } from './${shown}/index.js';`
      : `await init({ assets: '/${shown}/' }); // as a URL`,
  );
}

function readArgs() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { library: { type: 'boolean' }, help: { type: 'boolean' } },
    });
  } catch (error) {
    return { problem: error.message };
  }
}

const { values, positionals: [command, folder, ...more] = [], problem } = readArgs();
const fits =
  (command === 'info' && folder === undefined && !values.library) ||
  (command === 'copy' && folder !== undefined);
if (values?.help) console.log(usage);
else if (problem || !fits || more.length > 0) {
  console.error(problem ? `omnigrad: ${problem}\n\n${usage}` : usage);
  process.exitCode = 2;
} else if (command === 'info') await info();
else copy(folder, values.library === true);
