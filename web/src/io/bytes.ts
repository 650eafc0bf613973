// Reading bytes that someone else wrote: a cursor that never leaves them, and the error that names file and offset.
// Knows no format.

import { type OmnigradError, failure } from '../errors.js';

/** Who reads, and what: for errors. */
export interface Origin {
  /** The function that was called. */
  readonly op: string;
  /** The file's name, or what stands for one. */
  readonly file: string;
}

/** Makes (does not throw) `op: file, byte offset: text`, code `format`. */
export function corrupt({ op, file }: Origin, offset: number, text: string, cause?: unknown): OmnigradError {
  return failure(op, 'format', `${file}, byte ${offset}: ${text}`, cause);
}

/** A view on the bytes of whatever a caller has them in. */
export function asBytes(value: ArrayBufferLike | ArrayBufferView): Uint8Array {
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

/** True for what asBytes takes. */
export function hasBytes(value: unknown): value is ArrayBufferLike | ArrayBufferView {
  return (
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer)
  );
}

/** The bytes that a function was given. @throws OmnigradError `argument` */
export function bytesOf(op: string, value: unknown): Uint8Array {
  if (hasBytes(value)) return asBytes(value);
  throw failure(
    op,
    'argument',
    'bytes must be a Uint8Array, another view, or an ArrayBuffer; load() reads files',
  );
}

/** Reads little-endian numbers and stretches of bytes; what is not there is an error, not undefined. */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly origin: Origin;
  offset: number;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, origin: Origin, offset = 0) {
    this.bytes = bytes;
    this.origin = origin;
    this.offset = offset;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get left(): number {
    return this.bytes.length - this.offset;
  }

  /** An error at this place, or another. */
  fail(text: string, offset = this.offset, cause?: unknown): OmnigradError {
    return corrupt(this.origin, offset, text, cause);
  }

  /** Moves on by `count` bytes; gives the offset they begin at. */
  skip(count: number, what: string): number {
    if (!(count <= this.left))
      throw this.fail(`the file ends within ${what}: ${count} bytes are needed, ${this.left} are left`);
    const start = this.offset;
    this.offset += count;
    return start;
  }

  /** The next bytes, as a view. */
  take(count: number, what: string): Uint8Array {
    const start = this.skip(count, what);
    return this.bytes.subarray(start, start + count);
  }

  u8(what: string): number {
    return this.#view.getUint8(this.skip(1, what));
  }
  u16(what: string): number {
    return this.#view.getUint16(this.skip(2, what), true);
  }
  u32(what: string): number {
    return this.#view.getUint32(this.skip(4, what), true);
  }
  i32(what: string): number {
    return this.#view.getInt32(this.skip(4, what), true);
  }
  /** Big-endian, as IDX and PNG have them. */
  u32be(what: string): number {
    return this.#view.getUint32(this.skip(4, what));
  }
  f64be(what: string): number {
    return this.#view.getFloat64(this.skip(8, what));
  }
  /** A 64-bit length or offset. No file has more than 2^53 bytes. */
  u64(what: string): number {
    const start = this.skip(8, what);
    const value = Number(this.#view.getBigUint64(start, true));
    if (!Number.isSafeInteger(value)) throw this.fail(`${what} is ${value}, more than any file holds`, start);
    return value;
  }

  /** The next bytes as UTF-8. */
  text(count: number, what: string): string {
    const start = this.offset;
    try {
      return utf8.decode(this.take(count, what));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw this.fail(`${what} is not UTF-8`, start);
    }
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The product of sizes; undefined where it is no exact number. */
export function product(shape: readonly number[]): number | undefined {
  let count = 1;
  for (const size of shape) count *= size;
  // A zero may hide that the others are too large to count.
  return Number.isSafeInteger(count) && shape.every((size) => Number.isSafeInteger(size)) ? count : undefined;
}
