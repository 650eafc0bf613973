// Writing a file in Node so that it is there whole or not at all: beside it first, onto the disk, then in its place.

import { nodeBuiltin } from '../loader/features.js';
import { type NodeFs, nodeFs, pathOf } from './source.js';

/** Replaces the file. The old one stays as it was until the new one is complete on the disk. */
export async function writeFile(place: string | URL, parts: readonly Uint8Array[]): Promise<void> {
  const { promises: fs } = nodeFs() as NodeFs;
  const url = nodeBuiltin<{ fileURLToPath(url: URL): string }>('url');
  const given = place instanceof URL ? (url?.fileURLToPath(place) ?? '') : place;
  // A link is followed, not replaced.
  const path = await fs.realpath(given).catch(() => given);
  const beside = `${path}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    const file = await fs.open(beside, 'wx');
    try {
      for (const part of parts)
        for (let at = 0; at < part.length;) at += (await file.write(part, at, part.length - at)).bytesWritten;
      await file.sync();
    } finally {
      await file.close();
    }
    await fs.rename(beside, path);
  } catch (error) {
    await fs.rm(beside, { force: true });
    throw error;
  }
  await syncFolder(path, fs);
}

// The rename itself is on the disk once its folder is; not every system opens folders.
async function syncFolder(path: string, fs: NodeFs['promises']): Promise<void> {
  const folder = path.replace(/[^/\\]*$/, '') || '.';
  try {
    const handle = await fs.open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // The file is whole in any case.
  }
}

/** Removes files, those that are there and can be. */
export async function removeFiles(places: readonly string[]): Promise<void> {
  for (const place of places) {
    const path = pathOf(place);
    if (path !== undefined)
      await (nodeFs() as NodeFs).promises.rm(path, { force: true }).catch(() => undefined);
  }
}
