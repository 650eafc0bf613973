// The package as npm would publish it, packed and installed where nothing else of this repository is found.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** Packs into a new folder: { folder, tarball, files: [{ path, size }], size, unpackedSize }. */
export function pack() {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-package-'));
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [told] = JSON.parse(
    execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const { filename, files, size, unpackedSize } = told;
  return { folder, tarball: join(folder, filename), files, size, unpackedSize };
}

/** Unpacks a tarball as FOLDER/node_modules/omnigrad. */
export function install(tarball, folder) {
  const home = join(folder, 'node_modules/omnigrad');
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1']);
  return home;
}
