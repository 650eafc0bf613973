// Where the wasm builds lie unless `init({ assets })` says otherwise: in `assets/` beside this file, or beside the
// bundle that this file became part of. Kept at the root of dist/ so that both readings agree.

export type Variant = 'threads' | 'single';

/** The two files of one build. */
export interface AssetUrls {
  /** The ES module: glue and thread entry in one. */
  readonly glue: string;
  readonly wasm: string;
}

/** A base URL (a folder), or the files of each build. */
export type Assets = string | URL | Partial<Record<Variant, AssetUrls>>;

/** URLs of one build's files, absolute. A relative base is taken against the page, or the working directory in Node. */
export function assetUrls(variant: Variant, assets: Assets | undefined, base: string): AssetUrls {
  const own = typeof assets === 'object' && !(assets instanceof URL) ? assets[variant] : undefined;
  if (own) return { glue: new URL(own.glue, base).href, wasm: new URL(own.wasm, base).href };
  const folder =
    typeof assets === 'string' || assets instanceof URL ? folderUrl(assets, base) : defaultFolder();
  return {
    glue: new URL(`omnigrad-${variant}.mjs`, folder).href,
    wasm: new URL(`omnigrad-${variant}.wasm`, folder).href,
  };
}

function folderUrl(assets: string | URL, base: string): URL {
  const url = new URL(assets, base);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

// In two steps, since bundlers rewrite `new URL('literal', import.meta.url)`.
function defaultFolder(): URL {
  const here = import.meta.url;
  return new URL('assets/', here);
}
