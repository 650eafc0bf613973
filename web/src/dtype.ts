// Element types and the typed arrays that hold them.

/** Element type of a tensor. float16 and bfloat16 are storage: to be made, cast and read. */
export type DType = 'float32' | 'float64' | 'int32' | 'int64' | 'uint8' | 'bool' | 'float16' | 'bfloat16';

/** The element types that ops compute in: all but the halves. */
export type ComputeDType = Exclude<DType, 'float16' | 'bfloat16'>;

/** What `toTypedArray` gives: bool comes as bytes of 0 and 1, the halves as their bits. */
export type TypedArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array | Uint16Array;

/** In the order of the module's codes. */
export const dtypes: readonly DType[] = [
  'float32',
  'float64',
  'int32',
  'int64',
  'uint8',
  'bool',
  'float16',
  'bfloat16',
];

interface Constructor {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
}

const constructors: Record<DType, Constructor> = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
};

/** A typed view of `length` elements at a byte offset. */
export function typedView(dtype: DType, buffer: ArrayBufferLike, offset: number, length: number): TypedArray {
  return new constructors[dtype](buffer, offset, length);
}

/** Bytes of one element. */
export function itemSize(dtype: DType): number {
  return constructors[dtype].BYTES_PER_ELEMENT;
}

const ranges: Partial<Record<DType, readonly [number | bigint, number | bigint]>> = {
  int32: [-2147483648, 2147483647],
  int64: [-(1n << 63n), (1n << 63n) - 1n],
  uint8: [0, 255],
};

/** The least and the greatest value of an integer dtype; undefined for the others. */
export function rangeOf(dtype: DType): readonly [number | bigint, number | bigint] | undefined {
  return ranges[dtype];
}

/** True for float32 and float64. */
export function isFloating(dtype: DType): boolean {
  return dtype === 'float32' || dtype === 'float64';
}

/** True for the dtypes that no op computes in. */
export function isHalf(dtype: DType): boolean {
  return dtype === 'float16' || dtype === 'bfloat16';
}

/** The dtype a typed array stands for; undefined if none does. */
export function dtypeOfArray(array: ArrayBufferView): DType | undefined {
  if (array instanceof Float32Array) return 'float32';
  if (array instanceof Float64Array) return 'float64';
  if (array instanceof Int32Array) return 'int32';
  if (array instanceof BigInt64Array) return 'int64';
  if (array instanceof Uint8Array || array instanceof Uint8ClampedArray) return 'uint8';
  return undefined;
}
