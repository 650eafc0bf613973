// npm start: trains on MNIST in Node. Arguments go to the training script: npm start -- --variant single
import { build, packageBuild } from './lib/build.mjs';
import { runOrExit } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';

setUp();
installModules('web/demos/data');
await build('the package', packageBuild);
runOrExit('node', ['web/demos/node/mnist.mjs', ...process.argv.slice(2)]);
