// Bundles the demos' TypeScript into dist/demos. Needs the built package (dist/ with its assets), and for the data the
// packages of ./data (installModules('web/demos/data')).
//   dist/demos/index.html   the list of demos
//   dist/demos/NAME/        a page with its worker
//   dist/demos/assets/      the builds, shared by all
//   dist/demos/data/        what they read: see data/copy.mjs
//   dist/demos/node/        the tasks, for Node

import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { copyData } from './data/copy.mjs';

const demos = dirname(fileURLToPath(import.meta.url));
const root = join(demos, '../..');
const served = join(root, 'dist/demos');
const common = { bundle: true, format: 'esm', target: 'es2022', absWorkingDir: root, logLevel: 'warning' };

/** Demos, by the folders that have a task and its facts. */
export const demoNames = () =>
  readdirSync(demos, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(demos, entry.name, 'facts.ts')))
    .map(({ name }) => name);

/** Where the data lies, once it is gathered. */
export function buildData() {
  const folder = join(served, 'data');
  copyData(folder);
  return folder;
}

/** A task for Node, with what runs it; gives the URL. The package stays outside, found by its name. */
export async function buildNode(name) {
  const outfile = join(served, `node/${name}.mjs`);
  const contents = [`./${name}/task.ts`, './shared/session.ts', './shared/settings.ts']
    .map((file) => `export * from ${JSON.stringify(file)};`)
    .join('\n');
  const stdin = { contents, resolveDir: demos, loader: 'ts' };
  await build({ ...common, platform: 'node', packages: 'external', stdin, outfile });
  return pathToFileURL(outfile).href;
}

// <!-- shell:NAME --> is where the part of that name goes that all pages have in common.
const assembled = (html, parts) =>
  html.replace(/^( *)<!-- shell:(\w+) -->$/gm, (_line, indent, name) =>
    (parts[name] ?? readFileSync(join(demos, `shared/html/${name}.html`), 'utf8'))
      .trimEnd()
      .replace(/^(?=.)/gm, indent),
  );

/**
 * All pages, as a folder to serve; gives its path.
 *
 * @param options `out`: the folder; `head`: lines for the head of every page, by how deep it lies (0: the list)
 */
export async function buildPages({ out = served, head = servedHead } = {}) {
  const names = demoNames().filter((name) => existsSync(join(demos, name, 'index.html')));
  const entryPoints = names.flatMap((name) =>
    ['page.ts', 'worker.ts'].map((file) => join(demos, name, file)),
  );
  const styles = names.map((name) => {
    const own = join(demos, name, 'page.css');
    return existsSync(own) ? own : { in: join(demos, 'shared/page.css'), out: `${name}/page` };
  });
  const scripts = { ...common, minify: true, outbase: demos, outdir: out };
  await build({ ...scripts, entryPoints: [...entryPoints, join(demos, 'index.ts')] });
  await build({ ...scripts, entryPoints: [...styles, join(demos, 'index.css')].map(named) });
  for (const name of names) {
    const html = readFileSync(join(demos, name, 'index.html'), 'utf8');
    const shared = readFileSync(join(demos, 'shared/html/head.html'), 'utf8');
    writeFileSync(join(out, name, 'index.html'), assembled(html, { head: shared + head(1) }));
  }
  const list = readFileSync(join(demos, 'index.html'), 'utf8').replace(
    /^ *<li data-demo="(\w+)">[^]*?<\/li>\n/gm,
    (card, name) => (names.includes(name) ? card : ''),
  );
  writeFileSync(join(out, 'index.html'), assembled(list, { head: head(0) }));
  cpSync(join(demos, 'empty.html'), join(out, 'empty.html'));
  const filter = (name) => !name.endsWith('.symbols');
  cpSync(join(root, 'dist/assets'), join(out, 'assets'), { recursive: true, filter });
  const data = buildData();
  // What is there compressed is not there twice.
  const once = (name) => !existsSync(`${name}.gz`) && !name.endsWith('.made-of');
  if (out !== served) cpSync(data, join(out, 'data'), { recursive: true, filter: once });
  return out;
}

// Entry points of which some have a name for what comes out.
const named = (entry) =>
  typeof entry === 'string' ? { in: entry, out: entry.slice(demos.length + 1).replace(/\.css$/, '') } : entry;

// By it a page knows that the other kind of it is at /plain/.
const servedHead = () => '<meta name="omnigrad-demo" content="served" />\n';

mkdirSync(served, { recursive: true });
