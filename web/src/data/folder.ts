// Pictures in folders, a folder a class, in Node: root/cat/1.png, root/dog/2.png. A picture is read when it is asked for.

import { tensor } from '../create.js';
import { failure } from '../errors.js';
import { type NodeFs, nodeFs, pathOf, readBytes } from '../io/source.js';
import { checkOptions, func, instance, oneOf } from '../options.js';
import type { PlatformURL } from '../platform.js';
import type { Tensor } from '../tensor.js';
import { type Dataset, checkIndices } from './dataset.js';
import { decodePng } from './images.js';

export interface ImageFolderOptions {
  /** Grey, colours, or colours with alpha; default 3. */
  readonly channels?: 1 | 3 | 4;
  /** Which files are pictures; default: those that end in `.png`. */
  readonly extensions?: RegExp;
  /** Makes a tensor [C, H, W] of a file; default: decodePng. */
  readonly decode?: (bytes: Uint8Array, name: string) => Tensor | Promise<Tensor>;
}

/** An image as its file has it, and the number of its class, int64. */
export type LabelledImage = [image: Tensor, label: Tensor];

/** The pictures of a folder. Classes are its folders, in the order of their names. */
export class ImageFolder implements Dataset<LabelledImage> {
  readonly classes: readonly string[];
  /** Path and class of each sample. */
  readonly samples: readonly (readonly [path: string, label: number])[];
  readonly #decode: (bytes: Uint8Array, name: string) => Tensor | Promise<Tensor>;

  constructor(
    classes: readonly string[],
    samples: readonly (readonly [path: string, label: number])[],
    decode: (bytes: Uint8Array, name: string) => Tensor | Promise<Tensor>,
  ) {
    this.classes = classes;
    this.samples = samples;
    this.#decode = decode;
  }

  get length(): number {
    return this.samples.length;
  }

  async get(index: number): Promise<LabelledImage> {
    checkIndices('ImageFolder', [index], this.length);
    const [path, label] = this.samples[index] as readonly [string, number];
    const image = await this.#decode(await readBytes('ImageFolder', path), path);
    return [image, tensor(BigInt(label))];
  }
}

/** Finds the pictures under a folder. @throws OmnigradError `not-found` where there are no classes or no pictures */
export async function imageFolder(
  root: string | PlatformURL,
  options: ImageFolderOptions = {},
): Promise<ImageFolder> {
  checkOptions('imageFolder', options, {
    channels: oneOf(1, 3, 4),
    extensions: instance(RegExp),
    decode: func,
  });
  const { channels = 3, extensions = /\.png$/i, decode } = options;
  const path = pathOf(root);
  if (path === undefined)
    throw failure('imageFolder', 'unsupported', 'folders are read in Node, from a path');
  const fs = nodeFs() as NodeFs;
  const base = (path instanceof URL ? decodeURIComponent(path.pathname) : path).replace(/\/$/, '');
  const list = async (
    folder: string,
  ): Promise<{ name: string; isDirectory(): boolean; isFile(): boolean }[]> => {
    try {
      const entries = await fs.promises.readdir(folder, { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      throw failure(
        'imageFolder',
        'not-found',
        `${folder} cannot be read: ${(error as Error).message}`,
        error,
      );
    }
  };
  const classes = (await list(base)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const samples: [string, number][] = [];
  for (const [label, name] of classes.entries())
    for (const entry of await list(`${base}/${name}`))
      if (entry.isFile() && extensions.test(entry.name))
        samples.push([`${base}/${name}/${entry.name}`, label]);
  if (samples.length === 0)
    throw failure('imageFolder', 'not-found', `${base} has ${classes.length} folders and no picture in them`);
  return new ImageFolder(classes, samples, decode ?? ((bytes, name) => decodePng(bytes, { name, channels })));
}
