// The packed package in the hands of every bundler and engine: each builds a small app that trains on the page and in a
// worker, or in a script, and shows the same losses to the last bit. Prepared and run by scripts/consumers.mjs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from '../e2e/support/chromium.mjs';
import { app, command, home, serveFolder, tool, visit } from './support.mjs';

const node = process.execPath;
let browser, losses;
before(async () => {
  browser = await launch();
  app('web');
  app('scripts');
  losses = JSON.parse(await command(join(home, 'apps/scripts'), node, 'import.mjs')).losses;
  assert.ok(losses.length === 30 && losses[29] < losses[0]);
});
after(() => browser?.close());

function check(shown, variant) {
  const reason = variant === 'threads' ? 'ok' : 'not-isolated';
  assert.deepEqual(shown, {
    page: { variant, reason, losses },
    worker: { variant, reason, losses },
    complaints: [],
  });
}

/** Visits what was built, isolated and not. */
async function checkFolder(folder, query = '') {
  for (const variant of ['threads', 'single']) {
    const site = await serveFolder(folder, variant === 'threads');
    try {
      check(await visit(browser, site.url + query), variant);
    } finally {
      site.close();
    }
  }
}

/** A server that is a program: waits for it to answer, visits it, ends it. */
async function checkServer(folder, program, args, port, look) {
  const child = spawn(program, args, { cwd: folder, env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const url = `http://localhost:${port}/`;
  try {
    for (let tries = 0; ; tries++) {
      if (
        await fetch(url).then(
          (r) => r.ok,
          () => false,
        )
      )
        break;
      if (tries > 240 || child.exitCode !== null)
        throw new Error(`no answer from ${args.join(' ')}: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    await look(url);
  } finally {
    child.kill();
    await ended;
  }
}

for (const [name, vite] of [
  ['Vite 8', 'vite'],
  ['Vite 7', 'vite7'],
]) {
  test(`${name} build`, async () => {
    const folder = app('web', `${vite}-build`);
    await command(folder, node, tool(`${vite}/bin/vite.js`), 'build');
    await checkFolder(join(folder, 'dist'));
  });
}

test('Vite 8 development server', async () => {
  const folder = app('web', 'vite-dev');
  const args = [tool('vite/bin/vite.js'), '--port', '4173', '--strictPort'];
  await checkServer(folder, node, args, 4173, async (url) => check(await visit(browser, url), 'threads'));
});

test('webpack 5', async () => {
  const folder = app('web', 'webpack');
  const script = `require('webpack')(require('./webpack.config.cjs'), (error, stats) => {
    if (error || stats.hasErrors()) throw error ?? new Error(stats.toString());
  });`;
  await command(folder, node, '-e', script);
  cpSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
  await checkFolder(join(folder, 'dist'));
});

test('webpack keeps one layer of those imported by name', async () => {
  const folder = app('web', 'webpack-layer');
  writeFileSync(join(folder, 'main.js'), `export { Linear } from 'omnigrad/nn';`);
  const script = `const config = require('./webpack.config.cjs');
    const output = { ...config.output, library: { type: 'module' } };
    require('webpack')({ ...config, output, experiments: { outputModule: true } }, (error, stats) => {
      if (error || stats.hasErrors()) throw error ?? new Error(stats.toString());
    });`;
  await command(folder, node, '-e', script);
  const text = readFileSync(join(folder, 'dist/main.js'), 'utf8');
  // A layer is known by the name that its errors give; the loader by the files that it looks for.
  assert.match(text, /Linear/);
  for (const other of ['MultiheadAttention', 'TransformerEncoder', 'LSTM', 'BatchNorm', 'omnigrad-threads'])
    assert.ok(!text.includes(other), `${other} is in the bundle`);
  assert.ok(text.length < 60000, `${text.length} bytes`);
});

test('Next: page, worker and server', async () => {
  const folder = app('next');
  for (const name of ['train.js', 'job.js']) cpSync(join(home, 'apps/web', name), join(folder, 'app', name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const next = tool('next/dist/bin/next');
  await command(folder, node, next, 'build');
  await checkServer(folder, node, [next, 'start', '-p', '4174'], 4174, async (url) => {
    check(await visit(browser, url), 'threads');
    const told = await fetch(`${url}api/train`).then((response) => response.json());
    assert.deepEqual(told, { variant: 'threads', reason: 'ok', losses });
  });
});

const omnigrad = (folder, ...args) => command(folder, node, tool('omnigrad/web/cli/omnigrad.mjs'), ...args);

test('Rollup, with the builds copied', async () => {
  const folder = app('web', 'rollup');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await command(folder, node, tool('rollup/dist/bin/rollup'), '-c');
  await omnigrad(folder, 'copy', 'dist/assets');
  cpSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
  await checkFolder(join(folder, 'dist'));
});

test('esbuild, with the builds copied', async () => {
  const folder = app('web', 'esbuild');
  const args = ['main.js', 'job.js', '--bundle', '--format=esm', '--minify', '--outdir=dist'];
  await command(folder, tool('esbuild/bin/esbuild'), ...args);
  await omnigrad(folder, 'copy', 'dist/assets');
  cpSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
  await checkFolder(join(folder, 'dist'));
});

// Parcel reads the map of entries only if it is told to, and looks for Node's process: package.json beside this file.
test('Parcel, with the builds copied and their place told', async () => {
  const folder = app('web', 'parcel');
  const args = ['build', 'index.html', '--public-url', './', '--no-cache', '--dist-dir', 'dist'];
  await command(folder, node, tool('parcel/lib/bin.js'), ...args);
  await omnigrad(folder, 'copy', 'dist/omnigrad');
  await checkFolder(join(folder, 'dist'), '?assets=omnigrad/');
});

test('no bundler: a script module and an import map', async () => {
  const folder = app('web', 'plain');
  await omnigrad(folder, 'copy', 'omnigrad', '--library');
  const entry = (name) => `"omnigrad${name}": "./omnigrad${name}/index.js"`;
  const imports = `{ "imports": { ${['', '/nn', '/optim', '/worker'].map(entry).join(', ')} } }`;
  writeFileSync(
    join(folder, 'index.html'),
    `<!doctype html><html lang="en"><link rel="icon" href="data:,"><script type="importmap">${imports}</script>
     <body><script type="module" src="main.js"></script></body></html>`,
  );
  // Import maps do not reach workers: there the files are named.
  for (const name of ['train.js', 'job.js']) {
    const text = await command(folder, 'cat', name);
    const named = text.replace(/'omnigrad(\/\w+)?'/g, (_, path) => `'./omnigrad${path ?? ''}/index.js'`);
    writeFileSync(join(folder, name), named);
  }
  await checkFolder(folder);
});

for (const [name, program] of [
  ['Node 20', node],
  ['Node 22', tool('node22/bin/node')],
  ['Node 24', tool('node24/bin/node')],
  ['Bun', tool('bun/bin/bun.exe')],
]) {
  const folder = join(home, 'apps/scripts');
  for (const [way, file] of [
    ['import', 'import.mjs'],
    ['require', 'require.cjs'],
    ['worker', 'worker.mjs'],
  ]) {
    test(`${name}: ${way}`, async () => {
      const told = JSON.parse(await command(folder, program, file));
      assert.deepEqual(told, { variant: 'threads', reason: 'ok', losses });
    });
  }
}

test('Deno, single-threaded', async () => {
  const folder = join(home, 'apps/scripts');
  const told = JSON.parse(
    await command(folder, tool('.bin/deno'), 'run', '-A', '--node-modules-dir=manual', 'import.mjs'),
  );
  assert.deepEqual(told, { variant: 'single', reason: 'no-workers', losses });
});
