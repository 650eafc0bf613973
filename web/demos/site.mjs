// Writes the demos as a static site that any host can serve, below any path: no address in it begins with a slash. Hosts
// that set no isolation headers are helped by a service worker (coi-serviceworker, beside the list), which asks for one
// reload on the first visit; where there are no service workers, the single-threaded build runs.
// usage: node web/demos/site.mjs [FOLDER]    (default build/site, which is emptied first)

import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildPages } from './build.mjs';

const demos = dirname(fileURLToPath(import.meta.url));
const helper = 'coi-serviceworker.js';
/** By it a folder is known to be ours to empty. */
const mark = '.omnigrad-site';

const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:";

const head = (depth) =>
  `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n` +
  `<script src="${'../'.repeat(depth)}${helper}"></script>\n`;

/** Builds the site; gives its folder. @throws Error if the folder holds something else */
export async function buildSite(folder) {
  if (existsSync(folder)) {
    if (readdirSync(folder).length > 0 && !existsSync(join(folder, mark)))
      throw new Error(`${folder} is not empty, and holds no site of ours`);
    rmSync(folder, { recursive: true });
  }
  await buildPages({ out: folder, head });
  writeFileSync(join(folder, mark), '');
  // Or GitHub Pages leaves out what it takes for its own.
  writeFileSync(join(folder, '.nojekyll'), '');
  const { resolve: find } = createRequire(import.meta.url);
  cpSync(find(`coi-serviceworker/${helper}`), join(folder, helper));
  cpSync(join(demos, 'data/DATA.md'), join(folder, 'data/DATA.md'));
  return folder;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [given, ...others] = process.argv.slice(2);
  if (others.length > 0 || given?.startsWith('-')) {
    process.stderr.write('site: the only argument is a folder to write\n');
    process.exit(2);
  }
  try {
    const folder = await buildSite(resolve(given ?? join(demos, '../../build/site')));
    process.stdout.write(`the site is in ${folder}\n`);
  } catch (error) {
    process.stderr.write(`site: ${error.message}\n`);
    process.exitCode = 1;
  }
}
