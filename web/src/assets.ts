// Where the wasm builds lie: as `init({ assets })` says, or where the package has them (assets_threads.ts,
// assets_single.ts).

import { failure } from './errors.js';
import type { PlatformURL } from './platform.js';

export type Variant = 'threads' | 'single';

/** The two files of one build. */
export interface AssetUrls {
  /** The ES module: glue and thread entry in one. */
  readonly glue: string;
  readonly wasm: string;
}

/** A base URL (a folder), or the files of each build. */
export type Assets = string | PlatformURL | Partial<Record<Variant, AssetUrls>>;

/** Where the package has a build's files; undefined: this entry of the package comes without that build. */
export type BuiltIn = Readonly<Partial<Record<Variant, () => AssetUrls>>>;

/**
 * URLs of one build's files, absolute; undefined if nothing says where they are. A relative URL is taken against
 * `base`: the page, or the working directory in Node.
 *
 * @throws OmnigradError `option` for what makes no URL.
 */
export function assetUrls(
  variant: Variant,
  assets: Assets | undefined,
  base: string,
  builtIn: BuiltIn,
): AssetUrls | undefined {
  if (typeof assets === 'string' || assets instanceof URL) {
    const folder = absolute(String(assets), base);
    if (!folder.pathname.endsWith('/')) folder.pathname += '/';
    return {
      glue: new URL(`omnigrad-${variant}.mjs`, folder).href,
      wasm: new URL(`omnigrad-${variant}.wasm`, folder).href,
    };
  }
  // Where the package has them is relative too: Turbopack's URLs are.
  const own = assets?.[variant] ?? builtIn[variant]?.();
  return own && { glue: absolute(own.glue, base).href, wasm: absolute(own.wasm, base).href };
}

function absolute(text: string, base: string): URL {
  try {
    return new URL(text, base === '' ? undefined : base);
  } catch (error) {
    throw failure(
      'init',
      'option',
      `assets: ${JSON.stringify(text)} makes no URL here (base ${base})`,
      error,
    );
  }
}
