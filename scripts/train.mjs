// npm run train -- NAME [flags]: one of the classic trainings in Node; without a name it tells which there are.
import { build, packageBuild } from './lib/build.mjs';
import { fail, runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

const scripts = {
  cnn: 'a convolutional network to 99 % on MNIST',
  gru: 'a recurrent network that writes like Moby Dick',
  gpt: 'a small transformer that writes like Moby Dick',
  gan: 'a pair of networks that draws digits, by second-order gradients',
};

const [name, ...flags] = process.argv.slice(2);
if (!Object.hasOwn(scripts, name ?? '')) {
  const list = Object.entries(scripts).map(([key, text]) => `\n  ${key}  ${text}`);
  fail(`npm run train -- NAME, where NAME is one of${list.join('')}`);
}
setUp();
if (name === 'gru' || name === 'gpt') installModules('web/demos/data');
await build('the package', packageBuild);
runOrExit('node', [`web/demos/node/${name}.mjs`, ...flags]);
