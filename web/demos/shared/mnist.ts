// The digits, compressed on their way: 11 MB instead of 55.

import { MnistDataset, parseIdx } from 'omnigrad/data';
import type { Data } from './task.js';

const files = {
  train: ['train-images-idx3-ubyte', 'train-labels-idx1-ubyte'],
  test: ['t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'],
} as const;

async function plain(bytes: Uint8Array): Promise<Uint8Array> {
  // A server may have said that the file is compressed; then it comes as it was.
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes.slice()]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function half(data: Data, split: keyof typeof files): Promise<MnistDataset> {
  const [images, labels] = await Promise.all(
    files[split].map(async (name) => parseIdx(await plain(await data.bytes(`mnist/${name}.gz`)), { name })),
  );
  return new MnistDataset(images as never, labels as never);
}

let loaded: Promise<{ train: MnistDataset; test: MnistDataset }> | undefined;

/** Both halves of MNIST; once loaded they stay. @throws OmnigradError `not-found`, `format` */
export async function digits(data: Data): Promise<{ train: MnistDataset; test: MnistDataset }> {
  loaded ??= Promise.all([half(data, 'train'), half(data, 'test')]).then(([train, test]) => ({
    train,
    test,
  }));
  try {
    return await loaded;
  } catch (error) {
    // Another attempt asks again.
    loaded = undefined;
    throw error;
  }
}
