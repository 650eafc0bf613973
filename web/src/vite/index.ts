// omnigrad/vite: what Vite needs to be told. Written against Vite's configuration without importing it: Vite is not a
// dependency.

import { boolean, checkOptions } from '../options.js';

export interface OmnigradPluginOptions {
  /**
   * Sends the headers that isolate pages, from the development server and the preview; default true. The server that
   * the built page ends up on must send them too.
   */
  readonly isolate?: boolean;
}

/** The part of Vite's configuration that the plugin sets. */
interface ViteConfig {
  readonly optimizeDeps: { readonly exclude: string[] };
  readonly worker: { readonly format: 'es' };
  readonly server?: { readonly headers: Record<string, string> };
  readonly preview?: { readonly headers: Record<string, string> };
}

/** A plugin for Vite 5 and later. */
export interface OmnigradPlugin {
  readonly name: string;
  config(): ViteConfig;
}

const isolating = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * For `plugins` in vite.config: keeps the library out of dependency optimisation, which would lose the files that lie
 * beside it; makes workers ES modules, which the library is; and isolates pages, which threads need.
 *
 * @throws OmnigradError `option`.
 */
export default function omnigrad(options: OmnigradPluginOptions = {}): OmnigradPlugin {
  checkOptions('omnigrad/vite', options, { isolate: boolean });
  const headers = { headers: isolating };
  return {
    name: 'omnigrad',
    config: () => ({
      optimizeDeps: { exclude: ['omnigrad'] },
      worker: { format: 'es' },
      ...(options.isolate === false ? {} : { server: headers, preview: headers }),
    }),
  };
}
