// npm run docs: the API's pages and the guide, as a site in build/site.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, packageBuild } from './lib/build.mjs';
import { bin, root, runOrExit, say } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

setUp();
await build('the package', packageBuild);
// The sources of what package.json exports, where the comments are. omnigrad/single is omnigrad again.
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.values(exports)
  .flatMap(({ types }) => (types === undefined || types.includes('single') ? [] : [types]))
  .map((types) => types.replace('./dist/', 'web/src/').replace(/\.d\.ts$/, '.ts'));
runOrExit(bin('typedoc'), ['--logLevel', 'Warn', ...entries.flatMap((entry) => ['--entryPoints', entry])]);
say('the site is in build/site');
