// What users compile against the packed declarations, under every way of resolving modules, with no DOM library and no
// types of Node, and with the library's own declarations checked.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { install, pack, root } from './support/pack.mjs';

let folder;
before(() => {
  const packed = pack();
  folder = packed.folder;
  install(packed.tarball, folder);
  cpSync(join(root, 'tests/package/types'), folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
});
after(() => rmSync(folder, { recursive: true }));

for (const [module, moduleResolution] of [
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
]) {
  test(`module resolution ${moduleResolution}`, () => {
    const compilerOptions = {
      ...{ module, moduleResolution, target: 'es2022', lib: ['es2022'], types: [] },
      ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true },
    };
    const files = ['bare.ts', ...(moduleResolution === 'nodenext' ? ['common.cts'] : [])];
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
    assert.equal(stdout, '');
    assert.equal(status, 0);
  });
}
