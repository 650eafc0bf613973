// Where files are read from and written to: what callers may name. Types only.

import type {
  PlatformBlob,
  PlatformFileHandle,
  PlatformReadableStream,
  PlatformResponse,
  PlatformURL,
  PlatformWritableStream,
} from '../platform.js';

/** A named file of this origin. */
export interface BrowserStore {
  readonly name: string;
  /** @throws OmnigradError `not-found` */
  read(): Promise<Uint8Array>;
  /** Replaces it; the old one stays whole if that fails. */
  write(parts: readonly Uint8Array<ArrayBuffer>[]): Promise<void>;
  exists(): Promise<boolean>;
  /** Nothing happens where there is none. */
  remove(): Promise<void>;
}

/** What can be read: a path (Node) or URL, bytes, and what browsers give. */
export type Source =
  | string
  | PlatformURL
  | ArrayBuffer
  | ArrayBufferView
  | PlatformBlob
  | PlatformResponse
  | PlatformReadableStream
  | PlatformFileHandle
  | BrowserStore;

/** Where `save` can write: a path (Node), what a file picker gives, any stream of bytes, storage of this origin. */
export type Target = string | PlatformURL | PlatformFileHandle | PlatformWritableStream | BrowserStore;
