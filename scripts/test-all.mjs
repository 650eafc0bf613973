// npm run test:all [-- --only NAME[,NAME]]: npm test, the demos in other browsers and trained in full, consumers of the
// package, long fuzzing. Closes with "N passed, N failed" on its own line.
import { build, packageBuild } from './lib/build.mjs';
import { capture, fail, root } from './lib/run.mjs';
import { installModules, setUp } from './lib/setup.mjs';
import { counts, nodeTests, runStages } from './lib/stages.mjs';

const fuzzMinutes = 20;
const hour = 3600;

const script = (name, count, args, seconds = hour) => ({
  name,
  count,
  cores: 2,
  run: () => capture('node', args, { seconds }),
});

const stages = [
  script('npm test', counts.summary, ['scripts/test.mjs'], 2 * hour),
  nodeTests('browsers', 'tests/browsers'),
  nodeTests('trainings', 'tests/trainings', { seconds: 2 * hour }),
  script('consumers', counts.nodeTest, ['scripts/consumers.mjs']),
  script('fuzz', counts.check, ['scripts/fuzz.mjs', '--minutes', String(fuzzMinutes)], 2 * fuzzMinutes * 60),
];

const at = process.argv.indexOf('--only');
const only = at < 0 ? undefined : (process.argv[at + 1] ?? '');
const wanted = stages.filter(
  ({ name }) => only === undefined || only.split(',').some((part) => name.includes(part)),
);
if (wanted.length === 0 || only === '')
  fail(`--only takes of these: ${stages.map(({ name }) => name).join(', ')}`);

process.chdir(root);
setUp({ tests: true, browsers: true });
installModules('web/demos/data');
await build('the package', packageBuild);
const { passed, failed } = await runStages(wanted);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
