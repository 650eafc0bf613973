// The public API is what tests/types/api.txt says: `npm run api` writes it after a change that is meant.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './support/pack.mjs';

test('the public API is the one that is written down', () => {
  const { stdout, status } = spawnSync(process.execPath, [join(root, 'scripts/api.mjs'), '--check'], {
    encoding: 'utf8',
  });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});
