// npm run test:consumers [-- --only PATTERN]: packs the package and gives it to bundlers and engines, of which each builds
// and runs a small app that trains. Installs about 1 GB into build/consumers first.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build, packageBuild } from './lib/build.mjs';
import { fail, root, runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

const args = process.argv.slice(2);
if (args.length > 0 && (args.length !== 2 || args[0] !== '--only')) fail('only --only PATTERN is allowed');

setUp({ tests: true });
await build('the package', packageBuild);

const source = join(root, 'tests/consumers');
const home = join(root, 'build/consumers');
mkdirSync(home, { recursive: true });
for (const name of ['package.json', 'package-lock.json']) cpSync(join(source, name), join(home, name));
installModules('build/consumers');

const { install, pack } = await import('../tests/package/support/pack.mjs');
const { folder, tarball } = pack();
install(tarball, home);
rmSync(folder, { recursive: true });
runOrExit('node', [
  ...['--test', '--test-concurrency=1', `--test-reporter=${process.stdout.isTTY ? 'spec' : 'tap'}`],
  ...(args.length > 0 ? [`--test-name-pattern=${args[1]}`] : []),
  join(source, 'consumers.test.mjs'),
]);
