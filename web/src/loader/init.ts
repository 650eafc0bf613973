// init of the package's main entry: both builds.

import { singleAssets } from '../assets_single.js';
import { threadsAssets } from '../assets_threads.js';
import { type InitOptions, type InitResult, initWith } from './instance.js';

/**
 * Starts the WebAssembly module; everything else is synchronous afterwards. Called again with the same options it
 * gives the same result; with others it is an error until `terminate()`. A build with threads that does not come up is
 * replaced by the single-threaded one, and `reason` says why. Warns, once, where threads were asked for and not to be
 * had; else it prints nothing and adds no global.
 *
 * @throws OmnigradError `option` for bad options, `no-simd` and the like where nothing can run, `start-failed`,
 *   `start-timeout` or `memory` where no build came up, `already-initialised`, `crashed`, and
 *   `terminated`.
 */
export function init(options: InitOptions = {}): Promise<InitResult> {
  return initWith({ threads: threadsAssets, single: singleAssets }, options);
}
