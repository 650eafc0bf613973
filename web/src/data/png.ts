// A PNG file that can be decoded without fear: its chunks checked, its pixels inflated here, counted as they come, and
// put into a file of stored pixels that the decoder cannot be surprised by. https://www.w3.org/TR/png-3/

import { Cursor, type Origin, corrupt } from '../io/bytes.js';
import { joined } from '../io/safetensors.js';
import { crc32, inflate } from '../io/zip.js';
import { zlibSync } from '../vendor/fflate.js';

const signature = [137, 80, 78, 71, 13, 10, 26, 10];
const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const depthsOf: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

interface Header {
  readonly width: number;
  readonly height: number;
  /** Bits of a pixel. */
  readonly bits: number;
  readonly interlaced: boolean;
  /** Pixels are numbers in a palette. */
  readonly indexed: boolean;
}

/** The same picture, checked. @throws OmnigradError `format`, naming file and offset */
export function safePng(bytes: Uint8Array, origin: Origin): Uint8Array {
  const cursor = new Cursor(bytes, origin);
  if (!cursor.take(8, 'the signature').every((byte, i) => byte === signature[i]))
    throw cursor.fail('no PNG file: the signature is wrong', 0);
  const kept: Uint8Array[] = [];
  const pixels: Uint8Array[] = [];
  let [pixelsAt, ended] = [0, false];
  let header: Header | undefined;
  while (!ended) {
    const at = cursor.offset;
    const size = cursor.u32be('a chunk');
    const chunk = cursor.take(size + 4, 'a chunk');
    const type = String.fromCharCode(...chunk.subarray(0, 4));
    if (cursor.u32be('a chunk') !== crc32(chunk))
      throw cursor.fail(`chunk '${type}' is damaged: its CRC differs`, at);
    if ((header === undefined) !== (type === 'IHDR'))
      throw cursor.fail(`chunk '${type}' where IHDR should be, or twice`, at);
    if (type === 'IHDR') header = readHeader(chunk.subarray(4), origin, at + 8);
    if (type === 'IDAT') {
      pixelsAt ||= at + 8;
      pixels.push(chunk.subarray(4));
    } else if (['IHDR', 'PLTE', 'tRNS'].includes(type)) kept.push(bytes.subarray(at, cursor.offset));
    ended = type === 'IEND';
  }
  if ((header as Header).indexed && !kept.some((chunk) => chunk[4] === 0x50))
    throw corrupt(origin, pixelsAt, 'the pixels are of a palette, and there is none');
  // The zlib header's two bytes, and the checksum's four, are not deflate's.
  const packed = joined(pixels);
  const head = ((packed[0] ?? 0) << 8) + (packed[1] ?? 0);
  if (packed.length < 6 || (head & 0x0f20) !== 0x0800 || head % 31 !== 0)
    throw corrupt(origin, pixelsAt, 'the pixels are no zlib stream');
  const size = rawSize(header as Header);
  if (size > packed.length * 1032 + 64)
    throw corrupt(
      origin,
      pixelsAt,
      `${packed.length} bytes of pixels cannot be the ${size} that the picture has`,
    );
  const raw = inflate(packed.subarray(2, -4), size, origin, pixelsAt, 'the pixels');
  return joined([
    Uint8Array.from(signature),
    ...kept,
    chunkOf('IDAT', zlibSync(raw, { level: 0 })),
    chunkOf('IEND'),
  ]);
}

function readHeader(bytes: Uint8Array, origin: Origin, at: number): Header {
  const cursor = new Cursor(bytes, origin);
  if (bytes.length !== 13) throw corrupt(origin, at, `the header has ${bytes.length} bytes; it must have 13`);
  const width = cursor.u32be('the header');
  const height = cursor.u32be('the header');
  const [depth = 0, color = 0, compression, filter, interlace] = bytes.subarray(8);
  if (width === 0 || height === 0 || width > 0x7fffffff || height > 0x7fffffff)
    throw corrupt(origin, at, `the picture is said to be ${width} x ${height}`);
  if (!depthsOf[color]?.includes(depth))
    throw corrupt(origin, at + 8, `colour type ${color} with ${depth} bits`);
  if (compression !== 0 || filter !== 0 || (interlace !== 0 && interlace !== 1))
    throw corrupt(origin, at + 10, 'a method of compression, filtering or interlacing that there is not');
  return {
    width,
    height,
    bits: depth * (channelsOf[color] as number),
    interlaced: interlace === 1,
    indexed: color === 3,
  };
}

// Offsets and steps of the seven passes of an interlaced picture.
const passes = [
  [0, 8, 0, 8],
  [4, 8, 0, 8],
  [0, 4, 4, 8],
  [2, 4, 0, 4],
  [0, 2, 2, 4],
  [1, 2, 0, 2],
  [0, 1, 1, 2],
] as const;

// Each row has a byte for its filter.
function rawSize({ width, height, bits, interlaced }: Header): number {
  const size = (w: number, h: number): number => (w === 0 ? 0 : h * (1 + Math.ceil((w * bits) / 8)));
  if (!interlaced) return size(width, height);
  const count = (total: number, from: number, step: number): number =>
    Math.max(0, Math.ceil((total - from) / step));
  return passes.reduce((sum, [x, dx, y, dy]) => sum + size(count(width, x, dx), count(height, y, dy)), 0);
}

function chunkOf(type: string, data: Uint8Array = new Uint8Array(0)): Uint8Array {
  const chunk = new Uint8Array(12 + data.length);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, data.length);
  chunk.set(Array.from(type, (c) => c.charCodeAt(0)), 4); // prettier-ignore
  chunk.set(data, 8);
  view.setUint32(8 + data.length, crc32(chunk.subarray(4, 8 + data.length)));
  return chunk;
}
