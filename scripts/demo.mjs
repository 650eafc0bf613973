// npm run demo: serves the page that trains in a worker, with isolation headers and without.
import { build, packageBuild } from './lib/build.mjs';
import { runOrExit } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

setUp();
await build('the package', packageBuild);
runOrExit('node', ['web/demos/serve.mjs', ...process.argv.slice(2)]);
