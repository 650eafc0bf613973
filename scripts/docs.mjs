// npm run docs: the API's pages and the guide, as a site in build/site.
import { build, packageBuild } from './lib/build.mjs';
import { bin, runOrExit, say } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

setUp();
await build('the package', packageBuild);
runOrExit(bin('typedoc'), ['--logLevel', 'Warn']);
say('the site is in build/site');
