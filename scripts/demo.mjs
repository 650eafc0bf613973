// npm run demo: serves the demos, with isolation headers and without.
import { build, packageBuild } from './lib/build.mjs';
import { runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

setUp();
installModules('web/demos/data');
await build('the package', packageBuild);
runOrExit('node', ['web/demos/serve.mjs', ...process.argv.slice(2)]);
