// Where data lies for a page: the folder `data/` of the site. Node's is in ../node/task.mjs.

import { failure } from './failure.js';
import type { Data } from './task.js';

/** What the visitor gave, by name: read as `given/NAME`. */
export type Given = Readonly<Record<string, Uint8Array>>;

/** @param folder its URL, with a slash at the end */
export function siteData(folder: string, given: Given = {}): Data {
  const url = (path: string): URL => new URL(path, folder);
  return {
    url,
    async bytes(path) {
      const failed = (why: string, cause?: unknown): Error =>
        failure('data', 'not-found', `${path} did not arrive: ${why}`, cause);
      const [, name = ''] = /^given\/(.*)$/.exec(path) ?? [];
      if (name !== '') {
        const bytes = Object.hasOwn(given, name) ? given[name] : undefined;
        if (bytes) return bytes.slice();
        throw failure('data', 'not-found', `${path}: nothing was given`);
      }
      let response: Response;
      try {
        response = await fetch(url(path));
        if (response.ok) return new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        throw failed(String(error), error);
      }
      throw failed(`HTTP ${response.status}`);
    },
  };
}
