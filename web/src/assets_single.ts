// Where the single-threaded build lies unless `init({ assets })` says otherwise: in `assets/` beside this file, or beside the
// bundle that this file became part of, or where a bundler put it. Vite, webpack and Next look for
// `new URL('literal', import.meta.url)` and copy the file; Rollup, esbuild and browsers take it as it stands. So it is
// written out, at the root of dist/, apart from the other build's.

import type { AssetUrls } from './assets.js';

export const singleAssets = (): AssetUrls => ({
  glue: new URL('./assets/omnigrad-single.mjs', import.meta.url).href,
  wasm: new URL('./assets/omnigrad-single.wasm', import.meta.url).href,
});
