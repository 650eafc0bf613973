// npm run golden -- [--dir DIR] [--variant threads|single|native] [--dtype float32|float64] [--only OP] [--json FILE]
import { build, cmake, packageBuild } from './lib/build.mjs';
import { runOrExit } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

const args = process.argv.slice(2);
const native = args[args.indexOf('--variant') + 1] === 'native';
setUp({ tests: native });
await build('the package', packageBuild);
if (native) await build('the native golden program', cmake('native', 'omnigrad_golden'));
runOrExit('node', ['tests/golden/run.mjs', ...args]);
