// The IDX format of the MNIST files: a magic number, big-endian sizes, bytes. Pure.

import { failure } from '../errors.js';

export interface Idx {
  readonly shape: readonly number[];
  /** The elements in row order; only the unsigned byte kind of the format is read. */
  readonly values: Uint8Array;
}

/** Reads an IDX file of unsigned bytes. @throws OmnigradError `format` if it is none or is cut short. */
export function parseIdx(bytes: Uint8Array): Idx {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 4 || view.getUint16(0) !== 0 || view.getUint8(2) !== 8) {
    throw failure('parseIdx', 'format', 'not an IDX file of unsigned bytes: the first bytes must be 0, 0, 8');
  }
  const rank = view.getUint8(3);
  const start = 4 + 4 * rank;
  if (bytes.length < start) throw failure('parseIdx', 'format', 'the file ends within its header');
  const shape = Array.from({ length: rank }, (_, axis) => view.getUint32(4 + 4 * axis));
  const count = shape.reduce((product, size) => product * size, 1);
  if (bytes.length - start !== count) {
    const text = `the header says [${shape.join(', ')}], ${count} bytes, but ${bytes.length - start} follow`;
    throw failure('parseIdx', 'format', text);
  }
  return { shape, values: bytes.subarray(start) };
}
