// What npm would publish: its files and sizes, its map of entries, the command line tool, source maps; as ES modules and
// by require.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { install, pack, root } from './support/pack.mjs';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).filter((name) => !/\*|json/.test(name));
let packed, home;
before(() => {
  packed = pack();
  home = install(packed.tarball, packed.folder);
});
after(() => rmSync(packed.folder, { recursive: true }));

function node(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: packed.folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

test('the files are those of the library, each with its source', () => {
  const names = packed.files.map(({ path }) => path);
  const fixed = [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'THIRD_PARTY_NOTICES',
    'web/cli/omnigrad.mjs',
    'package.json',
  ];
  const builds = ['single', 'threads'].flatMap((v) => [`omnigrad-${v}.mjs`, `omnigrad-${v}.wasm`]);
  const symbols = ['single', 'threads'].map((v) => `omnigrad-${v}.wasm.symbols`);
  const assets = [...builds, ...symbols].map((name) => `dist/assets/${name}`);
  for (const name of [...fixed, ...assets]) assert.ok(names.includes(name), `${name} is missing`);
  // dist/vendor: what others wrote, with their licences.
  const others = names.filter((name) => !fixed.includes(name) && !assets.includes(name));
  for (const name of others.filter((other) => !other.startsWith('dist/vendor/'))) {
    const [, module] = /^dist\/(.*)\.(?:js|js\.map|d\.ts)$/.exec(name) ?? [];
    assert.ok(module && existsSync(join(root, `web/src/${module}.ts`)), `${name} should not be packed`);
  }
});

test('sizes stay within their budgets', () => {
  const size = (pattern) =>
    packed.files.filter(({ path }) => pattern.test(path)).reduce((sum, f) => sum + f.size, 0);
  const kilobytes = (bytes) => Math.round(bytes / 1000);
  // Kilobytes, about a tenth above what they are.
  const budgets = { packed: 2200, scripts: 900, declarations: 600, glue: 115, maps: 2200 };
  const sizes = {
    packed: kilobytes(packed.size),
    scripts: kilobytes(size(/\.js$/)),
    declarations: kilobytes(size(/\.d\.ts$/)),
    glue: kilobytes(size(/assets\/.*\.mjs$/)),
    maps: kilobytes(size(/\.map$/)),
  };
  for (const [what, budget] of Object.entries(budgets))
    assert.ok(sizes[what] <= budget, `${what}: ${sizes[what]} kB, allowed are ${budget}`);
});

test('publint finds nothing', async () => {
  const { messages } = await publint({ pkgDir: home, strict: true, pack: false });
  const pkg = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test('attw finds nothing', () => {
  const attw = join(root, 'node_modules/.bin/attw');
  const args = [packed.tarball, '--profile', 'esm-only', '--no-emoji', '--exclude-entrypoints', './assets/*'];
  const { status, stdout } = spawnSync(attw, args, { encoding: 'utf8', cwd: packed.folder });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /"omnigrad\/worker"/);
});

const train = (entry) => `
  const losses = [];
  async function main({ init, crossEntropy, manualSeed, tensor }, nn, optim) {
    const { threads } = await init({ threads: 2 });
    manualSeed(1);
    const net = new nn.Linear(2, 2);
    const opt = new optim.SGD(net.parameters(), { lr: 0.5 });
    const [x, y] = [tensor([[1, 0], [0, 1]]), tensor([0n, 1n])];
    for (let step = 0; step < 20; step++) losses.push(opt.minimize(() => crossEntropy(net.call(x), y)));
    process.stdout.write(JSON.stringify([threads, losses[19] < losses[0] / 2]));
  }
  ${entry}`;

test('it trains by import, and by require', () => {
  writeFileSync(
    join(packed.folder, 'import.mjs'),
    train(
      `main(...(await Promise.all([import('omnigrad'), import('omnigrad/nn'), import('omnigrad/optim')])));`,
    ),
  );
  writeFileSync(
    join(packed.folder, 'require.cjs'),
    train(`main(require('omnigrad'), require('omnigrad/nn'), require('omnigrad/optim'));`),
  );
  for (const file of ['import.mjs', 'require.cjs']) {
    const { status, stdout, stderr } = node(file);
    assert.deepEqual([status, stderr, stdout], [0, '', '[2,true]'], file);
  }
});

test('every entry loads, alone and by require, and all share one Tensor', () => {
  const list = JSON.stringify(entries.map((entry) => `omnigrad${entry.slice(1)}`));
  writeFileSync(
    join(packed.folder, 'entries.cjs'),
    `const all = ${list}.map((name) => require(name));
     const { Tensor } = require('omnigrad');
     if (all.some((entry) => entry.Tensor && entry.Tensor !== Tensor)) throw new Error('two Tensors');
     import('omnigrad').then((m) => process.stdout.write(String(m.Tensor === Tensor && all.length === ${entries.length})));`,
  );
  const { stdout, stderr } = node('entries.cjs');
  assert.deepEqual([stderr, stdout], ['', 'true']);
});

test('omnigrad info tells build, threads, reason and limits', () => {
  const { status, stdout, stderr } = node(join(home, 'web/cli/omnigrad.mjs'), 'info');
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(
    stdout,
    new RegExp(`^omnigrad +${manifest.version.replaceAll('.', '\\.')}, build [0-9a-f]{16}$`, 'm'),
  );
  assert.match(stdout, /^build +threads, \d+ threads?$/m);
  assert.match(stdout, /^reason +ok: /m);
  assert.match(stdout, /^memory +the heap may grow to 2048 MiB$/m);
});

test('omnigrad copy copies the builds, or the library for a page', () => {
  const cli = join(home, 'web/cli/omnigrad.mjs');
  const { status, stdout } = node(cli, 'copy', 'public/og');
  assert.equal(status, 0);
  assert.match(stdout, /^4 files in public\/og\nawait init\(\{ assets: /);
  const copied = readdirSync(join(packed.folder, 'public/og')).sort();
  assert.deepEqual(copied, [
    'omnigrad-single.mjs',
    'omnigrad-single.wasm',
    'omnigrad-threads.mjs',
    'omnigrad-threads.wasm',
  ]);
  assert.equal(node(cli, 'copy', 'public/lib', '--library').status, 0);
  writeFileSync(
    join(packed.folder, 'page.mjs'),
    `import { init, tensor } from './public/lib/index.js';
     import { Linear } from './public/lib/nn/index.js';
     await init({ variant: 'single' });
     process.stdout.write(String(new Linear(2, 3).call(tensor([[1, 2]])).numel));`,
  );
  assert.equal(node('page.mjs').stdout, '3');
  for (const args of [[], ['copy'], ['copy', 'a', 'b'], ['info', 'x'], ['copy', 'a', '--nothing']]) {
    const wrong = node(cli, ...args);
    assert.equal(wrong.status, 2, args.join(' '));
    assert.match(wrong.stderr, /omnigrad copy FOLDER/);
  }
});

test('source maps hold their sources', () => {
  const maps = readdirSync(join(home, 'dist'), { recursive: true }).filter((name) =>
    name.endsWith('.js.map'),
  );
  assert.ok(maps.length > 20);
  for (const name of maps) {
    const { sources, sourcesContent } = JSON.parse(readFileSync(join(home, 'dist', name), 'utf8'));
    assert.ok(sources.length === 1 && sourcesContent?.[0]?.length > 0, name);
  }
});

test('the symbol maps name the functions of the modules', () => {
  for (const variant of ['single', 'threads']) {
    const text = readFileSync(join(home, `dist/assets/omnigrad-${variant}.wasm.symbols`), 'utf8');
    assert.match(text, /^\d+:.*omnigrad.*conv/m);
  }
});
