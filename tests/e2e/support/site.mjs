// A server for the tests of the browser: the built package below /lib/ and pages made up on the spot, with the headers
// that the first part of a path names (/plain/empty.html, /isolated/lib/index.js), and files that are broken on purpose.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), '../../../dist');
const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  // What a bundler makes of it, under the name that the page gave.
  '.ts': 'text/javascript',
  '.wasm': 'application/wasm',
};

const csp = {
  'Content-Security-Policy':
    "default-src 'none'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; frame-src *",
};
const coop = { 'Cross-Origin-Opener-Policy': 'same-origin' };

/** Headers by the first part of the path. */
export const headersOf = {
  plain: {},
  isolated: { ...coop, 'Cross-Origin-Embedder-Policy': 'require-corp' },
  strict: { ...coop, 'Cross-Origin-Embedder-Policy': 'require-corp', ...csp },
  'plain-strict': csp,
  credentialless: { ...coop, 'Cross-Origin-Embedder-Policy': 'credentialless' },
  document: { 'Document-Isolation-Policy': 'isolate-and-require-corp' },
  // Another origin's files, open to all.
  open: {
    'Access-Control-Allow-Origin': '*',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  },
};

const page = '<!doctype html><html lang="en"><title>empty</title><link rel="icon" href="data:,"></html>';

/** What goes wrong with a file of assets: (name, file) => [status, type, body], or undefined: no answer, ever. */
const faults = {
  missing: () => [404, 'text/plain', 'not found'],
  html: () => [200, 'text/html', page],
  truncated: (name, file) => [200, types[extname(name)], file.subarray(0, file.length / 2)],
  garbled: (name, file) => [200, types[extname(name)], Buffer.from(file).fill(7, 5000, 6000)],
  silent: () => undefined,
  // The page gets it, a worker does not.
  'no-worker': (name, file, request) =>
    request.headers['sec-fetch-dest'] === 'worker' ? faults.missing() : [200, types[extname(name)], file],
  'silent-worker': (name, file, request) =>
    request.headers['sec-fetch-dest'] === 'worker' ? undefined : [200, types[extname(name)], file],
  old: (name, file) => [200, types[extname(name)], stale(file)],
};

// The same build under another id.
function stale(file) {
  const text = file.toString('latin1');
  const [, id] = /(?:factory\.buildId = '|omnigrad(?:threads|single) )([0-9a-f]{16})/.exec(text);
  return Buffer.from(text.replaceAll(id, '0123456789abcdef'), 'latin1');
}

/** Fails the file whose extension `of` names, the other files of the folder are good: /plain/fault/html/wasm/NAME. */
async function faulty([kind, of, name], request) {
  const file = await readFile(join(dist, 'assets', name));
  return extname(name) === `.${of}` ? faults[kind](name, file, request) : [200, types[extname(name)], file];
}

async function answer(request, files) {
  const path = normalize(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
  const [, kind, ...rest] = path.split('/');
  const own = files[rest.join('/')];
  if (own !== undefined) return [200, types[extname(path)] ?? 'text/plain', own];
  if (rest[0] === 'empty.html') return [200, 'text/html', page];
  if (rest[0] === 'fault') return faulty(rest.slice(1), request);
  // Where a bundle looks for the builds.
  if (rest[0] === 'assets') return [200, types[extname(path)], await readFile(join(dist, ...rest))];
  if (rest[0] === 'lib' && kind in headersOf)
    return [200, types[extname(path)] ?? 'text/plain', await readFile(join(dist, ...rest.slice(1)))];
  return [404, 'text/plain', 'not found'];
}

/** Serves `files` ({ name: text }, below every prefix) too. Gives { origin, close }. */
export async function serveSite(files = {}) {
  const held = [];
  const server = createServer((request, response) => {
    const prefix = request.url.split('/')[1];
    answer(request, files).then(
      (found) => {
        if (!found) return held.push(response);
        const [status, type, body] = found;
        response.writeHead(status, {
          'Content-Type': type,
          'Cache-Control': 'no-store',
          ...headersOf[prefix],
        });
        response.end(body);
      },
      () => response.writeHead(404, headersOf[prefix]).end('not found'),
    );
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  return {
    origin: `http://localhost:${server.address().port}`,
    close() {
      for (const response of held) response.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
