// Errors of the demos, with a code that the page has advice for.

import { OmnigradError } from 'omnigrad';

/** Makes (does not throw) an error that says `op: text`. */
export const failure = (op: string, code: string, text: string, cause?: unknown): OmnigradError =>
  new OmnigradError(`${op}: ${text}`, { op, code, ...(cause === undefined ? {} : { cause }) });
