// Pictures as tensors [C, H, W], with the values they have in the file: 0 to 255, or to 65535. Nothing is scaled here.

import { tensor } from '../create.js';
import { failure, shown } from '../errors.js';
import { bytesOf, corrupt } from '../io/bytes.js';
import { aTensor, checkOptions, checkValue, oneOf, text } from '../options.js';
import type { Tensor } from '../tensor.js';
import { convertIndexedToRgb, decode, encode } from '../vendor/fast-png.js';
import { safePng } from './png.js';

/** Pixels in rows, channels side by side: what ImageData, a canvas and decoders have. */
export interface PixelData {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray | Uint16Array;
}

export interface ImageOptions {
  /** Take the first 1 (grey), 3 or 4; default: all there are. Of RGB, 1 is the mean of the three. */
  readonly channels?: 1 | 3 | 4;
}

const imageRules = { channels: oneOf(1, 3, 4) };

/** An image as a tensor [C, H, W]: uint8, or int32 if it has 16 bits a channel. Values are as they are. */
export function imageTensor(image: PixelData, options: ImageOptions = {}): Tensor {
  checkOptions('imageTensor', options, imageRules);
  const { width, height, data } = Object(image) as { width: number; height: number; data?: unknown };
  const bytes = data instanceof Uint8Array || data instanceof Uint8ClampedArray;
  if (!bytes && !(data instanceof Uint16Array))
    throw failure(
      'imageTensor',
      'argument',
      `the image is ${shown(image)}; it must have width, height and data`,
    );
  const has = data.length / (width * height);
  if (![1, 2, 3, 4].includes(has))
    throw failure(
      'imageTensor',
      'shape',
      `${data.length} values are no ${width} x ${height} image of 1 to 4 channels`,
    );
  const { channels = has } = options;
  const size = width * height;
  const planes = bytes ? new Uint8Array(channels * size) : new Int32Array(channels * size);
  for (let c = 0; c < channels; c++)
    for (let i = 0; i < size; i++)
      planes[c * size + i] = channelOf(data, i * has, has, c, channels, bytes ? 255 : 65535);
  return tensor(planes, { shape: [channels, height, width] });
}

// Grey stands for each of three colours; what has no alpha is opaque.
function channelOf(
  data: ArrayLike<number>,
  at: number,
  has: number,
  c: number,
  wanted: number,
  most: number,
): number {
  const value = (channel: number): number => data[at + channel] as number;
  if (wanted === has) return value(c);
  if (c === 3) return has === 2 ? value(1) : most;
  if (has < 3) return value(0);
  return wanted === 1 ? Math.round((value(0) + value(1) + value(2)) / 3) : value(c);
}

/**
 * The picture in a PNG file, uint8 [C, H, W] (int32 if it has 16 bits a channel): 1 channel for grey, 2 with alpha, 3
 * for colours, 4 with alpha; palettes are looked up. Values are as in the file: no gamma, no scaling.
 *
 * @throws OmnigradError `format`, naming file and offset
 */
export function decodePng(
  data: ArrayBuffer | ArrayBufferView,
  options: ImageOptions & { readonly name?: string } = {},
): Tensor {
  checkOptions('decodePng', options, { ...imageRules, name: text });
  const { name = 'the bytes', ...rest } = options;
  const origin = { op: 'decodePng', file: name };
  const safe = safePng(bytesOf('decodePng', data), origin);
  let image: ReturnType<typeof decode>;
  try {
    image = decode(safe);
    if (image.palette) {
      const rgb = convertIndexedToRgb(image);
      image = { ...image, depth: 8, data: rgb, channels: rgb.length / (image.width * image.height) };
    }
  } catch (error) {
    throw corrupt(origin, 0, `the picture cannot be decoded: ${(error as Error).message}`, error);
  }
  return imageTensor({ ...image, data: unpackBits(image) as PixelData['data'] }, rest);
}

// Grey of 1, 2 or 4 bits comes packed, each row from a byte of its own; it is spread to 0 to 255.
function unpackBits({ data, depth, width, height }: ReturnType<typeof decode>): ArrayLike<number> {
  if (depth >= 8) return data;
  const most = (1 << depth) - 1;
  const perByte = 8 / depth;
  const rowBytes = Math.ceil(width / perByte);
  const values = new Uint8Array(width * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const byte = data[y * rowBytes + Math.floor(x / perByte)] as number;
      const bits = (byte >> (8 - depth * ((x % perByte) + 1))) & most;
      values[y * width + x] = (bits * 255) / most;
    }
  return values;
}

/** A PNG file of a uint8 tensor [C, H, W], C from 1 to 4. */
export function encodePng(image: Tensor): Uint8Array {
  checkValue('encodePng', 'image', image, aTensor);
  const [channels = 0, height = 0, width = 0] = image.shape;
  if (
    image.dtype !== 'uint8' ||
    image.ndim !== 3 ||
    ![1, 2, 3, 4].includes(channels) ||
    height * width === 0
  ) {
    const text = `the image is ${image.dtype} [${image.shape.join(', ')}]; it must be uint8 [C, H, W] with C from 1 to 4`;
    throw failure('encodePng', 'shape', text);
  }
  const planes = image.toTypedArray() as Uint8Array;
  const size = height * width;
  const data = new Uint8Array(planes.length);
  for (let c = 0; c < channels; c++)
    for (let i = 0; i < size; i++) data[i * channels + c] = planes[c * size + i] as number;
  return encode({ width, height, data, channels: channels, depth: 8 });
}
