// Where data lies for a page: the folder `data/` of the site. Node's is in ../node/task.mjs.

import { failure } from './failure.js';
import type { Data } from './task.js';

/** @param folder its URL, with a slash at the end */
export function siteData(folder: string): Data {
  const url = (path: string): URL => new URL(path, folder);
  return {
    url,
    async bytes(path) {
      const failed = (why: string, cause?: unknown): Error =>
        failure('data', 'not-found', `${path} did not arrive: ${why}`, cause);
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
