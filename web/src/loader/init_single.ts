// init of omnigrad/single: bundlers that copy what they see by URL see no threaded build here.

import { singleAssets } from '../assets_single.js';
import { type InitOptions, type InitResult, initWith } from './instance.js';

/** `init` of the package's main entry, with the single-threaded build only. */
export function init(options: InitOptions = {}): Promise<InitResult> {
  return initWith({ single: singleAssets }, options);
}
