// The page that runs the list: bundled, served with the headers that isolate it, and driven in Chromium.
import { createReadStream } from 'node:fs';
import { cp, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../..');
const packages = join(here, 'peers/node_modules');
const out = join(root, 'build/bench/page');

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const isolating = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Bundles the page and a classic worker a library; puts beside them the files that they fetch. */
async function buildPage() {
  const common = { bundle: true, absWorkingDir: root, logLevel: 'error', target: 'es2022' };
  await build({
    ...common,
    format: 'esm',
    entryPoints: [join(here, 'page/page.mjs')],
    outfile: join(out, 'page.js'),
  });
  const workers = { omnigrad: '.', probe: '.', tfjs: 'peers', jax: 'peers', ort: 'peers' };
  await build({
    ...common,
    format: 'iife',
    entryPoints: Object.entries(workers).map(([name, folder]) => ({
      in: join(here, folder, `${name}.mjs`),
      out: name,
    })),
    outdir: out,
    // The builds without WebGPU.
    alias: { 'onnxruntime-web': join(packages, 'onnxruntime-web/dist/ort.wasm.min.mjs') },
    define: { 'import.meta.url': 'self.location.href' },
  });
  await cp(join(here, 'page/index.html'), join(out, 'index.html'));
  await cp(join(root, 'dist/assets'), join(out, 'assets'), { recursive: true });
  const version = async (name) => JSON.parse(await readFile(join(packages, name, 'package.json'))).version;
  const probe = (await readFile(join(root, 'build/bench/probe.wasm'))).toString('base64');
  await writeFile(
    join(out, 'facts.json'),
    JSON.stringify({ versions: { jax: await version('@jax-js/jax') }, probe }),
  );
}

// Where the libraries fetch their wasm from.
const fetched = {
  '/tfjs/': join(packages, '@tensorflow/tfjs-backend-wasm/dist/'),
  '/ort/': join(packages, 'onnxruntime-web/dist/'),
};

function fileOf(path) {
  const clean = normalize(path).replace(/^(\.\.[/\\])+/, '');
  for (const [prefix, folder] of Object.entries(fetched))
    if (clean.startsWith(prefix)) return join(folder, clean.slice(prefix.length));
  return join(out, clean === '/' ? 'index.html' : clean);
}

/** Serves the page; resolves when the server listens. */
export async function serve(port = 0) {
  await buildPage();
  const server = createServer(async (request, response) => {
    const file = fileOf(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
    if (!(await stat(file).catch(() => undefined))?.isFile()) {
      response.writeHead(404, isolating).end();
      return;
    }
    const type = types[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { ...isolating, 'Content-Type': type });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, 'localhost', () => resolve(server));
  });
}

/** Runs the cases in Chromium; gives what `session` gives, and the browser's version. */
export async function runInChromium(cases, { rounds, threads, print }) {
  const server = await serve();
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
  try {
    print(`# Chromium ${browser.version()}`);
    const page = await browser.newPage();
    page.on('pageerror', (error) => print(`! ${error.message}`));
    await page.exposeFunction('printLine', print);
    await page.goto(`http://localhost:${server.address().port}/`);
    // PyTorch has no page.
    const here = cases.map((one) => ({
      ...one,
      entries: one.entries.filter(({ runner }) => !runner.startsWith('torch')),
    }));
    const result = await page.evaluate(
      ([list, settings]) => globalThis.runBench(list, settings, globalThis.printLine),
      [here, { rounds, threads }],
    );
    return { browser: browser.version(), ...result };
  } finally {
    await browser.close();
    server.close();
  }
}
