// Each entry of the package may be the first that a program imports.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

for (const entry of [
  'omnigrad',
  'omnigrad/nn',
  'omnigrad/optim',
  'omnigrad/data',
  'omnigrad/train',
  'omnigrad/worker',
  'omnigrad/single',
  'omnigrad/io',
  'omnigrad/metrics',
]) {
  test(entry, () => {
    const program = `await import('${entry}'); const { init, ones } = await import('omnigrad');
      await init({ variant: 'single' }); process.stdout.write(String(ones([2]).sum().item()));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: new URL('../..', import.meta.url),
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    assert.equal(stdout, '2');
  });
}
