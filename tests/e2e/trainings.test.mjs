// The training scripts as a person runs them: Ctrl-C saves and says where, --resume goes on from there, a wrong flag is
// one line. The full trainings are in web/demos/node/README.md.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a script; `interrupt`: Ctrl-C so many milliseconds after it said what it trains. */
function start(name, flags, interrupt) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [`web/demos/node/${name}.mjs`, ...flags], { cwd: root });
    let stdout = '';
    let stderr = '';
    let waiting = interrupt !== undefined;
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
      if (!waiting || !/started/.test(stdout)) return;
      waiting = false;
      setTimeout(() => child.kill('SIGINT'), interrupt);
    });
    child.stderr.setEncoding('utf8').on('data', (text) => (stderr += text));
    child.on('close', (status) => resolve({ status, stdout, stderr }));
  });
}

for (const [name, ...flags] of [
  ['cnn', '--batch', '8'],
  ['gan', '--batch', '8'],
]) {
  test(`${name}: stopped, saved, resumed`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'omnigrad-trainings-'));
    try {
      const file = join(folder, 'run.safetensors');
      const common = [...flags, '--variant', 'single', '--checkpoint', file];
      const first = await start(name, common, 1500);
      assert.equal(first.status, 130, first.stderr);
      const step = Number(/stopped at step (\d+); saved to .*run\.safetensors/.exec(first.stdout)?.[1]);
      assert.ok(step > 0, first.stdout);
      assert.match(first.stdout, new RegExp(`go on with: npm run train -- ${name} --resume`));
      assert.ok(existsSync(file));
      const second = await start(name, [...common, '--resume'], 1500);
      assert.equal(second.status, 130, second.stderr);
      const further = Number(/stopped at step (\d+)/.exec(second.stdout)?.[1]);
      assert.ok(further > step, `${further} after ${step}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

test('a wrong flag is one line and the usage', async () => {
  const { status, stderr } = await start('cnn', ['--epoch', '3']);
  assert.equal(status, 2);
  assert.match(stderr, /^cnn: Unknown option '--epoch'.*\nusage: npm run train -- cnn \[--seed N \(1\)\]/);
  const negative = await start('cnn', ['--epochs', 'many']);
  assert.match(negative.stderr, /^cnn: --epochs takes a number, 0 or more\n/);
});
