// save and load: any tree of tensors and values, to and from any place. Formats and places are others' business.

import { failure, shown } from '../errors.js';
import { anything, checkOptions, whole } from '../options.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { isBrowserStore } from './browser_store.js';
import { type Origin, asBytes, corrupt, hasBytes } from './bytes.js';
import { readNpy, readNpz } from './npy.js';
import { readSafetensors, safetensorsParts, tensorsOf } from './safetensors.js';
import { loadShards, shardsBefore, shardsOf } from './shards.js';
import type { Source, Target } from './places.js';
import { nameOf, pathOf, readBytes } from './source.js';
import { isTorch, readTorch } from './torch.js';
import { type Savable, type Tree, flattenTree, restoreTree } from './tree.js';
import { removeFiles, writeFile } from './write_file.js';
import { writeHandle } from './write_handle.js';
import { readZip } from './zip.js';

export interface SaveOptions {
  /** Words to be kept in the file, by name. */
  readonly metadata?: Readonly<Record<string, string>>;
  /**
   * Paths only: split the tensors into files of at most so many bytes each (one tensor at least), named after the path,
   * and write the index to the path, which must end in `.index.json`. The shards of a save before go once it is there.
   */
  readonly maxShardBytes?: number;
}

const structure = 'omnigrad';

/**
 * Saves a state dict, a checkpoint of several with numbers and texts between, or bytes. The file is safetensors; a flat
 * record of tensors can be read by every library that knows the format. All is copied before this returns its promise,
 * so training may go on. A path, a file handle or a browser store is replaced as a whole or, if writing fails, stays as
 * it was; a stream is what it is.
 *
 * @throws OmnigradError `argument` for what cannot be saved, `write` with the cause if writing fails
 */
export async function save<T>(
  target: Target,
  value: (T & Savable<T>) | ArrayBufferView,
  options: SaveOptions = {},
): Promise<void> {
  await write(target, snapshot(target, value, options));
}

type Parts = readonly Uint8Array<ArrayBuffer>[];
/** Files by path; undefined for the target itself, which comes last. */
type Files = readonly (readonly [name: string | undefined, parts: Parts])[];

function snapshot(target: Target, value: unknown, options: SaveOptions): Files {
  checkOptions('save', options, { metadata: anything, maxShardBytes: whole(1) });
  const { metadata = {}, maxShardBytes } = options;
  if (hasBytes(value)) return [[undefined, [asBytes(value).slice()]]];
  const { tensors, json } = flattenTree('save', value);
  const words = json === undefined ? metadata : { ...metadata, [structure]: json };
  if (maxShardBytes === undefined) return [[undefined, safetensorsParts('save', tensors, words)]];
  const path = pathOf(target);
  if (path === undefined || !String(path).endsWith('.index.json'))
    throw failure('save', 'option', 'maxShardBytes needs a path that ends in .index.json');
  return shardsOf(String(path), tensors, words, maxShardBytes);
}

async function write(target: Target, files: Files): Promise<void> {
  const given: unknown = target;
  const index = files.length > 1 ? pathOf(target) : undefined;
  const before = index === undefined ? [] : await shardsBefore(String(index));
  const written: string[] = [];
  try {
    for (const [place, parts] of files) {
      const path = pathOf(place ?? target);
      if (place !== undefined) written.push(place);
      if (path !== undefined) await writeFile(path, parts);
      else if (isBrowserStore(target)) await target.write(parts);
      else if (has<FileSystemFileHandle>(given, 'createWritable')) await writeHandle(given, parts);
      else if (has<WritableStream<Uint8Array>>(given, 'getWriter')) await writeStream(given, parts);
      else throw failure('save', 'argument', `the target is ${shown(target)}; it must be ${targets}`);
    }
  } catch (error) {
    await removeFiles(written);
    if ((error as { op?: unknown }).op === 'save') throw error;
    const name = nameOf(target as Source);
    throw failure('save', 'write', `${name} could not be written: ${(error as Error).message}`, error);
  }
  await removeFiles(before);
}

const targets =
  'a path (Node), a FileSystemFileHandle, a WritableStream, or browserStore(name); encodeSafetensors gives bytes';

const has = <T>(value: unknown, method: string): value is T =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Record<string, unknown>)[method] === 'function';

async function writeStream(stream: WritableStream<Uint8Array>, parts: Parts): Promise<void> {
  const writer = stream.getWriter();
  try {
    for (const part of parts) {
      await writer.ready;
      await writer.write(part);
    }
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  }
}

/**
 * Loads what `save` saved, any safetensors file or index of several, an npz or npy file, or a state dict of PyTorch's:
 * the content tells. New tensors, which belong to the caller.
 *
 * @throws OmnigradError `not-found` if it cannot be read, `format` naming file and offset if it is damaged
 */
export async function load<T = Record<string, Tensor>>(source: Source): Promise<T> {
  const bytes = await readBytes('load', source);
  const origin = { op: 'load', file: nameOf(source) };
  return (isIndex(bytes) ? await loadShards(source, bytes, origin) : decode(bytes, origin)) as T;
}

// An index is JSON from its first byte; a safetensors file has the length of its header there.
const isIndex = (bytes: Uint8Array): boolean => bytes[0] === 0x7b && (bytes.length < 9 || bytes[7] !== 0);

function decode(bytes: Uint8Array, origin: Origin): Tree {
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    const entries = readZip(bytes, origin);
    return isTorch(entries) ? readTorch(entries, origin) : readNpz(bytes, origin);
  }
  if (bytes[0] === 0x93) return readNpy(bytes, origin);
  // The number that PyTorch before 1.6 began its files with.
  if ([0x80, 0x02, 0x8a, 0x0a].every((byte, i) => bytes[i] === byte))
    throw corrupt(origin, 0, "a file of PyTorch's old format; load it there and torch.save it again");
  const file = readSafetensors(bytes, origin);
  return scope(() => {
    const tensors = tensorsOf(file, origin);
    const json = file.metadata[structure];
    return json === undefined ? tensors : restoreTree(json, tensors, origin);
  });
}
