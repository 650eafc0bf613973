// For tests of files: what they must say of damage, mutations of valid files, and a folder that goes away.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as og from 'omnigrad';

/** The bytes of a file in tests/node/data. */
export const fixture = (name) => new Uint8Array(readFileSync(new URL(`../data/${name}`, import.meta.url)));

/** Runs `use(folder)` with a folder that is removed afterwards. */
export async function withFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), 'omnigrad-'));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Asserts an error of code `format` that names file and offset; nothing is left in the module. */
export function refuses(decode, bytes, pattern) {
  const before = og.memory();
  assert.throws(
    () => decode(bytes, { name: 'bad.file' }),
    (error) => {
      assert.ok(og.OmnigradError.is(error), String(error?.stack ?? error));
      assert.equal(error.code, 'format', error.message);
      assert.match(error.message, /^\w+: bad\.file(, entry '.*')?, byte \d+: /);
      if (pattern) assert.match(error.message, pattern);
      return true;
    },
  );
  const after = og.memory();
  assert.deepEqual(
    [after.tensors, after.liveBytes],
    [before.tensors, before.liveBytes],
    'something was left',
  );
}

/** Whole numbers below n, the same ones for a seed (xorshift). */
export function dice(seed) {
  let state = seed | 1;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
}

/** A damaged copy: bytes flipped, set, cut off, put in, moved. */
export function mutated(bytes, roll) {
  let out = Uint8Array.from(bytes);
  for (let times = 1 + roll(3); times > 0; times--) {
    const at = roll(out.length);
    const kind = roll(6);
    if (kind === 0) out[at] ^= 1 << roll(8);
    else if (kind === 1) out[at] = [0, 1, 0x7f, 0x80, 0xff][roll(5)];
    else if (kind === 2) out = out.slice(0, at + 1);
    else if (kind === 3) out = Uint8Array.of(...out.subarray(0, at), roll(256), ...out.subarray(at));
    else if (kind === 4) out.copyWithin(at, roll(out.length), roll(out.length));
    else out.fill(0xff, at, Math.min(out.length, at + 8));
  }
  return out;
}

/** Decodes `count` damaged copies: each is read, or refused as it should be; none leaves anything behind. */
export function fuzz(decode, bytes, count, seed) {
  const roll = dice(seed);
  const before = og.memory();
  let refused = 0;
  for (let i = 0; i < count; i++) {
    try {
      og.scope(() => void decode(mutated(bytes, roll), { name: 'bad.file' }));
    } catch (error) {
      const told = `seed ${seed}, case ${i}: ${error?.stack ?? error}`;
      assert.ok(og.OmnigradError.is(error) && error.code === 'format', told);
      assert.match(error.message, /^\w+: bad\.file(, entry '[^]*')?, byte \d+: /, told);
      refused++;
    }
  }
  const after = og.memory();
  assert.deepEqual(
    [after.tensors, after.liveBytes],
    [before.tensors, before.liveBytes],
    'something was left',
  );
  assert.ok(refused > count / 4, `only ${refused} of ${count} damaged files were refused`);
}
