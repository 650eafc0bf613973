// Where bytes come from: a path, a URL, what the browser hands out. What they mean is others' business.

import { failure, shown } from '../errors.js';
import { nodeBuiltin } from '../loader/features.js';
import { isBrowserStore } from './browser_store.js';
import { asBytes, hasBytes } from './bytes.js';
import type { Source } from './places.js';

export interface NodeFile {
  readFile(): Promise<Uint8Array>;
  write(data: Uint8Array, offset: number, length: number): Promise<{ bytesWritten: number }>;
  sync(): Promise<void>;
  close(): Promise<void>;
  createReadStream(): AsyncIterable<Uint8Array>;
}
export interface NodeFs {
  readonly promises: {
    open(path: string | URL, flags: string): Promise<NodeFile>;
    readFile(path: string | URL): Promise<Uint8Array>;
    realpath(path: string): Promise<string>;
    rename(from: string, to: string): Promise<void>;
    rm(path: string | URL, options: { force: boolean }): Promise<void>;
    readdir(
      path: string | URL,
      options: { withFileTypes: true },
    ): Promise<{ readonly name: string; isDirectory(): boolean; isFile(): boolean }[]>;
  };
}

/** Node's file system. */
export const nodeFs = (): NodeFs | undefined => nodeBuiltin<NodeFs>('fs');

/** A URL, if that is what it is; relative ones are URLs in a page and paths in Node. */
export function urlOf(place: string | URL): URL | undefined {
  if (place instanceof URL) return place;
  if (/^[a-z][a-z\d+.-]+:/i.test(place)) return new URL(place);
  const base = (globalThis as { location?: { href: string } }).location?.href;
  return nodeFs() || base === undefined ? undefined : new URL(place, base);
}

/** The path of a place in Node's file system; undefined for anything else. */
export function pathOf(place: unknown): string | URL | undefined {
  if (!nodeFs() || !(typeof place === 'string' || place instanceof URL)) return undefined;
  const url = urlOf(place);
  if (!url) return place;
  return url.protocol === 'file:' ? url : undefined;
}

/** What a source is called in errors. */
export function nameOf(source: Source): string {
  if (typeof source === 'string') return source.startsWith('data:') ? 'the data: URL' : source;
  if (source instanceof URL) return source.href;
  if (isBrowserStore(source)) return `browserStore('${source.name}')`;
  if (typeof Response === 'function' && source instanceof Response) return source.url || 'the response';
  const { name } = Object(source) as { name?: unknown };
  return typeof name === 'string' && !hasBytes(source) ? name : 'the bytes';
}

const kinds =
  'a path or URL, bytes, a Blob, a Response, a ReadableStream, a FileSystemFileHandle, or browserStore(name)';

/**
 * All bytes of a source.
 *
 * @throws OmnigradError `not-found` if it cannot be read, `argument` if it is no source
 */
export async function readBytes(op: string, source: Source): Promise<Uint8Array> {
  if (hasBytes(source)) return asBytes(source);
  if (isBrowserStore(source)) return source.read();
  const path = pathOf(source);
  try {
    if (path !== undefined) return asBytes(await (nodeFs() as NodeFs).promises.readFile(path));
    const opened = await open(source);
    if (opened) return new Uint8Array(await opened.arrayBuffer());
  } catch (error) {
    throw failure(op, 'not-found', `${nameOf(source)} cannot be read: ${(error as Error).message}`, error);
  }
  throw failure(op, 'argument', `the source is ${shown(source)}; it must be ${kinds}`);
}

async function open(source: unknown): Promise<Blob | Response | undefined> {
  if (typeof source === 'string' || source instanceof URL) source = await fetch(urlOf(source) ?? source);
  if (typeof Response === 'function' && source instanceof Response) {
    if (!source.ok) throw new Error(`HTTP ${source.status}`);
    return source;
  }
  if (typeof Blob === 'function' && source instanceof Blob) return source;
  if (typeof ReadableStream === 'function' && source instanceof ReadableStream) return new Response(source);
  const { getFile } = (source ?? {}) as { getFile?: unknown };
  return typeof getFile === 'function' ? (source as FileSystemFileHandle).getFile() : undefined;
}

/** The bytes of a source piece by piece, for files that memory does not hold. */
export async function* streamBytes(op: string, source: Source): AsyncGenerator<Uint8Array> {
  const path = pathOf(source);
  if (path !== undefined) {
    let file: NodeFile;
    try {
      file = await (nodeFs() as NodeFs).promises.open(path, 'r');
    } catch (error) {
      throw failure(op, 'not-found', `${nameOf(source)} cannot be read: ${(error as Error).message}`, error);
    }
    // The stream closes the file.
    yield* file.createReadStream();
    return;
  }
  if (hasBytes(source) || isBrowserStore(source)) {
    yield await readBytes(op, source);
    return;
  }
  let opened: Blob | Response | undefined;
  try {
    opened = await open(source);
  } catch (error) {
    throw failure(op, 'not-found', `${nameOf(source)} cannot be read: ${(error as Error).message}`, error);
  }
  if (!opened) throw failure(op, 'argument', `the source is ${shown(source)}; it must be ${kinds}`);
  const stream = opened instanceof Blob ? opened.stream() : opened.body;
  if (!stream) return;
  // Not every engine iterates streams.
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}
