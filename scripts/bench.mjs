// npm run bench [-- flags]: omnigrad and its peers on the same work. The peers are installed here at the first run, and
// by nothing else. --calls, --memory and --start are measurements of their own, each a module of tests/bench.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build, packageBuild } from './lib/build.mjs';
import { root, runOrExit, say } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

const folder = join(root, 'tests/bench/peers');
const probe = [
  'clang-19',
  ...['--target=wasm32', '-O3', '-msimd128', '-ffp-contract=off', '-nostdlib'],
  ...['-Wl,--no-entry', `-Wl,--initial-memory=${256 * 2 ** 20}`],
  ...['-o', 'build/bench/probe.wasm', 'tests/bench/probe.c'],
];

function installPeers() {
  const lock = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  const stamp = join(folder, 'node_modules/.omnigrad-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  say('installing the peers');
  runOrExit('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
  writeFileSync(stamp, lock);
}

const args = process.argv.slice(2);
const other = ['calls', 'memory', 'start'].find((name) => args.includes(`--${name}`));

process.chdir(root);
setUp({ tests: args.includes('--browser') });
mkdirSync(join(root, 'build/bench'), { recursive: true });
await build('the package', [...packageBuild, probe]);
if (other) {
  runOrExit('node', [`tests/bench/${other}.mjs`, ...args.filter((arg) => arg !== `--${other}`)]);
} else {
  installPeers();
  runOrExit('node', ['tests/bench/node.mjs', ...args]);
}
