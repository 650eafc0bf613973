// What page and worker say to each other. The worker says hello on its own channel when it serves; everything else goes
// through a MessagePort that the page sends it, so that the channel stays the application's.

import type { PackedError } from './errors.js';

/** On the worker's own channel. */
export type Greeting =
  | {
      readonly omnigrad: 'serve';
      /** Web Lock that the worker holds as long as it lives; undefined where there are no locks. */
      readonly lock?: string;
    }
  | { readonly omnigrad: 'port'; readonly port: MessagePort };

export function isGreeting(data: unknown): data is Greeting {
  return (
    typeof data === 'object' && data !== null && typeof (data as Partial<Greeting>).omnigrad === 'string'
  );
}

/** `id` is that of the call. */
export type Request =
  | {
      readonly type: 'call';
      readonly id: number;
      readonly name: string;
      readonly arg: unknown;
      readonly again?: Again;
    }
  | { readonly type: 'pause' | 'resume' | 'cancel'; readonly id: number };

/** A run that goes on in a new worker. */
export interface Again {
  readonly state: unknown;
  /** Reports after the checkpoint that the page has already: not to be sent again. */
  readonly skip: number;
}

export type Reply =
  /** The handler is a generator. */
  | { readonly type: 'run'; readonly id: number }
  | { readonly type: 'reports'; readonly id: number; readonly values: readonly unknown[] }
  /** Sent after the reports that came before it. */
  | { readonly type: 'checkpoint'; readonly id: number; readonly state: unknown }
  | { readonly type: 'paused'; readonly id: number }
  | { readonly type: 'done'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly error: PackedError };
