// Every code block of README and guide: compiled against the package's types, run in Node or in a page, and what it says
// is printed is what is printed. Commands exist, headers are those that the plugin sends, C++ compiles.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import omnigrad from 'omnigrad/vite';
import { launch } from '../e2e/support/chromium.mjs';
import { serveSite } from '../e2e/support/site.mjs';
import { blocks, home, root, writePrograms } from './blocks.mjs';

const programs = writePrograms();
const all = blocks();
const kinds = new Set(['ts', 'js', 'sh', 'http', 'cpp', 'json']);

// The CDN of the guide, and what stands for it.
const cdn = 'https://cdn.example/omnigrad@0.1.0/dist/';

let browser, elsewhere;
before(async () => {
  [browser, elsewhere] = [await launch(), await serveSite()];
});
after(() => {
  elsewhere?.close();
  return browser?.close();
});

test('every block is of a kind that is tested', () => {
  assert.deepEqual(
    all
      .filter(({ language }) => !kinds.has(language))
      .map(({ page, line, language }) => `${page}:${line} ${language}`),
    [],
  );
  assert.ok(all.length > 30);
});

test('all of them compile', () => {
  // The one thing of Node's that they use.
  const shim = `declare module 'node:worker_threads' { export class Worker {
    constructor(url: URL); postMessage(message: unknown): void; terminate(): Promise<number>; } }`;
  writeFileSync(join(home, 'shim.d.ts'), shim);
  const compilerOptions = {
    ...{
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2022',
      types: [],
      strict: true,
      noEmit: true,
    },
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    paths: {
      omnigrad: ['../../dist/index.d.ts'],
      'omnigrad/*': ['../../dist/*/index.d.ts', '../../dist/*.d.ts'],
    },
  };
  writeFileSync(
    join(home, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['**/*.ts', '*.d.ts'] }),
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', home], { encoding: 'utf8', cwd: home });
  assert.equal(stdout, '');
});

/** Bundled, with the library inside for a page and outside for Node. */
async function compile(file, outfile, platform) {
  const packages = platform === 'node' ? 'external' : 'bundle';
  await build({
    ...{ entryPoints: [file], outfile, platform, packages, bundle: true, format: 'esm', target: 'es2022' },
    ...{ absWorkingDir: root, logLevel: 'silent' },
  });
}

for (const { page, kind, file, expected } of programs.filter((program) => program.kind === 'node')) {
  test(`${page}: runs in Node`, async () => {
    const folder = dirname(file);
    for (const name of readdirSync(folder).filter((n) => n.endsWith('.ts')))
      await compile(join(folder, name), join(folder, name.replace(/ts$/, 'js')), 'node');
    // The folder takes part in the repository's package, and so finds the library by its name.
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, `${kind}.js`)], {
      encoding: 'utf8',
      cwd: folder,
      timeout: 120000,
    });
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.deepEqual(stdout.split('\n').slice(0, -1), expected);
  });
}

