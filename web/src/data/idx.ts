// The IDX format of the MNIST files: a magic number, big-endian sizes, elements. http://yann.lecun.com/exdb/mnist/

import { Cursor, type Origin, bytesOf, product } from '../io/bytes.js';
import { type ElementKind, kindSize, swapped, toTensor } from '../io/elements.js';
import { checkOptions, text } from '../options.js';
import type { Tensor } from '../tensor.js';

export interface Idx {
  readonly shape: readonly number[];
  /** The elements in row order. */
  readonly values: Uint8Array;
}

export interface IdxOptions {
  /** What the bytes are called in errors; default `the bytes`. */
  readonly name?: string;
}

const kinds: Readonly<Record<number, ElementKind>> = {
  0x08: 'U8',
  0x09: 'I8',
  0x0b: 'I16',
  0x0c: 'I32',
  0x0d: 'F32',
  0x0e: 'F64',
};

/** Reads an IDX file of unsigned bytes. @throws OmnigradError `format`, naming file and offset */
export function parseIdx(data: ArrayBuffer | ArrayBufferView, options: IdxOptions = {}): Idx {
  const { cursor, shape, kind } = open('parseIdx', data, options);
  if (kind !== 'U8')
    throw cursor.fail(`the elements are ${kind}; parseIdx reads unsigned bytes, decodeIdx all`, 2);
  return { shape, values: cursor.take(cursor.left, 'the elements') };
}

/** The array of an IDX file of any kind; 8 and 16 bits with a sign become int32. @throws OmnigradError `format` */
export function decodeIdx(data: ArrayBuffer | ArrayBufferView, options: IdxOptions = {}): Tensor {
  const { cursor, shape, kind } = open('decodeIdx', data, options);
  const offset = cursor.offset;
  const bytes = cursor.take(cursor.left, 'the elements');
  return toTensor({ kind, shape, bytes: swapped(bytes, kindSize(kind)), offset }, cursor.origin);
}

function open(
  op: string,
  data: unknown,
  options: IdxOptions,
): { cursor: Cursor; shape: number[]; kind: ElementKind } {
  checkOptions(op, options, { name: text });
  const origin: Origin = { op, file: options.name ?? 'the bytes' };
  const cursor = new Cursor(bytesOf(op, data), origin);
  const zeros = cursor.u16('the magic number');
  const kind = kinds[cursor.u8('the magic number')];
  if (zeros !== 0 || kind === undefined)
    throw cursor.fail('no IDX file: it must begin with 0, 0 and a type of elements, 8 for unsigned bytes', 0);
  const rank = cursor.u8('the magic number');
  const shape = Array.from({ length: rank }, () => cursor.u32be('the sizes'));
  const count = product(shape);
  const needed = count === undefined ? Infinity : count * kindSize(kind);
  if (needed !== cursor.left)
    throw cursor.fail(`the header says [${shape.join(', ')}], ${needed} bytes, but ${cursor.left} follow`);
  return { cursor, shape, kind };
}
