// npm run bench -- --start [--rounds N]: how long init() takes, in a fresh Node each time: the median over the rounds, in
// which the builds take turns.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { median } from './measure.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '15' } } });

const cases = [
  { name: 'single', options: { variant: 'single' }, bar: 15 },
  { name: 'two threads', options: { variant: 'threads', threads: 2 }, bar: 45 },
];

const entry = new URL('../../dist/index.js', import.meta.url).href;
const program = (options) => `
  const { init } = await import(${JSON.stringify(entry)});
  const begin = performance.now();
  await init(${JSON.stringify(options)});
  console.log(performance.now() - begin);
`;

function once(options) {
  const { status, stdout, stderr } = spawnSync('node', ['--input-type=module', '-e', program(options)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

const times = cases.map(() => []);
for (let round = 0; round < Number(values.rounds); round++) {
  cases.forEach(({ options }, i) => times[i].push(once(options)));
}
cases.forEach(({ name, bar }, i) => {
  const ms = median(times[i]);
  const verdict = ms <= 1.05 * bar ? 'met' : 'MISSED';
  console.log(`init() ${name.padEnd(12)} ${ms.toFixed(1).padStart(6)} ms  at most ${bar}  ${verdict}`);
});
