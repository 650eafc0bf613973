// Zip archives that someone else made, as npz and PyTorch files are: the directory is read and checked here, fflate
// inflates. Nothing is allocated because an entry says it is large; what comes out is counted as it comes.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

import { Inflate, zipSync } from '../vendor/fflate.js';
import { Cursor, type Origin, corrupt } from './bytes.js';

/** An entry as the directory tells it, checked against the bytes that are there. */
export interface ZipEntry {
  readonly name: string;
  readonly deflated: boolean;
  readonly crc: number;
  /** Bytes once unpacked. */
  readonly size: number;
  /** The packed bytes: a view. */
  readonly packed: Uint8Array;
  /** Where they begin. */
  readonly offset: number;
}

const endSize = 22;

/** The entries by name. @throws OmnigradError `format`, naming file and offset */
export function readZip(bytes: Uint8Array, origin: Origin): Map<string, ZipEntry> {
  const { count, start, end } = findDirectory(bytes, origin);
  // A directory entry takes 46 bytes at least.
  if (count * 46 > end - start)
    throw corrupt(origin, start, `${count} entries are said to be in a directory of ${end - start} bytes`);
  const cursor = new Cursor(bytes.subarray(0, end), origin, start);
  const entries = new Map<string, ZipEntry>();
  const spans: [begin: number, end: number, name: string][] = [];
  for (let i = 0; i < count; i++) {
    const at = cursor.offset;
    const { entry, from } = readEntry(cursor, bytes, start);
    if (entries.has(entry.name)) throw corrupt(origin, at, `'${entry.name}' is there twice`);
    entries.set(entry.name, entry);
    spans.push([from, entry.offset + entry.packed.length, entry.name]);
  }
  // Entries that share bytes unpack to more than any file is worth.
  spans.sort((a, b) => a[0] - b[0]);
  spans.forEach(([from, , name], i) => {
    const [, before = 0] = spans[i - 1] ?? [];
    if (from < before) throw corrupt(origin, from, `'${name}' overlaps the entry before it`);
  });
  return entries;
}

function findDirectory(bytes: Uint8Array, origin: Origin): { count: number; start: number; end: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // It is the last thing in the file, before a comment of at most 65535 bytes.
  const least = Math.max(0, bytes.length - endSize - 0xffff);
  let at = bytes.length - endSize;
  while (at >= least && view.getUint32(at, true) !== 0x06054b50) at--;
  if (at < least)
    throw corrupt(origin, bytes.length, 'no end of a zip directory; the file is cut short, or no zip');
  let count = view.getUint16(at + 10, true);
  let size = view.getUint32(at + 12, true);
  let start = view.getUint32(at + 16, true);
  if (count === 0xffff || size === 0xffffffff || start === 0xffffffff) {
    const locator = at - 20;
    if (locator >= 0 && view.getUint32(locator, true) === 0x07064b50) {
      const cursor = new Cursor(bytes, origin, locator + 8);
      const record = cursor.u64('the place of the zip64 directory');
      cursor.offset = Math.min(record, bytes.length);
      if (cursor.u32('the zip64 directory') !== 0x06064b50)
        throw corrupt(origin, record, 'no zip64 directory here');
      cursor.skip(28, 'the zip64 directory');
      count = cursor.u64('the number of entries');
      size = cursor.u64('the size of the directory');
      start = cursor.u64('the place of the directory');
    }
  }
  if (start + size > at)
    throw corrupt(origin, at, `the directory is said to be at ${start} to ${start + size}`);
  return { count, start, end: start + size };
}

