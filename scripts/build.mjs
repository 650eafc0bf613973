// npm run build: the package, in dist/.
import { build, packageBuild } from './lib/build.mjs';
import { setUp } from './lib/setup.mjs';

setUp();
await build('the package', packageBuild);
