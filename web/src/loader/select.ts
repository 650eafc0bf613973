// Which build to start, as a pure function of probed features and the caller's wishes. Touches nothing, so every
// branch is tested without a browser.

import type { Variant } from '../assets.js';
import type { Features } from './features.js';

/** Why a build was chosen. `start-failed` and `start-timeout`: threads were possible but did not come up. */
export type ReasonCode =
  | 'ok'
  | 'forced'
  | 'not-isolated'
  | 'no-sab'
  | 'no-workers'
  | 'cross-origin-worker'
  | 'start-timeout'
  | 'start-failed'
  | 'memory'
  | 'no-simd'
  | 'no-exceptions';

export interface Reason {
  readonly code: ReasonCode;
  readonly message: string;
}

/** `unsupported`: nothing that was asked for can run here. */
export type Selection =
  | {
      readonly variant: Variant;
      readonly threads: number;
      readonly reason: Reason;
      readonly unsupported?: never;
    }
  | { readonly unsupported: Reason };

export interface SelectOptions {
  readonly variant?: Variant | 'auto';
  readonly threads?: number;
  /** Absolute URL of the threaded build's module, to tell whether a worker may be started from it; null: there is none. */
  readonly glueUrl?: string | null;
}

/** Threads started unless asked otherwise: more rarely help and cost memory. */
export const defaultThreadLimit = 8;
/** The most that may be asked for. */
export const threadLimit = 64;

/** The build to start, and why. */
export function selectVariant(features: Features, options: SelectOptions = {}): Selection {
  const missing = missingFeature(features);
  if (missing) return { unsupported: missing };
  const wanted = options.variant ?? 'auto';
  if (wanted === 'single')
    return single({ code: 'forced', message: 'the single-threaded build was asked for' });
  const obstacle = threadsObstacle(features, options.glueUrl);
  if (obstacle) return wanted === 'threads' ? { unsupported: obstacle } : single(obstacle);
  const threads = Math.max(
    1,
    Math.min(options.threads ?? Math.min(features.cores, defaultThreadLimit), threadLimit),
  );
  const reason: Reason =
    wanted === 'threads'
      ? { code: 'forced', message: 'the threaded build was asked for' }
      : { code: 'ok', message: `shared memory and workers are available; ${features.cores} processors` };
  return { variant: 'threads', threads, reason };
}

function single(reason: Reason): Selection {
  return { variant: 'single', threads: 1, reason };
}

function missingFeature(features: Features): Reason | undefined {
  if (!features.simd) {
    return {
      code: 'no-simd',
      message:
        'this engine lacks WebAssembly SIMD; Chrome and Edge have it from 91, Firefox from 89, Safari from 16.4, Node from 16.4',
    };
  }
  if (!features.exceptions) {
    return {
      code: 'no-exceptions',
      message:
        'this engine lacks WebAssembly exceptions; Chrome and Edge have them from 95, Firefox from 100, Safari from 15.2, Node from 17',
    };
  }
  return undefined;
}

function threadsObstacle(features: Features, glueUrl: string | null | undefined): Reason | undefined {
  if (glueUrl === null) {
    return {
      code: 'forced',
      message:
        'omnigrad/single comes without the threaded build; give its URLs in assets.threads, or import omnigrad',
    };
  }
  if (!features.isolated) {
    return {
      code: 'not-isolated',
      message:
        'the page is not cross-origin isolated; serve it with Cross-Origin-Opener-Policy: same-origin and ' +
        'Cross-Origin-Embedder-Policy: require-corp to get threads',
    };
  }
  if (!features.sharedMemory) return { code: 'no-sab', message: 'this engine offers no SharedArrayBuffer' };
  if (features.deno) return { code: 'no-workers', message: "Deno's worker threads cannot run the pool" };
  if (!features.workers) return { code: 'no-workers', message: 'workers cannot be started here' };
  if (!features.node && glueUrl !== undefined && new URL(glueUrl).origin !== features.origin) {
    return {
      code: 'cross-origin-worker',
      message:
        `browsers start no worker from another origin: ${glueUrl} is not of ${features.origin}; ` +
        `give assets.threads.glue the URL of a file of yours that says export { default } from '${glueUrl}'`,
    };
  }
  return undefined;
}