function readEntry(cursor: Cursor, bytes: Uint8Array, most: number): { entry: ZipEntry; from: number } {
  const at = cursor.offset;
  if (cursor.u32('the directory') !== 0x02014b50) throw cursor.fail('no directory entry here', at);
  cursor.skip(4, 'the directory');
  const flags = cursor.u16('the directory');
  const method = cursor.u16('the directory');
  cursor.skip(4, 'the directory');
  const crc = cursor.u32('the directory');
  const sizes = { packed: cursor.u32('the directory'), size: cursor.u32('the directory'), from: 0 };
  const nameLength = cursor.u16('the directory');
  const extraLength = cursor.u16('the directory');
  const commentLength = cursor.u16('the directory');
  cursor.skip(8, 'the directory');
  sizes.from = cursor.u32('the directory');
  const name = cursor.text(nameLength, 'the name of an entry');
  const extra = new Cursor(bytes.subarray(0, cursor.offset + extraLength), cursor.origin, cursor.offset);
  cursor.skip(extraLength + commentLength, 'the directory');
  readZip64(extra, sizes);
  const wrong = (text: string): Error => cursor.fail(`entry '${name}' ${text}`, at);
  if ((flags & 1) !== 0) throw wrong('is encrypted');
  if (method !== 0 && method !== 8)
    throw wrong(`is packed by method ${method}; stored and deflated ones are read`);
  if (method === 0 && sizes.packed !== sizes.size)
    throw wrong(`is stored in ${sizes.packed} bytes but has ${sizes.size}`);
  // Deflate makes 1032 bytes of one at best.
  if (sizes.size > sizes.packed * 1032 + 64)
    throw wrong(`cannot have ${sizes.size} bytes packed in ${sizes.packed}`);
  if (sizes.from + 30 > most) throw wrong(`is said to begin at ${sizes.from}, past the entries`);
  const local = new Cursor(bytes.subarray(0, most), cursor.origin, sizes.from);
  if (local.u32('an entry') !== 0x04034b50)
    throw local.fail(`entry '${name}' does not begin here`, sizes.from);
  local.skip(22, 'an entry');
  local.skip(local.u16('an entry') + local.u16('an entry'), 'the head of an entry');
  const offset = local.offset;
  const packed = local.take(sizes.packed, `entry '${name}'`);
  return { entry: { name, deflated: method === 8, crc, size: sizes.size, packed, offset }, from: sizes.from };
}

// Sizes that 32 bits do not hold stand in an extra field, only those, in this order.
function readZip64(extra: Cursor, sizes: { packed: number; size: number; from: number }): void {
  while (extra.left >= 4) {
    const id = extra.u16('an extra field');
    const length = extra.u16('an extra field');
    const end = extra.skip(length, 'an extra field') + length;
    if (id !== 1) continue;
    extra.offset = end - length;
    for (const key of ['size', 'packed', 'from'] as const)
      if (sizes[key] === 0xffffffff && extra.offset + 8 <= end) sizes[key] = extra.u64('an extra field');
    extra.offset = end;
  }
}

// What is inflated at a time, so that no more than some 17 MB come out before they are counted.
const step = 16384;

/**
 * The bytes of an entry, checked by its CRC: a view of a stored one, a copy of a deflated one.
 *
 * @throws OmnigradError `format` if they are not what the directory says
 */
export function unpack(entry: ZipEntry, origin: Origin): Uint8Array {
  const bytes = entry.deflated
    ? inflate(entry.packed, entry.size, origin, entry.offset, `entry '${entry.name}'`)
    : entry.packed;
  if (crc32(bytes) !== entry.crc)
    throw corrupt(
      origin,
      entry.offset,
      `entry '${entry.name}' is damaged: its CRC is not what the directory says`,
    );
  return bytes;
}

/** Inflates raw deflate data that must give `size` bytes. */
export function inflate(
  packed: Uint8Array,
  size: number,
  origin: Origin,
  offset: number,
  what: string,
): Uint8Array {
  const parts: Uint8Array[] = [];
  let count = 0;
  const wrong = (text: string): Error => corrupt(origin, offset, `${what} ${text}`);
  const stream = new Inflate((part) => {
    count += part.length;
    if (count > size) throw wrong(`unpacks to more than the ${size} bytes it should have`);
    parts.push(part);
  });
  for (let at = 0; at < packed.length; at += step) {
    try {
      stream.push(packed.subarray(at, at + step), at + step >= packed.length);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'format') throw error;
      throw corrupt(origin, offset, `${what} cannot be unpacked: ${(error as Error).message}`, error);
    }
  }
  if (count !== size) throw wrong(`unpacks to ${count} bytes; it should have ${size}`);
  const [first] = parts;
  if (parts.length === 1 && first) return first;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = (c & 1) === 0 ? c >>> 1 : (c >>> 1) ^ 0xedb88320;
  return c;
});

/** The checksum of zip and PNG. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 255] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** An archive of these files; the same bytes whenever it is made. */
export function makeZip(
  files: Readonly<Record<string, Uint8Array>>,
  compress: boolean,
): Uint8Array<ArrayBuffer> {
  return zipSync({ ...files }, { level: compress ? 6 : 0, mtime: new Date(1980, 0, 1) });
}
