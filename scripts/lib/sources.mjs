// Which files the checks look at.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';

/** Files below the folders whose path matches, sorted, relative to the root; a folder that is missing has none. */
export function files(pattern, ...folders) {
  return folders
    .flatMap((folder) => {
      let names = [];
      try {
        names = readdirSync(join(root, folder), { recursive: true });
      } catch (error) {
        if (error.code !== 'ENOENT') throw error;
      }
      return names.map((name) => `${folder}/${name}`);
    })
    .filter((name) => pattern.test(name))
    .sort();
}

export const cppFiles = () => files(/\.(cpp|h)$/, 'core', 'wasm', 'tests');
