// A picture that the visitor brings, decoded by the browser.

import { failure } from './failure.js';

/** @param op the demo that asks. @throws OmnigradError `picture` if the browser cannot read it */
export async function bitmapOf(file: Blob, op: string): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file);
  } catch (cause) {
    throw failure(op, 'picture', 'the browser cannot read this file as a picture', cause);
  }
}
