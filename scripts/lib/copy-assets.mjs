// Puts the wasm builds' files beside the compiled TypeScript, where it looks for them.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

cpSync(join(root, 'web/assets'), join(root, 'dist/assets'), { recursive: true, preserveTimestamps: true });
