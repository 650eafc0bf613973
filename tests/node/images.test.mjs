// Pictures: PNG files of every kind, ImageData, and files that lie.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { encode } from 'fast-png';
import * as og from 'omnigrad';
import { decodePng, encodePng, imageTensor } from 'omnigrad/data';
import { crc32 } from '../../dist/io/zip.js';
import { fixture, fuzz, refuses } from './lib/files.mjs';

before(() => og.init({ variant: 'single' }));
const code = (run, expected) =>
  assert.throws(run, (error) => og.OmnigradError.is(error) && error.code === expected);
const planes = (...values) =>
  values.map((value) => [0, 1, 2].map((y) => [0, 1, 2, 3, 4].map((x) => value(x, y))));
const colours = [[1, 2, 3], [40, 50, 60], [255, 254, 253]]; // prettier-ignore
const palette = (c) => (x, y) => colours[(x + y) % 3][c];

test("PNG files as another library wrote them: values are the file's", () => {
  const pictures = {
    grey: planes((x, y) => 10 * y + x),
    grey_alpha: planes((x, y) => 10 * y + x, (x) => 200 + x), // prettier-ignore
    rgb: planes((x) => x, (_, y) => y, (x) => 100 + x), // prettier-ignore
    rgba: planes((x) => x, (_, y) => y, (x) => 100 + x, (_, y) => 250 - y), // prettier-ignore
    bits: planes((x, y) => ((x + y) % 2) * 255),
    grey16: planes((x, y) => 1000 * y + x),
    palette: planes(palette(0), palette(1), palette(2)),
    palette_alpha: planes(palette(0), palette(1), palette(2), (x, y) => [0, 128, 255][(x + y) % 3]),
  };
  for (const [name, expected] of Object.entries(pictures)) {
    const image = decodePng(fixture(`${name}.png`));
    assert.deepEqual([image.dtype, image.tolist()], [name === 'grey16' ? 'int32' : 'uint8', expected], name);
  }
});

test('channels: grey of colours, colours of grey, with alpha and without', () => {
  const [rgb, grey] = [fixture('rgb.png'), fixture('grey.png')];
  assert.deepEqual(
    decodePng(rgb, { channels: 1 }).tolist(),
    planes((x, y) => Math.round((100 + 2 * x + y) / 3)),
  );
  assert.deepEqual(decodePng(grey, { channels: 3 }).at(2).tolist(), planes((x, y) => 10 * y + x)[0]);
  assert.deepEqual(decodePng(rgb, { channels: 4 }).at(3, 0, 0).item(), 255);
  assert.deepEqual(
    decodePng(fixture('grey_alpha.png'), { channels: 4 }).at(':', 0, 1).tolist(),
    [1, 1, 1, 201],
  );
  assert.deepEqual(decodePng(fixture('rgba.png'), { channels: 3 }).shape, [3, 3, 5]);
  assert.equal(decodePng(fixture('grey16.png'), { channels: 4 }).at(3, 0, 0).item(), 65535);
});

test('interlaced pictures, and what we write', () => {
  for (const [width, height] of [
    [1, 1],
    [3, 2],
    [8, 9],
    [13, 7],
  ]) {
    const data = Uint8Array.from({ length: width * height * 3 }, (_, i) => (i * 7) % 256);
    const image = imageTensor({ width, height, data });
    const png = encode({ width, height, data, channels: 3 }, { interlace: 'Adam7' });
    assert.deepEqual(decodePng(png).tolist(), image.tolist());
    assert.deepEqual(decodePng(encodePng(image)).tolist(), image.tolist());
  }
  code(() => encodePng(og.zeros([3, 2, 2])), 'shape');
  code(() => encodePng(og.zeros([5, 2, 2], { dtype: 'uint8' })), 'shape');
});

