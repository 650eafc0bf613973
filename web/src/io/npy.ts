// NumPy's npy and npz. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

import { failure, shown } from '../errors.js';
import { boolean, checkOptions, checkValue, aTensor, text } from '../options.js';
import { scope } from '../scope.js';
import { type Tensor, isTensor } from '../tensor.js';
import { Cursor, type Origin, bytesOf, product } from './bytes.js';
import { type ElementKind, elementBytes, kindOf, kindSize, swapped, toTensor } from './elements.js';
import { type SafetensorsOptions as ReadOptions, type TensorDict, joined, originOf } from './safetensors.js';
import { makeZip, readZip, unpack } from './zip.js';

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];

const descriptions: Readonly<Record<string, ElementKind>> = {
  b1: 'BOOL',
  u1: 'U8',
  i1: 'I8',
  u2: 'U16',
  i2: 'I16',
  u4: 'U32',
  i4: 'I32',
  u8: 'U64',
  i8: 'I64',
  f2: 'F16',
  f4: 'F32',
  f8: 'F64',
};

/**
 * The array of an npy file, of either byte order and either order of axes; other integers become the smallest of int32
 * and int64 that holds them.
 *
 * @throws OmnigradError `format`, naming file and offset
 */
export function decodeNpy(data: ArrayBuffer | ArrayBufferView, options: ReadOptions = {}): Tensor {
  checkOptions('decodeNpy', options, { name: text });
  return readNpy(bytesOf('decodeNpy', data), originOf('decodeNpy', options));
}

export function readNpy(bytes: Uint8Array, origin: Origin): Tensor {
  const cursor = new Cursor(bytes, origin);
  if (!cursor.take(6, 'the magic word').every((byte, i) => byte === magic[i]))
    throw cursor.fail('no npy file: it must begin with \\x93NUMPY', 0);
  const major = cursor.u8('the version');
  cursor.u8('the version');
  if (major < 1 || major > 3) throw cursor.fail(`version ${major} of the format; 1 to 3 are read`, 6);
  const size = major === 1 ? cursor.u16('the length of the header') : cursor.u32('the length of the header');
  const at = cursor.offset;
  const { kind, big, fortran, shape } = parseHeader(cursor.text(size, 'the header'), cursor, at);
  const count = product(shape);
  const needed = count === undefined ? Infinity : count * kindSize(kind);
  if (needed !== cursor.left)
    throw cursor.fail(`shape [${shape.join(', ')}] takes ${needed} bytes; ${cursor.left} follow`);
  const offset = cursor.offset;
  const rest = cursor.take(cursor.left, 'the elements');
  const elements = big && kindSize(kind) > 1 ? swapped(rest, kindSize(kind)) : rest;
  if (!fortran || shape.length < 2) return toTensor({ kind, shape, bytes: elements, offset }, origin);
  return scope(() => {
    const reversed = toTensor({ kind, shape: [...shape].reverse(), bytes: elements, offset }, origin);
    return reversed.permute(shape.map((_, axis) => shape.length - 1 - axis)).clone();
  });
}

// A Python dict of three entries, in any order: nothing else is understood, so nothing is evaluated.
function parseHeader(
  header: string,
  cursor: Cursor,
  at: number,
): { kind: ElementKind; big: boolean; fortran: boolean; shape: number[] } {
  const found = new Map<string, string>();
  const entry = /\s*'(descr|fortran_order|shape)'\s*:\s*('[^']*'|True|False|\([\d,\sL]*\))\s*(,|(?=\}))/y;
  const body = /^\s*\{/.exec(header);
  entry.lastIndex = body?.[0].length ?? 0;
  let end = entry.lastIndex;
  for (let match = body && entry.exec(header); match; match = entry.exec(header)) {
    const [, key = '', value = ''] = match;
    if (found.has(key)) throw cursor.fail(`'${key}' is there twice`, at + match.index);
    found.set(key, value);
    end = entry.lastIndex;
  }
  if (!body || found.size !== 3 || !/^\s*\}\s*$/.test(header.slice(end))) {
    const list = /'descr'\s*:\s*\[/.test(header)
      ? 'arrays of records are not read'
      : 'it must be a dict of descr, fortran_order and shape';
    throw cursor.fail(`the header is not understood here; ${list}`, at + end);
  }
  const descr = (found.get('descr') ?? '').slice(1, -1);
  const kind = Object.hasOwn(descriptions, descr.slice(1)) ? descriptions[descr.slice(1)] : undefined;
  if (kind === undefined || !'<>|='.includes(descr[0] ?? ' ')) {
    const why = descr.includes('O')
      ? 'Python objects are not read: they would run code'
      : 'numbers and booleans are read';
    throw cursor.fail(`the elements are '${descr}'; ${why}`, at);
  }
  const sizes = (found.get('shape') ?? '').match(/\d+/g) ?? [];
  const shape = sizes.map(Number);
  return { kind, big: descr.startsWith('>'), fortran: found.get('fortran_order') === 'True', shape };
}

/** The bytes of an npy file, in row order. @throws OmnigradError `dtype` for bfloat16, which NumPy lacks */
export function encodeNpy(x: Tensor): Uint8Array<ArrayBuffer> {
  checkValue('encodeNpy', 'x', x, aTensor);
  const kind = kindOf(x.dtype);
  const code = Object.keys(descriptions).find((key) => descriptions[key] === kind);
  if (code === undefined)
    throw failure('encodeNpy', 'dtype', `${x.dtype} is no type of NumPy's; cast to float32 first`);
  const { shape } = x;
  const sizes = shape.length === 1 ? `${shape.join()},` : shape.join(', ');
  const order = kindSize(kind) > 1 ? '<' : '|';
  const dict = `{'descr': '${order}${code}', 'fortran_order': False, 'shape': (${sizes}), }`;
  // The elements begin at a multiple of 64.
  const size = Math.ceil((10 + dict.length + 1) / 64) * 64;
  const head = new TextEncoder().encode(`..........${dict.padEnd(size - 11)}\n`);
  head.set([...magic, 1, 0]);
  new DataView(head.buffer).setUint16(8, size - 10, true);
  return joined([head, elementBytes(x)]);
}

/** The arrays of an npz file by name. @throws OmnigradError `format`, naming file, entry and offset */
export function decodeNpz(data: ArrayBuffer | ArrayBufferView, options: ReadOptions = {}): TensorDict {
  checkOptions('decodeNpz', options, { name: text });
  return readNpz(bytesOf('decodeNpz', data), originOf('decodeNpz', options));
}

export function readNpz(bytes: Uint8Array, origin: Origin): TensorDict {
  const entries = readZip(bytes, origin);
  return scope(() =>
    Object.fromEntries(
      Array.from(entries.values(), (entry) => {
        const inner = { op: origin.op, file: `${origin.file}, entry '${entry.name}'` };
        return [entry.name.replace(/\.npy$/, ''), readNpy(unpack(entry, origin), inner)] as const;
      }),
    ),
  );
}

/** The bytes of an npz file of these tensors. */
export function encodeNpz(
  dict: Readonly<TensorDict>,
  options: { readonly compress?: boolean } = {},
): Uint8Array<ArrayBuffer> {
  checkOptions('encodeNpz', options, { compress: boolean });
  const files = Object.entries(Object(dict) as TensorDict).map(([name, x]) => {
    if (!isTensor(x)) throw failure('encodeNpz', 'argument', `'${name}' is ${shown(x)}; it must be a Tensor`);
    return [`${name}.npy`, encodeNpy(x)] as const;
  });
  return makeZip(Object.fromEntries(files), options.compress ?? false);
}
