// Serves the demos: at / with the headers that isolate it (threads), at /plain/ without (single-threaded).
// usage: node web/demos/serve.mjs [--port N]     (port 0: any; the address is printed)

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildPages } from './build.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

const types = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
  '.txt': 'text/plain; charset=utf-8',
};

const always = {
  'Content-Security-Policy':
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:",
  'Cache-Control': 'no-cache',
  'X-Content-Type-Options': 'nosniff',
};

const isolating = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** The file that a path names. */
function fileOf(pages, path) {
  const clean = normalize(path).replace(/^(\.\.[/\\])+/, '');
  // The built package as it is, unbundled.
  if (clean.startsWith('/lib/')) return join(root, 'dist', clean.slice('/lib/'.length));
  return join(pages, clean.endsWith('/') ? `${clean}index.html` : clean);
}

async function answer(pages, request, response) {
  const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
  const plain = /^\/plain(\/|$)/.test(path);
  const file = fileOf(pages, plain ? path.slice('/plain'.length) || '/' : path);
  const info = await stat(file).catch(() => undefined);
  if (info?.isDirectory()) {
    // So that what the page names relative to itself is found.
    response.writeHead(301, { Location: `${path}/` }).end();
    return;
  }
  if (!info?.isFile()) {
    response.writeHead(404, always).end('not found\n');
    return;
  }
  response.writeHead(200, {
    ...always,
    ...(plain ? {} : isolating),
    'Content-Type': types[extname(file)] ?? 'application/octet-stream',
    'Content-Length': info.size,
  });
  createReadStream(file).pipe(response);
}

/** Bundles the pages and serves them; resolves when the server listens. Port 0: any that is free. */
export async function serve(port = 0) {
  const pages = await buildPages();
  const server = createServer((request, response) => {
    answer(pages, request, response).catch((error) =>
      response.writeHead(400, always).end(`${error.message}\n`),
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, 'localhost', () => resolve(server));
  });
}

/** The port that the flags ask for; undefined if they are not understood. */
function portOf(args) {
  if (args.length === 0) return 8080;
  const [flag, value] = args.join('=').split('=');
  const good = args.length <= 2 && flag === '--port' && /^\d{1,5}$/.test(value) && Number(value) < 65536;
  return good ? Number(value) : undefined;
}

function stop(status, line) {
  process.stderr.write(`demo: ${line}\n`);
  process.exit(status);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = portOf(process.argv.slice(2));
  if (port === undefined) stop(2, 'only --port N is allowed, N a whole number from 0 to 65535');
  const server = await serve(port).catch((error) =>
    stop(1, error.code === 'EADDRINUSE' ? `port ${port} is taken; choose another: --port N` : error.message),
  );
  const address = `http://localhost:${server.address().port}`;
  process.stdout.write(
    `with isolation (threads): ${address}/\nwithout (single-threaded): ${address}/plain/\n`,
  );
}
