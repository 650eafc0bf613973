// The safetensors format: eight bytes of header length, a JSON header, elements without gaps. Everything the header says
// is held against the bytes that are there before anything is made of it.
// https://github.com/huggingface/safetensors#format

import { failure, shown } from '../errors.js';
import { anything, checkOptions, text } from '../options.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';
import { Cursor, type Origin, bytesOf, corrupt, product } from './bytes.js';
import { type Stored, elementBytes, isKind, kindOf, kindSize, toTensor } from './elements.js';
import { parseJson } from './json.js';

/** Tensors by name. */
export type TensorDict = Record<string, Tensor>;

export interface SafetensorsOptions {
  /** What the bytes are called in errors; default `the bytes`. */
  readonly name?: string;
}

/** A file's own words, and where each tensor's elements are: nothing is copied. */
export interface SafetensorsFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, Stored>;
}

// As the format's own library has it.
const mostHeaderBytes = 100_000_000;

/**
 * Reads the header and finds the elements, without making tensors.
 *
 * @throws OmnigradError `format`, naming file and offset
 */
export function parseSafetensors(
  data: ArrayBuffer | ArrayBufferView,
  options: SafetensorsOptions = {},
): SafetensorsFile {
  checkOptions('parseSafetensors', options, { name: text });
  return readSafetensors(bytesOf('parseSafetensors', data), originOf('parseSafetensors', options));
}

/**
 * The tensors of a safetensors file. float16 and bfloat16 stay as they are; the 8-bit floats become float32, other
 * integers the smallest of int32 and int64 that holds them.
 *
 * @throws OmnigradError `format`, naming file and offset
 */
export function decodeSafetensors(
  data: ArrayBuffer | ArrayBufferView,
  options: SafetensorsOptions = {},
): TensorDict {
  checkOptions('decodeSafetensors', options, { name: text });
  const origin = originOf('decodeSafetensors', options);
  return tensorsOf(readSafetensors(bytesOf('decodeSafetensors', data), origin), origin);
}

export const originOf = (op: string, { name = 'the bytes' }: SafetensorsOptions): Origin => ({
  op,
  file: name,
});

/** The tensors of a parsed file; none is left over if one cannot be made. */
export function tensorsOf({ tensors }: SafetensorsFile, origin: Origin): TensorDict {
  return scope(() =>
    Object.fromEntries(Array.from(tensors, ([name, stored]) => [name, toTensor(stored, origin)] as const)),
  );
}

export function readSafetensors(bytes: Uint8Array, origin: Origin): SafetensorsFile {
  const cursor = new Cursor(bytes, origin);
  const headerSize = cursor.u64('the length of the header');
  if (headerSize > mostHeaderBytes || headerSize > cursor.left) {
    const most = `${cursor.left} bytes follow and ${mostHeaderBytes} are allowed`;
    throw cursor.fail(`the header is said to have ${headerSize} bytes; ${most}`, 0);
  }
  const header = cursor.take(headerSize, 'the header');
  if (header[0] !== 0x7b)
    throw cursor.fail(`the header begins with byte ${header[0] ?? 'none'}; it must be '{'`, 8);
  const { value, places } = parseJson(header, origin, 8, 'the header');
  const { __metadata__: metadata = {}, ...entries } = value as Record<string, unknown>;
  const data = bytes.subarray(cursor.offset);
  const place = (name: string): number => places.get(name) ?? 8;
  const tensors = new Map<string, Stored>();
  for (const [name, entry] of Object.entries(entries))
    tensors.set(name, storedOf(name, entry, data, origin, place(name), cursor.offset));
  checkCover(tensors, data.length, origin, cursor.offset, place);
  return { metadata: checkedMetadata(metadata, origin, place('__metadata__')), tensors };
}

function storedOf(
  name: string,
  entry: unknown,
  data: Uint8Array,
  origin: Origin,
  at: number,
  dataStart: number,
): Stored {
  const wrong = (what: string): Error => corrupt(origin, at, `tensor '${name}': ${what}`);
  const { dtype, shape, data_offsets: offsets, ...others } = (entry ?? {}) as Record<string, unknown>;
  const other = Object.keys(others)[0];
  if (other !== undefined) throw wrong(`'${other}' is none of dtype, shape and data_offsets`);
  if (!isKind(dtype)) throw wrong(`no dtype ${shown(dtype)} is known`);
  if (!isSizes(shape)) throw wrong(`the shape is ${shown(shape)}; it must be a list of whole numbers`);
  if (!isSizes(offsets) || offsets.length !== 2)
    throw wrong(`data_offsets are ${shown(offsets)}; they must be two whole numbers`);
  const [begin, end] = offsets as [number, number];
  if (begin > end || end > data.length)
    throw wrong(`data_offsets are ${begin} to ${end}; the data has ${data.length} bytes`);
  const count = product(shape);
  if (count === undefined || count * kindSize(dtype) !== end - begin) {
    const needs = `${dtype} of shape [${shape.join(', ')}] takes ${count === undefined ? 'more than any file has' : count * kindSize(dtype)}`;
    throw wrong(`${end - begin} bytes are given; ${needs}`);
  }
  return { kind: dtype, shape, bytes: data.subarray(begin, end), offset: dataStart + begin };
}

