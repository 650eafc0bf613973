// State dicts that PyTorch saved: a zip archive of a pickle and of storages. The pickle may name storages, dicts and the
// functions that put a tensor together; a file that names anything else is refused, and nothing in it is run.

import { checkOptions, text } from '../options.js';
import { scope } from '../scope.js';
import type { Tensor } from '../tensor.js';
import { type Origin, bytesOf, corrupt, product } from './bytes.js';
import { type ElementKind, dtypeOfKind, kindSize, swapped, toTensor } from './elements.js';
import { PyDict, PyGlobal, PyList, PyTuple, unpickle } from './pickle.js';
import { type SafetensorsOptions as ReadOptions, originOf } from './safetensors.js';
import type { Tree } from './tree.js';
import { type ZipEntry, readZip, unpack } from './zip.js';

const storages: Readonly<Record<string, ElementKind>> = {
  'torch.FloatStorage': 'F32',
  'torch.DoubleStorage': 'F64',
  'torch.HalfStorage': 'F16',
  'torch.BFloat16Storage': 'BF16',
  'torch.LongStorage': 'I64',
  'torch.IntStorage': 'I32',
  'torch.ShortStorage': 'I16',
  'torch.CharStorage': 'I8',
  'torch.ByteStorage': 'U8',
  'torch.BoolStorage': 'BOOL',
};
const functions = new Set([
  'collections.OrderedDict',
  'torch.Size',
  'torch._utils._rebuild_tensor_v2',
  'torch._utils._rebuild_parameter',
]);

/** A storage that a pickle refers to. */
class StorageRef {
  readonly kind: ElementKind;
  readonly bytes: Uint8Array;
  readonly offset: number;
  constructor(kind: ElementKind, bytes: Uint8Array, offset: number) {
    this.kind = kind;
    this.bytes = bytes;
    this.offset = offset;
  }
}

/** A tensor as a pickle tells it, before any is made. */
class TensorRef {
  readonly storage: StorageRef;
  readonly start: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly requiresGrad: boolean;
  constructor(
    storage: StorageRef,
    start: number,
    shape: readonly number[],
    strides: readonly number[],
    grad: boolean,
  ) {
    this.storage = storage;
    this.start = start;
    this.shape = shape;
    this.strides = strides;
    this.requiresGrad = grad;
  }
}

/**
 * What `torch.save` wrote of tensors, dicts, lists, numbers and texts: a state dict, or a checkpoint that holds several.
 * Dicts become records (numbers as keys become texts), tuples lists; a tensor that is there twice is one.
 *
 * @throws OmnigradError `format`, naming file and offset, also of the first thing in it that is something else
 */
export function decodeTorch<T = Record<string, Tensor>>(
  data: ArrayBuffer | ArrayBufferView,
  options: ReadOptions = {},
): T {
  checkOptions('decodeTorch', options, { name: text });
  return readTorch(
    readZip(bytesOf('decodeTorch', data), originOf('decodeTorch', options)),
    originOf('decodeTorch', options),
  ) as T;
}

/** True for an archive that `torch.save` made. */
export function isTorch(entries: ReadonlyMap<string, ZipEntry>): boolean {
  return pickleOf(entries) !== undefined;
}

const pickleOf = (entries: ReadonlyMap<string, ZipEntry>): ZipEntry | undefined =>
  [...entries.values()].find(({ name }) => /^([^/]*\/)?data\.pkl$/.test(name));

export function readTorch(entries: ReadonlyMap<string, ZipEntry>, origin: Origin): Tree {
  const pickle = pickleOf(entries);
  if (!pickle) throw corrupt(origin, 0, 'no file of torch.save: there is no data.pkl in the archive');
  const inside: Origin = { op: origin.op, file: `${origin.file}, entry '${pickle.name}'` };
  const archive = new Archive(entries, pickle.name.replace('data.pkl', ''), origin, inside);
  const value = unpickle(unpack(pickle, origin), inside, archive);
  return scope(() => new Builder(inside, archive.size).build(value));
}

class Archive {
  readonly #entries: ReadonlyMap<string, ZipEntry>;
  readonly #folder: string;
  readonly #origin: Origin;
  readonly #inside: Origin;
  readonly #storages = new Map<string, StorageRef>();
  readonly #big: boolean;
  /** Bytes of all storages that were unpacked. */
  size = 0;

  constructor(entries: ReadonlyMap<string, ZipEntry>, folder: string, origin: Origin, inside: Origin) {
    this.#entries = entries;
    this.#folder = folder;
    this.#origin = origin;
    this.#inside = inside;
    const order = entries.get(`${folder}byteorder`);
    this.#big = order !== undefined && new TextDecoder().decode(unpack(order, origin)) === 'big';
  }

  allowed(name: string): boolean {
    return functions.has(name) || Object.hasOwn(storages, name);
  }

  call(name: string, args: readonly unknown[], offset: number): unknown {
    if (name === 'collections.OrderedDict') return args.length === 0 ? new PyDict() : undefined;
    if (name === 'torch.Size') return args[0] instanceof PyTuple ? args[0] : undefined;
    if (name === 'torch._utils._rebuild_parameter') {
      const [data, grad] = args;
      if (!(data instanceof TensorRef)) return undefined;
      return new TensorRef(data.storage, data.start, data.shape, data.strides, grad === true);
    }
    if (name !== 'torch._utils._rebuild_tensor_v2') return undefined;
    const [storage, start, shape, strides, grad] = args;
    if (!(storage instanceof StorageRef) || !isCount(start) || !isCounts(shape) || !isCounts(strides))
      return undefined;
    if (shape.items.length !== strides.items.length) return undefined;
    this.#checkBounds(storage, start, shape.items, strides.items, offset);
    return new TensorRef(storage, start, shape.items, strides.items, grad === true);
  }

