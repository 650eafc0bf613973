// Files that a page keeps for itself: in the origin's private file system where it can be written from here, else in
// IndexedDB. Both replace a file as a whole or not at all.

import { failure } from '../errors.js';
import { checkValue, text } from '../options.js';
import type { BrowserStore } from './places.js';
import { writeHandle } from './write_handle.js';

const brand = Symbol.for('omnigrad.browserStore');

/** True for what browserStore gives. */
export function isBrowserStore(value: unknown): value is BrowserStore {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;
}

/** A file of this origin by name, for `save` and `load` in a page or a worker. */
export function browserStore(name: string): BrowserStore {
  checkValue('browserStore', 'name', name, text);
  const files = async (): Promise<Files> => (await privateFiles()) ?? database(indexedDb());
  const store = {
    name,
    read: async () => {
      const blob = await (await files()).get(name);
      if (!blob) throw failure('browserStore', 'not-found', `there is no '${name}' in this origin's storage`);
      return new Uint8Array(await blob.arrayBuffer());
    },
    write: async (parts: readonly Uint8Array<ArrayBuffer>[]) => (await files()).put(name, parts),
    exists: async () => (await (await files()).get(name)) !== undefined,
    remove: async () => (await files()).remove(name),
  };
  Object.defineProperty(store, brand, { value: true });
  return store;
}

interface Files {
  get(name: string): Promise<Blob | undefined>;
  put(name: string, parts: readonly Uint8Array<ArrayBuffer>[]): Promise<void>;
  remove(name: string): Promise<void>;
}

const folderName = 'omnigrad';
// A file system refuses some characters.
const fileName = (name: string): string =>
  encodeURIComponent(name).replaceAll('*', '%2A').replaceAll('.', '%2E');

async function privateFiles(): Promise<Files | undefined> {
  const storage = (globalThis as { navigator?: { storage?: Partial<StorageManager> } }).navigator?.storage;
  const writable = (globalThis as { FileSystemFileHandle?: { prototype: object } }).FileSystemFileHandle
    ?.prototype;
  if (!storage?.getDirectory || !writable || !('createWritable' in writable)) return undefined;
  let folder: FileSystemDirectoryHandle;
  try {
    folder = await (await storage.getDirectory()).getDirectoryHandle(folderName, { create: true });
  } catch {
    // Private windows may refuse.
    return undefined;
  }
  const missing = (error: unknown): undefined => {
    if ((error as { name?: unknown }).name !== 'NotFoundError') throw error;
    return undefined;
  };
  return {
    get: async (name) => {
      const handle = await folder.getFileHandle(fileName(name)).catch(missing);
      const file = await handle?.getFile();
      // A first save that failed leaves an empty file.
      return file?.size === 0 ? undefined : file;
    },
    put: async (name, parts) =>
      writeHandle(await folder.getFileHandle(fileName(name), { create: true }), parts),
    remove: async (name) => {
      await folder.removeEntry(fileName(name)).catch(missing);
    },
  };
}

function indexedDb(): IDBFactory {
  const found = (globalThis as { indexedDB?: IDBFactory }).indexedDB;
  if (found) return found;
  throw failure(
    'browserStore',
    'unsupported',
    'there is neither a private file system nor IndexedDB; in Node give a path',
  );
}

const tableName = 'files';

// One transaction a call: it happens as a whole.
function database(factory: IDBFactory): Files {
  const run = <T>(mode: IDBTransactionMode, work: (files: IDBObjectStore) => IDBRequest<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        reject(error instanceof Error ? error : new Error(String(error)));
      };
      const opening = factory.open(folderName, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(tableName);
      opening.onerror = () => {
        fail(opening.error);
      };
      opening.onsuccess = () => {
        const base = opening.result;
        const change = base.transaction(tableName, mode);
        const request = work(change.objectStore(tableName));
        change.oncomplete = () => {
          base.close();
          resolve(request.result);
        };
        change.onabort = change.onerror = () => {
          base.close();
          fail(change.error ?? request.error);
        };
      };
    });
  return {
    get: (name) =>
      run<Blob | undefined>('readonly', (files) => files.get(name) as IDBRequest<Blob | undefined>),
    put: async (name, parts) => {
      await run('readwrite', (files) => files.put(new Blob([...parts]), name));
    },
    remove: async (name) => {
      await run('readwrite', (files) => files.delete(name));
    },
  };
}
