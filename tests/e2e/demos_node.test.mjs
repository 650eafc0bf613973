// The demos' Node script as a person runs it: a bar, an end of its own; Ctrl-C keeps the run and says where, --resume goes
// on from there to the bits of a run that was never stopped; a wrong flag is one line.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inNode, node, settingsOf, steps } from '../browsers/support/demos.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = 'web/demos/node/task.mjs';
const flagsOf = (name) =>
  Object.entries(settingsOf(name)).flatMap(([key, value]) => [`--${key}`, `${value}`]);

/** Runs the script and presses Ctrl-C, once, as soon as it says that it runs. */
function interrupted(...args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...args], { cwd: root });
    let output = '';
    let waiting = true;
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (!waiting || !/started/.test(output)) return;
      waiting = false;
      child.kill('SIGINT');
    });
    child.on('close', (status) => resolve({ status, output }));
  });
}

test('stopped by Ctrl-C and resumed, a run ends with the weights of one that was not', async () => {
  const name = 'gpt';
  const whole = await inNode(name);
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  try {
    const file = join(folder, 'run.safetensors');
    const first = await interrupted(name, ...flagsOf(name), '--checkpoint', file);
    assert.equal(first.status, 130, first.output);
    const [, step] = /stopped at step (\d+); saved to .*run\.safetensors/.exec(first.output) ?? [];
    assert.ok(Number(step) < steps, first.output);
    assert.match(first.output, new RegExp(`go on with: npm run train -- ${name} --resume`));
    const second = await node(script, name, '--resume', '--checkpoint', file);
    assert.equal(second.status, 0, second.stderr);
    assert.match(second.stdout, new RegExp(`step ${step} of ${steps}`));
    assert.match(second.stdout, new RegExp(`${steps}/${steps}`), 'its bar');
    assert.match(second.stdout, new RegExp(`^weights ${whole.hash}$`, 'm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what is wrong is one line', async () => {
  for (const [args, status, line] of [
    [['gpt', '--stepps', '3'], 2, /^gpt: --stepps is unknown; allowed: --seed, .*\n$/],
    [['gpt', '--heads', '0'], 2, /^gpt: --heads is "0"; it is a whole number from 1 to 8\n$/],
    [['nothing'], 2, /^task: give a name first, one of .*gpt.*\n$/],
  ]) {
    const run = await node(script, ...args);
    assert.equal(run.status, status);
    assert.match(run.stderr, line);
  }
});
