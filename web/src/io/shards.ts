// Safetensors in several files, with an index that tells which tensor is in which: as large models are handed out.

import { shown } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type Origin, corrupt } from './bytes.js';
import { kindOf, kindSize } from './elements.js';
import { type TensorDict, readSafetensors, safetensorsParts, tensorsOf } from './safetensors.js';
import { parseJson } from './json.js';
import type { Source } from './places.js';
import { nameOf, pathOf, readBytes, urlOf } from './source.js';
import { type Tree, restoreTree } from './tree.js';

type Parts = readonly Uint8Array<ArrayBuffer>[];

/**
 * The files of a dict: shards by path, then the index, which has the path given. Each save has names of its own, so that the
 * index before it keeps its shards until the new one is there.
 */
export function shardsOf(
  path: string,
  tensors: Readonly<TensorDict>,
  words: Readonly<Record<string, string>>,
  most: number,
): [name: string | undefined, parts: Parts][] {
  const groups: [string, Tensor][][] = [];
  let [total, room] = [0, 0];
  for (const entry of Object.entries(tensors)) {
    const size = entry[1].numel * itemBytes(entry[1]);
    total += size;
    if (groups.length === 0 || size > room) {
      groups.push([]);
      room = most;
    }
    room -= size;
    groups.at(-1)?.push(entry);
  }
  const base = path.replace(/(\.safetensors)?\.index\.json$/, '');
  const number = (i: number): string => String(i).padStart(5, '0');
  const tag = crypto.randomUUID().slice(0, 8);
  const names = groups.map(
    (_, i) => `${base}-${tag}-${number(i + 1)}-of-${number(groups.length)}.safetensors`,
  );
  const map = groups.flatMap((group, i) =>
    group.map(([name]) => [name, fileOf(names[i] as string)] as const),
  );
  const index = { metadata: { ...words, total_size: total }, weight_map: Object.fromEntries(map) };
  const text = new TextEncoder().encode(`${JSON.stringify(index, undefined, 2)}\n`);
  const shards = groups.map((group, i): [string, Parts] => [
    names[i] as string,
    safetensorsParts('save', Object.fromEntries(group)),
  ]);
  return [...shards, [undefined, [text]]];
}

const itemBytes = (x: Tensor): number => kindSize(kindOf(x.dtype));
const fileOf = (path: string): string => path.replace(/^.*[/\\]/, '');

/** The shards that an earlier save to that path left, if there was one. */
export async function shardsBefore(path: string): Promise<string[]> {
  const folder = path.replace(/[^/\\]*$/, '');
  try {
    const index = JSON.parse(new TextDecoder().decode(await readBytes('save', path))) as {
      weight_map?: object;
    };
    const files = new Set(Object.values(index.weight_map ?? {}) as unknown[]);
    return Array.from(files, String)
      .filter((file) => /^[^/\\]*-[\da-f]{8}-\d{5}-of-\d{5}\.safetensors$/.test(file))
      .map((file) => folder + file);
  } catch {
    return [];
  }
}

/** Reads the files an index names, which lie beside it. */
export async function loadShards(source: Source, bytes: Uint8Array, origin: Origin): Promise<Tree> {
  const { value, places } = parseJson(bytes, origin, 0, 'the index');
  const { metadata = {}, weight_map: map } = value as { metadata?: unknown; weight_map?: unknown };
  const at = places.get('weight_map') ?? 0;
  const wrong = (text: string): Error => corrupt(origin, at, text);
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw wrong(`weight_map is ${shown(map)}; it must be an object that names a file for each tensor`);
  const entries = Object.entries(map as Record<string, unknown>);
  // A name is a file of this folder, not a way out of it.
  const bad = entries.find(
    ([, file]) => typeof file !== 'string' || !/^[^/\\:?#]+$/.test(file) || /^\.+$/.test(file),
  );
  if (bad)
    throw wrong(`tensor '${bad[0]}' is said to be in ${shown(bad[1])}; it must be a file beside the index`);
  const dict: Record<string, Tensor> = {};
  for (const file of new Set(entries.map(([, name]) => name as string))) {
    const place = besides(source, file);
    if (place === undefined)
      throw wrong(`files are beside an index that has a path or URL; ${nameOf(source)} has none`);
    const part = { op: origin.op, file: nameOf(place) };
    const tensors = tensorsOf(readSafetensors(await readBytes(origin.op, place), part), part);
    for (const [name, home] of entries) {
      if (home !== file) continue;
      const x = tensors[name];
      if (!x) throw wrong(`tensor '${name}' is not in ${file}`);
      Object.defineProperty(dict, name, { value: x, enumerable: true, configurable: true, writable: true });
    }
  }
  const json = Object.entries(metadata as Record<string, unknown>).find(([key]) => key === 'omnigrad')?.[1];
  return typeof json === 'string' ? restoreTree(json, dict, origin) : dict;
}

function besides(source: Source, file: string): string | URL | undefined {
  const response = typeof Response === 'function' && source instanceof Response ? source.url : undefined;
  const place = response === undefined || response === '' ? source : response;
  if (!(typeof place === 'string' || place instanceof URL)) return undefined;
  const path = pathOf(place);
  if (typeof path === 'string') return path.replace(/[^/\\]*$/, '') + file;
  const url = path ?? urlOf(place);
  return url && new URL(encodeURIComponent(file), url);
}
