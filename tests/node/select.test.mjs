// Which build is chosen: the pure function, over every feature.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assetUrls } from '../../dist/assets.js';
import { singleAssets } from '../../dist/assets_single.js';
import { memorySizes } from '../../dist/loader/start.js';
import { selectVariant } from '../../dist/loader/select.js';

const all = {
  node: false,
  deno: false,
  simd: true,
  exceptions: true,
  sharedMemory: true,
  isolated: true,
  workers: true,
  cores: 4,
  origin: 'https://page.test',
  base: 'https://page.test/',
};
const glueUrl = 'https://page.test/assets/omnigrad-threads.mjs';

const table = [
  ['everything there', {}, {}, 'threads', 4, 'ok'],
  ['no isolation', { isolated: false }, {}, 'single', 1, 'not-isolated'],
  ['no shared memory', { sharedMemory: false }, {}, 'single', 1, 'no-sab'],
  ['no workers', { workers: false }, {}, 'single', 1, 'no-workers'],
  ['assets elsewhere', {}, { glueUrl: 'https://cdn.test/a.mjs' }, 'single', 1, 'cross-origin-worker'],
  ['assets elsewhere in Node', { node: true, origin: '' }, { glueUrl: 'file:///a.mjs' }, 'threads', 4, 'ok'],
  ['no threaded build', {}, { glueUrl: null }, 'single', 1, 'forced'],
  ['Deno', { node: true, deno: true, origin: '' }, {}, 'single', 1, 'no-workers'],
  ['single asked for', {}, { variant: 'single' }, 'single', 1, 'forced'],
  ['threads asked for', {}, { variant: 'threads', threads: 2 }, 'threads', 2, 'forced'],
  ['many processors', { cores: 32 }, {}, 'threads', 8, 'ok'],
  ['many threads asked for', { cores: 32 }, { threads: 20 }, 'threads', 20, 'ok'],
];
for (const [name, features, options, variant, threads, code] of table) {
  test(`select: ${name}`, () => {
    const selection = selectVariant({ ...all, ...features }, { glueUrl, ...options });
    assert.deepEqual([selection.variant, selection.threads, selection.reason.code], [variant, threads, code]);
    assert.ok(selection.reason.message.length > 10);
  });
}

test('select: missing SIMD names the browsers that have it', () => {
  const { unsupported } = selectVariant({ ...all, simd: false });
  assert.equal(unsupported.code, 'no-simd');
  for (const engine of ['Chrome', 'Edge', 'Firefox', 'Safari', 'Node'])
    assert.match(unsupported.message, new RegExp(engine));
});

test('select: a forced build that cannot run is refused, not replaced', () => {
  const { unsupported } = selectVariant({ ...all, isolated: false }, { variant: 'threads' });
  assert.equal(unsupported.code, 'not-isolated');
});

test('select: the advice about another origin is the file to write', () => {
  const { reason } = selectVariant(all, { glueUrl: 'https://cdn.test/a.mjs' });
  assert.match(reason.message, /export \{ default \} from 'https:\/\/cdn\.test\/a\.mjs'/);
});

const base = 'https://page.test/app/';
test('assets: a folder, with or without slash, or single URLs', () => {
  const glue = (assets) => assetUrls('single', assets, base, { single: singleAssets }).glue;
  assert.equal(glue('og'), 'https://page.test/app/og/omnigrad-single.mjs');
  assert.equal(glue('/og/'), 'https://page.test/og/omnigrad-single.mjs');
  assert.equal(glue('/og?v=2'), 'https://page.test/og/omnigrad-single.mjs');
  assert.equal(glue(new URL('https://cdn.test/x')), 'https://cdn.test/x/omnigrad-single.mjs');
  assert.equal(glue({ single: { glue: 'a.mjs', wasm: 'a.wasm' } }), 'https://page.test/app/a.mjs');
  for (const given of [undefined, {}, { threads: { glue: 'a.mjs', wasm: 'a.wasm' } }])
    assert.match(glue(given), /\/dist\/assets\/omnigrad-single\.mjs$/);
});

test('assets: what makes no URL is refused; a build without files has none', () => {
  const broken = () => assetUrls('single', 'http://[', base, {});
  assert.throws(broken, { code: 'option', message: /init: assets: "http:\/\/\[" makes no URL/ });
  assert.throws(() => assetUrls('single', 'og', '', {}), { code: 'option' });
  assert.equal(assetUrls('threads', undefined, base, { single: singleAssets }), undefined);
  const relative = { single: () => ({ glue: '/media/a.mjs', wasm: '/media/a.wasm' }) };
  assert.equal(assetUrls('single', undefined, base, relative).wasm, 'https://page.test/media/a.wasm');
});

test('memory: halves, down to what the builds need', () => {
  const sizes = [2147483648, 1073741824, 536870912, 268435456, 134217728, 67108864, 33554432];
  assert.deepEqual(memorySizes(4e9), sizes);
  assert.deepEqual(memorySizes(100e6), [99942400, 49938432, 33554432]);
  assert.deepEqual(memorySizes(33554432), [33554432]);
  assert.deepEqual(memorySizes(33554431), []);
});
