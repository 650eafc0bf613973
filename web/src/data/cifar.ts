// CIFAR-10 and CIFAR-100 from their binary files. https://www.cs.toronto.edu/~kriz/cifar.html

import { tensor } from '../create.js';
import { failure } from '../errors.js';
import { bytesOf, corrupt } from '../io/bytes.js';
import { joined } from '../io/safetensors.js';
import { readBytes } from '../io/source.js';
import { checkOptions, checkValue, either, instance, oneOf, required, text } from '../options.js';
import { scope } from '../scope.js';
import type { PlatformURL } from '../platform.js';
import type { Tensor } from '../tensor.js';
import { type BatchDataset, type Dataset, checkIndices } from './dataset.js';

/** Images uint8 [N, 3, 32, 32], unscaled; labels int64 [N]. */
export type CifarBatch = [images: Tensor, labels: Tensor];

const side = 32;
const pixels = 3 * side * side;

/** 32 x 32 colour pictures and their labels. */
export class CifarDataset implements Dataset<CifarBatch>, BatchDataset<CifarBatch> {
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #labelBytes: number;

  /**
   * @param bytes records of one label byte (CIFAR-10) or a coarse and a fine one (CIFAR-100), and 3072 bytes of pixels
   * @throws OmnigradError `format` if they are no whole records, or a label is out of range
   */
  constructor(bytes: Uint8Array, classes: 10 | 100 = 10, name = 'the bytes') {
    checkValue('CifarDataset', 'classes', classes, oneOf(10, 100));
    this.#bytes = bytesOf('CifarDataset', bytes);
    this.#labelBytes = classes === 10 ? 1 : 2;
    const record = this.#labelBytes + pixels;
    const origin = { op: 'CifarDataset', file: name };
    if (this.#bytes.length === 0 || this.#bytes.length % record !== 0)
      throw corrupt(
        origin,
        this.#bytes.length,
        `the file has ${this.#bytes.length} bytes, no multiple of ${record}`,
      );
    this.length = this.#bytes.length / record;
    for (let i = 0; i < this.length; i++) {
      const at = (i + 1) * record - pixels - 1;
      const label = this.#bytes[at] as number;
      if (label >= classes) throw corrupt(origin, at, `label ${label}; they are 0 to ${classes - 1}`);
    }
  }

  /** Image [3, 32, 32] and label []. */
  get(index: number): CifarBatch {
    return scope(() => {
      const [images, labels] = this.batch([index]);
      return [images.reshape([3, side, side]), labels.reshape([])];
    });
  }

  batch(indices: readonly number[]): CifarBatch {
    checkIndices('CifarDataset', indices, this.length);
    const record = this.#labelBytes + pixels;
    const images = new Uint8Array(indices.length * pixels);
    const labels = new BigInt64Array(indices.length);
    indices.forEach((index, row) => {
      const start = (index + 1) * record - pixels;
      images.set(this.#bytes.subarray(start, start + pixels), row * pixels);
      labels[row] = BigInt(this.#bytes[start - 1] as number);
    });
    return [tensor(images, { shape: [indices.length, 3, side, side] }), tensor(labels)];
  }
}

const files = {
  10: { train: [1, 2, 3, 4, 5].map((i) => `data_batch_${i}.bin`), test: ['test_batch.bin'] },
  100: { train: ['train.bin'], test: ['test.bin'] },
};

/**
 * Reads one half of CIFAR: 50000 samples to train with, or 10000 to test.
 *
 * @param options.source the folder of the binary files: a path (Node) or a URL
 */
export async function cifar(
  split: 'train' | 'test',
  options: { readonly source: string | PlatformURL; readonly classes?: 10 | 100 },
): Promise<CifarDataset> {
  checkValue('cifar', 'split', split, oneOf('train', 'test'));
  checkOptions('cifar', options, { source: required(either(text, instance(URL))), classes: oneOf(10, 100) });
  const { source, classes = 10 } = options;
  const folder = String(source).replace(/\/$/, '');
  const parts = await Promise.all(
    files[classes][split].map((file) => readBytes('cifar', `${folder}/${file}`)),
  );
  if (parts.length === 0) throw failure('cifar', 'internal', 'there are no files');
  return new CifarDataset(joined(parts), classes, folder);
}
