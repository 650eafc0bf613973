// For tests of the demos' parts: their TypeScript as modules, their data, and runs that are left and taken up again.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { buildData } from '../../../web/demos/build.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const demos = join(root, 'web/demos');

/** What these files of web/demos export, bundled; the package stays the one that the test has. */
export async function demoParts(name, ...files) {
  const contents = files.map((file) => `export * from './${file}';`).join('\n');
  const outfile = join(root, `dist/demos/test/${name}.mjs`);
  await build({
    ...{ bundle: true, format: 'esm', target: 'es2022', platform: 'node', packages: 'external' },
    ...{ stdin: { contents, resolveDir: demos, loader: 'ts' }, outfile, logLevel: 'warning' },
  });
  return import(pathToFileURL(outfile).href);
}

/** The demos' data; `given` is what a visitor gave, by name. */
export function demoData(OmnigradError, given = {}) {
  const folder = buildData();
  const url = (path) => pathToFileURL(join(folder, path));
  return {
    url,
    async bytes(path) {
      const name = path.replace(/^given\//, '');
      if (name === path) return new Uint8Array(await readFile(url(path)));
      if (given[name]) return given[name];
      throw new OmnigradError(`${path}: nothing was given`, { op: 'data', code: 'not-found' });
    },
  };
}

/** Asserts that a run which is kept after `before` of `steps` steps and taken up by another comes to the same bits. */
export async function goesOn(Session, task, data, settings, before) {
  const through = await Session.begin(task, data, settings);
  while (!through.done) {
    await through.next();
    through.training.look();
  }
  const first = await Session.begin(task, data, settings);
  while (first.step < before) await first.next();
  const kept = await first.keep();
  first.dispose();
  const second = await Session.begin(task, data, settings, kept);
  while (!second.done) await second.next();
  assert.deepEqual(second.history.losses, through.history.losses);
  assert.deepEqual(second.weights(), through.weights());
  for (const session of [through, second]) session.dispose();
}
