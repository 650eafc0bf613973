// npm run train -- NAME [flags]: a demo's task or one of the classic trainings in Node; without a name it tells which
// there are.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build, packageBuild } from './lib/build.mjs';
import { fail, root, runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

const scripts = {
  cnn: 'a convolutional network to 99 % on MNIST',
  gru: 'a recurrent network that writes like Moby Dick',
  gan: 'a pair of networks that draws digits, by second-order gradients',
};

// Each in a folder of its own, with a page.
const demos = readdirSync(join(root, 'web/demos')).filter((folder) =>
  existsSync(join(root, `web/demos/${folder}/facts.ts`)),
);

const [name, ...flags] = process.argv.slice(2);
const isDemo = demos.includes(name);
if (!isDemo && !Object.hasOwn(scripts, name ?? '')) {
  const list = [
    ...Object.entries(scripts).map(([key, text]) => `\n  ${key}  ${text}`),
    ...demos.map((key) => `\n  ${key}  the demo of that name`),
  ];
  fail(`npm run train -- NAME, where NAME is one of${list.join('')}`);
}
setUp();
if (isDemo || name === 'gru') installModules('web/demos/data');
await build('the package', packageBuild);
runOrExit(
  'node',
  isDemo ? ['web/demos/node/task.mjs', name, ...flags] : [`web/demos/node/${name}.mjs`, ...flags],
);
