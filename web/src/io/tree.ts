// A checkpoint as a file holds it: nested records and lists whose leaves are tensors and plain values. The tensors go
// into the file under their paths, everything else into one text of JSON beside them. No file is touched here.

import { failure, shown } from '../errors.js';
import { type Tensor, isTensor } from '../tensor.js';
import { type Origin, corrupt } from './bytes.js';
import type { TensorDict } from './safetensors.js';

/** What can be saved. */
export type Tree =
  | Tensor
  | null
  | boolean
  | number
  | bigint
  | string
  | undefined
  | readonly Tree[]
  | { readonly [key: string]: Tree };

/**
 * `T` if it can be saved, as far as its type tells. Interfaces have no index signature, so they are no `Tree`, though what
 * they describe can be saved.
 */
export type Savable<T> = unknown extends T
  ? T
  : T extends Tree
    ? T
    : T extends (...args: never[]) => unknown
      ? never
      : T extends object
        ? { readonly [K in keyof T]: Savable<T[K]> }
        : never;

const deepest = 100;

/**
 * The tensors by path, and the rest as JSON; no JSON for a flat record of tensors, which any reader understands.
 *
 * @throws OmnigradError `argument`, with the path, for what is neither
 */
export function flattenTree(op: string, tree: unknown): { tensors: TensorDict; json: string | undefined } {
  const tensors = new Map<string, Tensor>();
  const names = new Map<Tensor, string>();
  const visit = (value: unknown, path: string, depth: number): unknown => {
    if (isTensor(value)) {
      // One that is there twice is written once, and is one again when loaded.
      let name = names.get(value);
      if (name === undefined) {
        name = path;
        while (tensors.has(name)) name += "'";
        tensors.set(name, value);
        names.set(value, name);
      }
      return { $tensor: name };
    }
    if (depth > deepest)
      throw failure(op, 'argument', `${path} is nested deeper than ${deepest}, or in a circle`);
    const inside = (key: string): string => (path === '' ? key : `${path}/${key}`);
    if (Array.isArray(value)) return value.map((item, i) => visit(item, inside(String(i)), depth + 1));
    if (isRecord(value)) {
      const entries = Object.entries(value).filter(([, item]) => item !== undefined);
      return Object.fromEntries(
        entries.map(([key, item]) => [
          key.startsWith('$') ? `$${key}` : key,
          visit(item, inside(key), depth + 1),
        ]),
      );
    }
    return plain(op, value, path);
  };
  const rest = visit(tree, '', 0);
  const flat = isRecord(tree) && !isTensor(tree) && Object.values(tree).every(isTensor);
  const same = flat && Object.keys(tree).length === tensors.size;
  return { tensors: Object.fromEntries(tensors), json: same ? undefined : JSON.stringify(rest) };
}

function plain(op: string, value: unknown, path: string): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint') return { $bigint: String(value) };
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { $number: Object.is(value, -0) ? '-0' : String(value) };
  const what = `${path === '' ? 'what is saved' : `'${path}'`} is ${shown(value)}`;
  throw failure(
    op,
    'argument',
    `${what}; tensors, records, lists, numbers, texts, booleans and null can be saved`,
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Puts together what flattenTree took apart. @throws OmnigradError `format` */
export function restoreTree(json: string, tensors: Readonly<TensorDict>, origin: Origin): Tree {
  const wrong = (text: string): Error => corrupt(origin, 8, `the checkpoint's structure ${text}`);
  const visit = (value: unknown, depth: number): Tree => {
    if (depth > deepest) throw wrong(`is nested deeper than ${deepest}`);
    if (Array.isArray(value)) return value.map((item) => visit(item, depth + 1));
    if (typeof value !== 'object' || value === null) return value as Tree;
    const [[key, item] = ['', undefined], ...others] = Object.entries(value);
    if (key.startsWith('$') && !key.startsWith('$$')) {
      const special = others.length === 0 && typeof item === 'string' ? leaf(key, item, tensors) : undefined;
      if (special === undefined) throw wrong(`has a leaf ${key} ${shown(item)} that stands for nothing`);
      return special;
    }
    return Object.fromEntries(
      Object.entries(value).map(
        ([name, child]) => [name.replace(/^\$/, ''), visit(child, depth + 1)] as const,
      ),
    );
  };
  let rest: unknown;
  try {
    rest = JSON.parse(json);
  } catch (error) {
    throw wrong(`is no JSON: ${(error as Error).message}`);
  }
  return visit(rest, 0);
}

function leaf(key: string, text: string, tensors: Readonly<TensorDict>): Tree {
  if (key === '$tensor') return Object.hasOwn(tensors, text) ? tensors[text] : undefined;
  if (key === '$bigint') return /^-?\d{1,400}$/.test(text) ? BigInt(text) : undefined;
  if (key === '$number')
    return ['NaN', 'Infinity', '-Infinity', '-0'].includes(text) ? Number(text) : undefined;
  return undefined;
}