for (const { page, file, expected } of programs.filter((program) => program.kind === 'page')) {
  test(`${page}: runs in a page`, async () => {
    const folder = dirname(file);
    const prefix = readFileSync(file, 'utf8').includes(cdn) ? 'isolated' : 'strict';
    const placed = (text) =>
      text
        .replaceAll(cdn, `${elsewhere.origin}/open/lib/`)
        .replace(/(["'])\/(?=[\w-]+\.mjs\1)/g, `$1/${prefix}/`);
    const files = {
      'index.html':
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>',
    };
    for (const name of readdirSync(folder).filter((n) => n.endsWith('.ts') && n !== 'node.ts')) {
      const out = join(folder, `web-${basename(name, '.ts')}.js`);
      await compile(join(folder, name), out, 'browser');
      files[name === 'page.ts' ? 'page.js' : name] = placed(readFileSync(out, 'utf8'));
    }
    for (const name of readdirSync(folder).filter((n) => n.endsWith('.mjs')))
      files[name] = placed(readFileSync(join(folder, name), 'utf8'));
    const site = await serveSite(files);
    const tab = await browser.newPage();
    const printed = [];
    const done = new Promise((resolve) => {
      tab.on('console', (message) => {
        printed.push(message.text());
        if (printed.length === expected.length) resolve();
      });
      tab.on('pageerror', (error) => {
        printed.push(error.message);
        resolve();
      });
      setTimeout(resolve, 60000).unref();
    });
    await tab.goto(`${site.origin}/${prefix}/index.html`);
    await done;
    await tab.close();
    site.close();
    assert.deepEqual(printed, expected);
  });
}

test("the API's pages are made without a warning", () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.values(exports)
    .filter(({ types }) => types !== undefined && !types.includes('single'))
    .flatMap(({ types }) => [
      '--entryPoints',
      types.replace('./dist/', 'web/src/').replace(/\.d\.ts$/, '.ts'),
    ]);
  const typedoc = join(root, 'node_modules/typedoc/bin/typedoc');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [typedoc, '--emit', 'none', '--logLevel', 'Warn', ...entries],
    { cwd: root, encoding: 'utf8' },
  );
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
});

test('commands are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-docs-'));
  const commands = all
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n').map((line) => line.replace(/ *#.*/, '')))
    .filter((line) => line !== '' && line !== 'npm install omnigrad');
  for (const line of commands) {
    const [program, verb, name, ...rest] = line.split(/ +/);
    if (program === 'npm') assert.ok((verb === 'run' ? name : verb) in scripts, line);
    else {
      assert.deepEqual([program, verb], ['npx', 'omnigrad'], line);
      const args = [join(root, 'web/cli/omnigrad.mjs'), name, ...rest];
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    }
  }
  rmSync(folder, { recursive: true });
});

test('the operations of the README are there', async () => {
  const lib = await import('omnigrad');
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const [, table] = /^## Operations$([^]*?)^## /m.exec(text);
  const names = table.split('\n').filter((line) => line.startsWith('|'));
  const ops = names.flatMap((line) => [...line.matchAll(/`(\w+)`/g)].map((match) => match[1]));
  assert.ok(ops.length > 100);
  const known = (name) => typeof lib[name] === 'function' || name in lib.Tensor.prototype;
  assert.deepEqual(
    ops.filter((name) => !known(name)),
    [],
  );
});

test('headers are those that the plugin sends', async () => {
  const { server, preview, optimizeDeps, worker } = omnigrad().config();
  assert.deepEqual([preview, optimizeDeps.exclude, worker.format], [server, ['omnigrad'], 'es']);
  assert.deepEqual(Object.keys(omnigrad({ isolate: false }).config()), ['optimizeDeps', 'worker']);
  assert.throws(() => omnigrad({ isolated: true }), { code: 'option', op: 'omnigrad/vite' });
  // The guide's configuration is a file that Vite would load.
  const { default: config } = await import(pathToFileURL(join(home, 'builds/vite.config.js')));
  assert.deepEqual(
    config.plugins.map((plugin) => plugin.name),
    [omnigrad().name],
  );
  assert.deepEqual(config.plugins[0].config(), omnigrad().config());
  const told = all.filter(({ language }) => language === 'http').map(({ text }) => text.trim().split('\n'));
  assert.ok(told.length > 0);
  for (const lines of told)
    assert.deepEqual(Object.fromEntries(lines.map((line) => line.split(': '))), server.headers);
});

test("Parcel's lines are those that the consumers' test uses", () => {
  const used = JSON.parse(readFileSync(join(root, 'tests/consumers/package.json'), 'utf8'));
  const told = all.filter(({ language }) => language === 'json').map(({ text }) => JSON.parse(text));
  assert.equal(told.length, 1);
  for (const [key, value] of Object.entries(told[0])) assert.deepEqual(used[key], value, key);
});

test('C++ compiles', () => {
  const parts = all.filter(({ language }) => language === 'cpp').map(({ text }) => text);
  const text = ['#include "omnigrad/op.h"', 'namespace omnigrad {', ...parts, '}'].join('\n');
  const args = [
    '-std=c++20',
    '-fsyntax-only',
    '-ffp-contract=off',
    '-Icore/include',
    '-Icore/src',
    '-xc++',
    '-',
  ];
  const { status, stderr } = spawnSync('clang++-19', args, { cwd: root, input: text, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});
