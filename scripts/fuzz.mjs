// npm run fuzz [-- --only OP[,OP] --count N --seed S --minutes M --preset native|native-asan]: random calls of every op,
// valid and not, under AddressSanitizer, round after round with new ones, until one goes wrong or the minutes are over. A
// round is N of each kind an op. A failure names the call and its seed: --seed S --count 1 --only OP makes it again.
import { parseArgs } from 'node:util';
import { build, cmake } from './lib/build.mjs';
import { capture, fail, root, say } from './lib/run.mjs';
import { setUp } from './lib/setup.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    only: { ...text, default: '' },
    count: { ...text, default: '2000' },
    seed: { ...text, default: '0' },
    minutes: { ...text, default: 'Infinity' },
    preset: { ...text, default: 'native-asan' },
  },
});
const { only, preset } = values;
const [count, first, minutes] = [values.count, values.seed, values.minutes].map(Number);
if (!(Number.isInteger(count) && count > 0))
  fail(`--count is ${values.count}; it must be a whole number from 1`);
if (!(Number.isInteger(first) && first >= 0))
  fail(`--seed is ${values.seed}; it must be a whole number from 0`);
if (!(minutes > 0)) fail(`--minutes is ${values.minutes}; it must be a number above 0`);

process.chdir(root);
setUp({ tests: true });
await build(`the ${preset} tests`, cmake(preset, 'omnigrad_tests'));
const filter = (only === '' ? ['*'] : only.split(',')).map((op) => `Op/Fuzz.*/${op}`).join(':');
const program = `build/${preset}/tests/cpp/omnigrad_tests`;
const end = performance.now() + minutes * 60_000;
let calls = 0;
for (let seed = first; performance.now() < end; seed += count) {
  const { status, output } = await capture(program, [`--gtest_filter=${filter}`, '--gtest_brief=1'], {
    seconds: Math.min((end - performance.now()) / 1000, 1e6),
    env: { ...process.env, OMNIGRAD_FUZZ: `${count}`, OMNIGRAD_FUZZ_SEED: `${seed}` },
  });
  const [, tests] = /^\[==========\] (\d+) tests? from/m.exec(output) ?? [];
  if (tests === '0') fail(`no op is called ${only}`);
  if (status !== 0 && performance.now() < end) {
    console.error(output);
    fail(`a call of seed ${seed} to ${seed + count - 1} went wrong`);
  }
  if (status === 0) calls += count * Number(tests);
  say(`${calls} calls, seeds ${first} to ${seed + count - 1}`);
}
