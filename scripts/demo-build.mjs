// npm run demo:build [-- FOLDER]: writes the demos as a static site, to build/site.
import { build, packageBuild } from './lib/build.mjs';
import { runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

setUp();
installModules('web/demos/data');
await build('the package', packageBuild);
runOrExit('node', ['web/demos/site.mjs', ...process.argv.slice(2)]);
