// Bundles the libraries that dist/vendor imports into those files, once each, with their licences beside them: the
// package installs nothing else, and a page without a bundler can load it.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as esbuild from 'esbuild';
import { root } from './run.mjs';

const folder = join(root, 'dist/vendor');
const names = readdirSync(join(root, 'web/src/vendor')).map((name) => name.replace('.ts', ''));
for (const name of readdirSync(folder)) if (/^shared-|\.js\.map$/.test(name)) rmSync(join(folder, name));

const { metafile } = await esbuild.build({
  entryPoints: names.map((name) => join(root, 'web/src/vendor', `${name}.ts`)),
  outdir: folder,
  bundle: true,
  splitting: true,
  chunkNames: 'shared-[hash]',
  format: 'esm',
  platform: 'neutral',
  mainFields: ['module', 'main'],
  conditions: ['import'],
  target: 'es2022',
  legalComments: 'none',
  sourcemap: false,
  minifySyntax: true,
  minifyWhitespace: true,
  metafile: true,
  absWorkingDir: root,
  logLevel: 'warning',
});

const packages = [
  ...new Set(
    Object.keys(metafile.inputs).flatMap(
      (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
    ),
  ),
].sort();
const licences = packages.map((name) => {
  const home = join(root, 'node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(home, file), 'utf8').trim()}\n`;
});
writeFileSync(join(folder, 'LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));
