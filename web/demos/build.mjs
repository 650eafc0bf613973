// Bundles the demos' TypeScript into dist/demos. Needs the built package: dist/ with its assets.

import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const demos = dirname(fileURLToPath(import.meta.url));
const root = join(demos, '../..');
const out = join(root, 'dist/demos');
const common = { bundle: true, format: 'esm', target: 'es2022', absWorkingDir: root, logLevel: 'warning' };

/** The training loop and its settings for Node; gives the URL. The package stays outside, found by its name. */
export async function buildNode() {
  const outfile = join(out, 'node/mnist.mjs');
  const entryPoints = [join(demos, 'mnist/node.ts')];
  await build({ ...common, platform: 'node', packages: 'external', entryPoints, outfile });
  return pathToFileURL(outfile).href;
}

/** The page, as a folder to serve; gives its path. */
export async function buildPage() {
  const outdir = join(out, 'mnist');
  const entryPoints = ['page.ts', 'worker.ts', 'page.css'].map((name) => join(demos, 'mnist', name));
  await build({ ...common, minify: true, entryPoints, outdir });
  for (const name of ['index.html', 'empty.html']) cpSync(join(demos, 'mnist', name), join(outdir, name));
  // Where the bundled loader looks: `assets/` beside it.
  cpSync(join(root, 'dist/assets'), join(outdir, 'assets'), { recursive: true });
  return outdir;
}