const isSizes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && (size as number) >= 0);

// Each byte belongs to one tensor: files that hide data or give it twice are refused, as the format says.
function checkCover(
  tensors: ReadonlyMap<string, Stored>,
  size: number,
  origin: Origin,
  start: number,
  place: (name: string) => number,
): void {
  const order = [...tensors].sort(([, a], [, b]) => a.offset - b.offset || a.bytes.length - b.bytes.length);
  let next = start;
  for (const [name, { offset, bytes }] of order) {
    if (offset !== next) {
      const what =
        offset < next
          ? 'overlaps the tensor before it'
          : `leaves ${offset - next} bytes before it to no tensor`;
      throw corrupt(origin, place(name), `tensor '${name}' ${what}`);
    }
    next += bytes.length;
  }
  if (next !== start + size) throw corrupt(origin, next, `${start + size - next} bytes belong to no tensor`);
}

function checkedMetadata(metadata: unknown, origin: Origin, at: number): Record<string, string> {
  const good =
    typeof metadata === 'object' &&
    metadata !== null &&
    !Array.isArray(metadata) &&
    Object.values(metadata).every((value) => typeof value === 'string');
  if (!good) throw corrupt(origin, at, '__metadata__ must be an object of strings');
  return metadata as Record<string, string>;
}

/**
 * The bytes of a safetensors file of these tensors, in the order given; PyTorch and others read it.
 *
 * @param options.metadata words to be kept with them, strings by name
 */
export function encodeSafetensors(
  dict: Readonly<TensorDict>,
  options: { readonly metadata?: Readonly<Record<string, string>> } = {},
): Uint8Array<ArrayBuffer> {
  checkOptions('encodeSafetensors', options, { metadata: anything });
  return joined(safetensorsParts('encodeSafetensors', dict, options.metadata));
}

/** As encodeSafetensors, in the parts that are to be written one after the other: nothing is held twice. */
export function safetensorsParts(
  op: string,
  dict: Readonly<TensorDict>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer>[] {
  checkDict(op, dict);
  checkWords(op, metadata);
  if (Object.hasOwn(dict, '__metadata__'))
    throw failure(op, 'argument', "no tensor can be called '__metadata__'");
  const stored = Object.entries(dict).map(([name, x]) => ({ name, x, bytes: elementBytes(x), begin: 0 }));
  // The widest elements first: all are aligned then, which readers that map the file need.
  const order = [...stored].sort((a, b) => kindSize(kindOf(b.x.dtype)) - kindSize(kindOf(a.x.dtype)));
  let end = 0;
  for (const part of order) {
    part.begin = end;
    end += part.bytes.length;
  }
  const entries = stored.map(({ name, x, bytes, begin }) => {
    const offsets = [begin, begin + bytes.length];
    return [name, { dtype: kindOf(x.dtype), shape: x.shape, data_offsets: offsets }] as const;
  });
  const words = Object.keys(metadata).length > 0 ? [['__metadata__', metadata] as const] : [];
  return [headerOf(Object.fromEntries<unknown>([...words, ...entries])), ...order.map(({ bytes }) => bytes)];
}

// Padded with spaces, so that the elements are aligned.
function headerOf(entries: object): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(entries));
  const size = Math.ceil(json.length / 8) * 8;
  const header = new Uint8Array(8 + size).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(size), true);
  header.set(json, 8);
  return header;
}

function checkDict(op: string, dict: unknown): asserts dict is TensorDict {
  if (
    typeof dict !== 'object' ||
    dict === null ||
    Array.isArray(dict) ||
    ArrayBuffer.isView(dict) ||
    isTensor(dict)
  )
    throw failure(
      op,
      'argument',
      `what is encoded is ${shown(dict)}; it must be a record of tensors by name`,
    );
  for (const [name, x] of Object.entries(dict))
    if (!isTensor(x)) throw failure(op, 'argument', `'${name}' is ${shown(x)}; it must be a Tensor`);
}

function checkWords(op: string, metadata: unknown): void {
  const wrong = Object.entries(Object(metadata) as object).find(([, value]) => typeof value !== 'string');
  if (wrong) throw failure(op, 'option', `metadata '${wrong[0]}' is ${shown(wrong[1])}; it must be a string`);
}

/** The parts as one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