test('ImageData is taken as it is', () => {
  const data = Uint8ClampedArray.of(1, 2, 3, 4, 5, 6, 7, 8);
  assert.deepEqual(imageTensor({ width: 2, height: 1, data }).tolist(), [[[1, 5]], [[2, 6]], [[3, 7]], [[4, 8]]]); // prettier-ignore
  assert.deepEqual(imageTensor({ width: 1, height: 2, data }, { channels: 3 }).tolist(), [[[1], [5]], [[2], [6]], [[3], [7]]]); // prettier-ignore
  code(() => imageTensor({ width: 3, height: 1, data }), 'shape');
  code(() => imageTensor({ width: 2, height: 1, data: [1] }), 'argument');
  code(() => imageTensor(undefined), 'argument');
  code(() => imageTensor({ width: 2, height: 1, data }, { channels: 2 }), 'option');
});

function chunk(type, data = []) {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(Buffer.from(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}
function png(width, height, pixels, { depth = 8, color = 0, interlace = 0, before = [] } = {}) {
  const head = new Uint8Array(13);
  new DataView(head.buffer).setUint32(0, width);
  new DataView(head.buffer).setUint32(4, height);
  head.set([depth, color, 0, 0, interlace], 8);
  const signature = [137, 80, 78, 71, 13, 10, 26, 10];
  return Uint8Array.from([
    ...signature,
    ...chunk('IHDR', head),
    ...before,
    ...chunk('IDAT', pixels),
    ...chunk('IEND'),
  ]);
}

test('files that lie are refused, and allocate nothing by their word', () => {
  const pixels = deflateSync(Uint8Array.of(0, 1, 2));
  assert.deepEqual(decodePng(png(2, 1, pixels)).tolist(), [[[1, 2]]]);
  const bad = (bytes, pattern) => refuses(decodePng, bytes, pattern);
  bad(new Uint8Array(9), /no PNG file/);
  bad(png(2, 1, pixels).subarray(0, 40), /ends within a chunk/);
  bad(png(0, 1, pixels), /byte 16: the picture is said to be 0 x 1/);
  bad(png(0x7fffffff, 0x7fffffff, pixels), /cannot be the 4611686/);
  bad(png(3, 1, pixels), /unpacks to 3 bytes; it should have 4/);
  bad(png(1, 1, pixels), /unpacks to more than the 2 bytes/);
  bad(png(2, 1, pixels, { depth: 3 }), /colour type 0 with 3 bits/);
  bad(png(2, 1, pixels, { color: 7 }), /colour type 7/);
  bad(png(2, 1, pixels, { interlace: 2 }), /interlacing/);
  bad(png(2, 1, pixels, { before: chunk('IHDR', new Uint8Array(13)) }), /IHDR should be, or twice/);
  bad(png(2, 1, [1, 2, 3, 4, 5, 6, 7, 8]), /no zlib stream/);
  bad(png(2, 1, deflateSync(Uint8Array.of(9, 1, 2))), /cannot be decoded/);
  bad(png(2, 1, pixels, { color: 3 }), /of a palette, and there is none/);
  const damaged = png(2, 1, pixels);
  damaged[45]++;
  bad(damaged, /CRC differs/);
  // A profile that unpacks to a gigabyte is not looked at.
  const bomb = [...Buffer.from('x'), 0, 0, ...deflateSync(Buffer.alloc(1 << 22))];
  assert.deepEqual(decodePng(png(2, 1, pixels, { before: chunk('iCCP', bomb) })).tolist(), [[[1, 2]]]);
  const before = process.memoryUsage().rss;
  bad(png(2, 1, deflateSync(Buffer.alloc(1 << 26))), /unpacks to more than the 3 bytes/);
  assert.ok(process.memoryUsage().rss - before < 5e7);
});

test('damaged files: 3000', () => {
  fuzz(decodePng, fixture('palette_alpha.png'), 1000, 11);
  // With CRCs that are right again, so that damage gets further.
  const head = (bytes) => bytes.subarray(0, 13);
  const build = (bytes, options) => {
    const whole = png(2, 3, bytes.subarray(13), { depth: 8, color: 2 });
    whole.set(chunk('IHDR', head(bytes).length === 13 ? head(bytes) : new Uint8Array(13)), 8);
    return decodePng(whole, options);
  };
  const valid = Uint8Array.from([0, 0, 0, 2, 0, 0, 0, 3, 8, 2, 0, 0, 0, ...deflateSync(new Uint8Array(21))]);
  assert.deepEqual(build(valid, {}).shape, [3, 3, 2]);
  fuzz(build, valid, 2000, 12);
});
