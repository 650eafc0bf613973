// What page and worker say to each other.

import type { Report, TrainOptions } from './train.js';

export interface Start extends TrainOptions {
  readonly variant: 'auto' | 'threads' | 'single';
  readonly threads?: number;
  /** URL of the folder with the MNIST files. */
  readonly source: string;
}

export type Message =
  | {
      readonly type: 'ready';
      readonly variant: string;
      readonly threads: number;
      readonly code: string;
      readonly message: string;
    }
  | { readonly type: 'reports'; readonly reports: readonly Report[] }
  | { readonly type: 'done'; readonly accuracy: number }
  | { readonly type: 'error'; readonly message: string };
