// npm run bench -- --calls [--threads 2]: what one call of a small op costs from JavaScript, its tensor's end included:
// add of two tensors of one element, plain and recorded, in scopes of a thousand as in a training step.
import { parseArgs } from 'node:util';
import { add, init, scope, tensor } from '../../dist/index.js';
import { median } from './measure.mjs';

const { values } = parseArgs({ options: { threads: { type: 'string', default: '1' } } });
const threads = Number(values.threads);
const calls = 1000;
const turns = 25;
const scopesPerTurn = 20;

const { variant } = await init(threads === 1 ? { variant: 'single' } : { variant: 'threads', threads });
const cases = [
  { name: 'plain', x: tensor([1]), bar: 0.8 },
  { name: 'recorded', x: tensor([1], { requiresGrad: true }), bar: 1.5 },
];
const y = tensor([2]);

function microseconds(x) {
  const begin = performance.now();
  for (let i = 0; i < scopesPerTurn; i++) {
    scope(() => {
      for (let call = 0; call < calls; call++) add(x, y);
    });
  }
  return ((performance.now() - begin) * 1000) / (scopesPerTurn * calls);
}

const times = cases.map(() => []);
for (let turn = -5; turn < turns; turn++) {
  cases.forEach(({ x }, i) => {
    const time = microseconds(x);
    if (turn >= 0) times[i].push(time);
  });
}
cases.forEach(({ name, bar }, i) => {
  const us = median(times[i]);
  const verdict = us <= 1.05 * bar ? 'met' : 'MISSED';
  console.log(`add ${name.padEnd(9)} (${variant}) ${us.toFixed(2)} us  at most ${bar}  ${verdict}`);
});
