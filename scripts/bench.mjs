// npm run bench [-- flags]: omnigrad and its peers on the same work. The peers are installed here at the first run, and
// by nothing else. --calls, --memory and --start are measurements of their own, each a module of tests/bench.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build, packageBuild } from './lib/build.mjs';
import { root, runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

const probe = [
  'clang-19',
  ...['--target=wasm32', '-O3', '-msimd128', '-ffp-contract=off', '-nostdlib'],
  ...['-Wl,--no-entry', `-Wl,--initial-memory=${256 * 2 ** 20}`],
  ...['-o', 'build/bench/probe.wasm', 'tests/bench/probe.c'],
];

const args = process.argv.slice(2);
const other = ['calls', 'memory', 'start'].find((name) => args.includes(`--${name}`));

process.chdir(root);
setUp({ tests: args.includes('--browser') });
mkdirSync(join(root, 'build/bench'), { recursive: true });
await build('the package', [...packageBuild, probe]);
if (other) {
  runOrExit('node', [`tests/bench/${other}.mjs`, ...args.filter((arg) => arg !== `--${other}`)]);
} else {
  installModules('tests/bench/peers');
  runOrExit('node', ['tests/bench/node.mjs', ...args]);
}
