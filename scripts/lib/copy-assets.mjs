// Puts the wasm builds' files beside the compiled TypeScript, where it looks for them, and takes away what was compiled
// from sources that are no more: it would be packed.
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';
import { files } from './sources.mjs';

cpSync(join(root, 'web/assets'), join(root, 'dist/assets'), { recursive: true, preserveTimestamps: true });

for (const name of files(/\.(js|js\.map|d\.ts)$/, 'dist')) {
  const source = name.replace(/^dist\//, 'web/src/').replace(/\.(js|js\.map|d\.ts)$/, '.ts');
  if (!/^dist\/(assets|demos|vendor)\//.test(name) && !existsSync(join(root, source)))
    rmSync(join(root, name));
}
