// The page that `npm run optable` writes is of this schema, and all of it passed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import * as og from 'omnigrad';

before(() => og.init({ variant: 'single' }));

test('tests/ops.md has a row for every op of the schema, none of which fails or was left out', () => {
  const page = readFileSync(new URL('../ops.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` .*$/gm)];
  const ops = og.schema().ops.filter((op) => !op.internal);
  assert.deepEqual(
    rows.map(([, name]) => name),
    ops.map(({ name }) => name),
    'run: npm run optable',
  );
  assert.deepEqual(
    rows.filter(([row]) => /fail|not checked/.test(row)).map(([row]) => row),
    [],
  );
});
