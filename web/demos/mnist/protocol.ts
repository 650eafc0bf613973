// What page and worker say to each other. A run is known by a number of the page's: what arrives from one that was
// replaced meanwhile can be told apart.

import type { Answer, Report, TrainOptions } from './train.js';

export type Command =
  | {
      readonly type: 'open';
      readonly variant: 'auto' | 'threads' | 'single';
      readonly threads?: number;
      /** URL of the folder with the MNIST files. */
      readonly source: string;
    }
  /** Ends a run that is under way. */
  | { readonly type: 'start'; readonly run: number; readonly options: TrainOptions }
  | { readonly type: 'pause' }
  | { readonly type: 'resume' };

/** A digit to look at. */
export interface Sample {
  /** Brightness of 28 x 28 pixels, 0 to 255. */
  readonly pixels: Uint8Array;
  readonly label: number;
}

export type Message =
  /** The build is up. */
  | {
      readonly type: 'build';
      readonly variant: string;
      readonly threads: number;
      readonly code: string;
      readonly message: string;
    }
  /** The digits are there; `samples` are some to watch. */
  | { readonly type: 'ready'; readonly samples: readonly Sample[] }
  /** `answers`: what the network reads in the samples now. */
  | {
      readonly type: 'reports';
      readonly run: number;
      readonly reports: readonly Report[];
      readonly answers: readonly Answer[];
    }
  | { readonly type: 'paused'; readonly run: number }
  | {
      readonly type: 'done';
      readonly run: number;
      readonly accuracy: number;
      readonly tested: number;
      /** Some that it reads wrong, and what it reads. */
      readonly wrong: readonly (Sample & { readonly answer: Answer })[];
    }
  | { readonly type: 'error'; readonly code: string; readonly message: string };
