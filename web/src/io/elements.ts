// Elements as files hold them, and the dtype each becomes: its own where the library has it, else the smallest that
// holds every value. One table for all formats.

import { tensor } from '../create.js';
import { type DType, type TypedArray, itemSize, typedView } from '../dtype.js';
import { OmnigradError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type Origin, corrupt } from './bytes.js';

/** How an element is stored; the names are those of safetensors. */
export type ElementKind =
  | 'BOOL'
  | 'U8'
  | 'I8'
  | 'U16'
  | 'I16'
  | 'U32'
  | 'I32'
  | 'U64'
  | 'I64'
  | 'F8_E4M3'
  | 'F8_E5M2'
  | 'F16'
  | 'BF16'
  | 'F32'
  | 'F64';

interface Element {
  readonly bytes: number;
  readonly dtype: DType;
  /** Widens; absent where the bytes are the dtype's own. */
  readonly widen?: (view: DataView, at: number) => number | bigint;
}

const elements: Readonly<Record<ElementKind, Element>> = {
  BOOL: { bytes: 1, dtype: 'bool' },
  U8: { bytes: 1, dtype: 'uint8' },
  I8: { bytes: 1, dtype: 'int32', widen: (view, at) => view.getInt8(at) },
  U16: { bytes: 2, dtype: 'int32', widen: (view, at) => view.getUint16(at, true) },
  I16: { bytes: 2, dtype: 'int32', widen: (view, at) => view.getInt16(at, true) },
  U32: { bytes: 4, dtype: 'int64', widen: (view, at) => BigInt(view.getUint32(at, true)) },
  I32: { bytes: 4, dtype: 'int32' },
  U64: { bytes: 8, dtype: 'int64', widen: (view, at) => view.getBigUint64(at, true) },
  I64: { bytes: 8, dtype: 'int64' },
  F8_E4M3: { bytes: 1, dtype: 'float32', widen: (view, at) => float8(view.getUint8(at), 3, 7, true) },
  F8_E5M2: { bytes: 1, dtype: 'float32', widen: (view, at) => float8(view.getUint8(at), 2, 15, false) },
  F16: { bytes: 2, dtype: 'float16' },
  BF16: { bytes: 2, dtype: 'bfloat16' },
  F32: { bytes: 4, dtype: 'float32' },
  F64: { bytes: 8, dtype: 'float64' },
};

// Eight bits: a sign, an exponent, `mantissaBits` of fraction. E4M3 has no infinities, and one NaN of each sign.
function float8(bits: number, mantissaBits: number, bias: number, finite: boolean): number {
  const sign = bits >= 128 ? -1 : 1;
  const steps = 1 << mantissaBits;
  const exponent = (bits & 127) >> mantissaBits;
  const fraction = bits & (steps - 1);
  if (finite ? (bits & 127) === 127 : exponent === 31)
    return finite || fraction !== 0 ? NaN : sign * Infinity;
  const [whole, power] = exponent === 0 ? [0, 1 - bias] : [1, exponent - bias];
  const scale = power < 0 ? 1 / (1 << -power) : 1 << power;
  return sign * (whole + fraction / steps) * scale;
}

const kinds: Readonly<Record<DType, ElementKind>> = {
  bool: 'BOOL',
  uint8: 'U8',
  int32: 'I32',
  int64: 'I64',
  float16: 'F16',
  bfloat16: 'BF16',
  float32: 'F32',
  float64: 'F64',
};

/** How tensors of that dtype are stored. */
export function kindOf(dtype: DType): ElementKind {
  return kinds[dtype];
}

/** True for the names in the table. */
export function isKind(name: unknown): name is ElementKind {
  return typeof name === 'string' && Object.hasOwn(elements, name);
}

/** Bytes of one stored element. */
export function kindSize(kind: ElementKind): number {
  return elements[kind].bytes;
}

/** The dtype that stored elements get. */
export function dtypeOfKind(kind: ElementKind): DType {
  return elements[kind].dtype;
}

/** Elements and their shape as a file has them: `bytes` is a view of little-endian elements in row order. */
export interface Stored {
  readonly kind: ElementKind;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  /** Where the elements begin, for errors. */
  readonly offset: number;
}

/** A tensor of stored elements. @throws OmnigradError `format` where there is no such tensor */
export function toTensor({ kind, shape, bytes, offset }: Stored, origin: Origin): Tensor {
  const { dtype } = elements[kind];
  const values = widened(kind, bytes, offset, origin);
  try {
    return tensor(values, { shape, dtype });
  } catch (error) {
    if (!OmnigradError.is(error) || error.code === 'memory' || error.code === 'not-initialised') throw error;
    throw corrupt(
      origin,
      offset,
      `no tensor of shape [${shape.join(', ')}] can be made: ${error.message}`,
      error,
    );
  }
}

function widened(kind: ElementKind, bytes: Uint8Array, offset: number, origin: Origin): TypedArray {
  const { dtype, bytes: size, widen } = elements[kind];
  if (!widen) return own(dtype, bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = typedView(
    dtype,
    new ArrayBuffer((bytes.length / size) * itemSize(dtype)),
    0,
    bytes.length / size,
  );
  for (let i = 0; i < wide.length; i++) {
    const value = widen(view, i * size);
    if (typeof value === 'bigint' && value >= 1n << 63n)
      throw corrupt(origin, offset + i * size, `${value} does not fit int64, which is what ${kind} becomes`);
    wide[i] = value;
  }
  return wide;
}

// Typed arrays want aligned bytes. Every engine that runs wasm is little-endian.
function own(dtype: DType, bytes: Uint8Array): TypedArray {
  const size = itemSize(dtype);
  const at = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  return typedView(dtype, at.buffer, at.byteOffset, at.byteLength / size);
}

/** A tensor's elements as bytes; a copy. */
export function elementBytes(x: Tensor): Uint8Array<ArrayBuffer> {
  const values = x.toTypedArray();
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}

/** Reverses the bytes of every element, in a copy. */
export function swapped(bytes: Uint8Array, size: number): Uint8Array {
  const result = bytes.slice();
  for (let start = 0; start + size <= result.length; start += size)
    result.subarray(start, start + size).reverse();
  return result;
}