  #checkBounds(
    { kind, bytes }: StorageRef,
    start: number,
    shape: readonly number[],
    strides: readonly number[],
    offset: number,
  ): void {
    const count = product(shape);
    const last = shape.reduce((sum, size, axis) => sum + (size - 1) * (strides[axis] as number), start);
    const has = bytes.length / kindSize(kind);
    if (count === undefined || (count > 0 && !(last < has))) {
      const what = `a tensor of shape [${shape.join(', ')}], strides [${strides.join(', ')}], from ${start}`;
      throw corrupt(this.#inside, offset, `${what} goes beyond its storage of ${has} elements`);
    }
  }

  persistent(id: unknown, offset: number): StorageRef {
    const [word, type, key, , count] = id instanceof PyTuple ? id.items : [];
    const kind =
      type instanceof PyGlobal && Object.hasOwn(storages, type.name) ? storages[type.name] : undefined;
    if (word !== 'storage' || kind === undefined || typeof key !== 'string' || !isCount(count))
      throw corrupt(this.#inside, offset, 'what is referred to here is no storage');
    const entry = this.#entries.get(`${this.#folder}data/${key}`);
    if (!entry) throw corrupt(this.#inside, offset, `storage '${key}' is not in the archive`);
    if (entry.size !== count * kindSize(kind))
      throw corrupt(
        this.#origin,
        entry.offset,
        `storage '${key}' has ${entry.size} bytes; ${count} of ${kind} are said to be in it`,
      );
    const name = `${key} ${kind}`;
    let storage = this.#storages.get(name);
    if (!storage) {
      const bytes = unpack(entry, this.#origin);
      this.size += bytes.length;
      storage = new StorageRef(kind, this.#big ? swapped(bytes, kindSize(kind)) : bytes, entry.offset);
      this.#storages.set(name, storage);
    }
    return storage;
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isCounts = (value: unknown): value is { items: readonly number[] } =>
  value instanceof PyTuple && value.items.every(isCount);

const deepest = 100;

/** Makes records, lists and tensors of what a pickle built. */
class Builder {
  readonly #origin: Origin;
  readonly #made = new Map<unknown, Tree>();
  readonly #tensors = new Map<StorageRef, Map<string, Tensor>>();
  // Views may repeat a storage, as tied weights do, but a small file is not to become a large heap.
  #left: number;

  constructor(origin: Origin, storageBytes: number) {
    this.#origin = origin;
    this.#left = 8 * storageBytes + 1024;
  }

  build(value: unknown, depth = 0): Tree {
    if (depth > deepest) throw this.#wrong(`values are nested deeper than ${deepest}, or in a circle`);
    if (typeof value !== 'object' || value === null) return value as Tree;
    const before = this.#made.get(value);
    if (before !== undefined) return before;
    const made = this.#object(value, depth);
    this.#made.set(value, made);
    return made;
  }

  #object(value: object, depth: number): Tree {
    if (value instanceof TensorRef) return this.#tensor(value);
    if (value instanceof PyDict) {
      const record = Object.fromEntries(
        Array.from(value.items, ([key, item]) => [String(key), this.build(item, depth + 1)] as const),
      );
      if (Object.keys(record).length === value.items.size) return record;
      throw this.#wrong('a dict has a number and its text as keys');
    }
    if (value instanceof PyList || value instanceof PyTuple)
      return value.items.map((item) => this.build(item, depth + 1));
    const what = value instanceof PyGlobal ? `the name '${value.name}'` : 'bytes or a storage';
    throw this.#wrong(`${what} stands where a tensor or a plain value should`);
  }

  #tensor(ref: TensorRef): Tensor {
    const { storage, start, shape, strides, requiresGrad } = ref;
    let views = this.#tensors.get(storage);
    if (!views) this.#tensors.set(storage, (views = new Map<string, Tensor>()));
    const key = `${start};${shape.join()};${strides.join()}`;
    let made = views.get(key);
    if (!made) {
      const size = (product(shape) as number) * kindSize(storage.kind);
      this.#left -= size;
      if (this.#left < 0)
        throw this.#wrong('its tensors repeat their storages until they are eight times as large');
      views.set(
        key,
        (made = toTensor(
          { kind: storage.kind, shape, bytes: gathered(ref), offset: storage.offset },
          this.#origin,
        )),
      );
    }
    const floating = ['float32', 'float64'].includes(dtypeOfKind(storage.kind));
    if (requiresGrad && floating) made.requiresGrad = true;
    return made;
  }

  #wrong(text: string): Error {
    return corrupt(this.#origin, 0, text);
  }
}

// The elements in row order; a view where they are so already.
function gathered({ storage, start, shape, strides }: TensorRef): Uint8Array {
  const size = kindSize(storage.kind);
  const count = product(shape) as number;
  let dense = 1;
  const contiguous = shape.every((_, i) => {
    const axis = shape.length - 1 - i;
    const fits = shape[axis] === 1 || strides[axis] === dense;
    dense *= shape[axis] as number;
    return fits;
  });
  if (contiguous || count === 0) return storage.bytes.subarray(start * size, (start + count) * size);
  const bytes = new Uint8Array(count * size);
  const index = shape.map(() => 0);
  let from = start;
  for (let to = 0; to < count; to++) {
    for (let byte = 0; byte < size; byte++)
      bytes[to * size + byte] = storage.bytes[from * size + byte] as number;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const stride = strides[axis] as number;
      from += stride;
      if ((index[axis] = (index[axis] as number) + 1) < (shape[axis] as number)) break;
      from -= stride * (shape[axis] as number);
      index[axis] = 0;
    }
  }
  return bytes;
}
