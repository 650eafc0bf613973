// Where the consumers live, how they are built and looked at. The apps are copied to build/consumers, below which
// node_modules holds the packed package and the tools of package.json beside this file.
import { execFile } from 'node:child_process';
import { createReadStream, cpSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const here = fileURLToPath(new URL('.', import.meta.url));
export const home = fileURLToPath(new URL('../../build/consumers', import.meta.url));
export const tool = (path) => join(home, 'node_modules', path);

const run = promisify(execFile);

/** Runs a program, at most two minutes; gives what it printed. Its output is in the error if it fails. */
export async function command(cwd, program, ...args) {
  try {
    const { stdout } = await run(program, args, { cwd, timeout: 240000, maxBuffer: 1e8, env: environment });
    return stdout;
  } catch (error) {
    throw new Error(`${[program, ...args].join(' ')}: ${error.message}\n${error.stdout}\n${error.stderr}`);
  }
}
const environment = { ...process.env, CI: 'true', NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' };

/** A fresh copy of an app; gives its folder. */
export function app(source, name = source) {
  const folder = join(home, 'apps', name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(here, 'apps', source), folder, { recursive: true });
  return folder;
}

const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};
const isolating = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** Serves a folder, isolated or not; gives { url, close }. */
export async function serveFolder(folder, isolated) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname);
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    const stream = createReadStream(file);
    stream.once('open', () => {
      const type = types[extname(file)] ?? 'application/octet-stream';
      response.writeHead(200, { 'Content-Type': type, ...(isolated ? isolating : {}) });
      stream.pipe(response);
    });
    stream.once('error', () => response.writeHead(404, isolated ? isolating : {}).end('not found'));
  });
  await new Promise((resolve) => server.listen(0, 'localhost', resolve));
  return {
    url: `http://localhost:${server.address().port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What the app at `url` leaves on its body. */
export async function visit(browser, url) {
  const page = await browser.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // What Vite's own client says.
    if (!message.text().startsWith('[vite]')) complaints.push(message.text());
  });
  try {
    await page.goto(url);
    await page.waitForSelector('body[data-result]', { state: 'attached', timeout: 60000 });
    return { ...JSON.parse(await page.getAttribute('body', 'data-result')), complaints };
  } catch (error) {
    throw new Error(`${error.message}\n${complaints.join('\n')}`, { cause: error });
  } finally {
    await page.close();
  }
}
