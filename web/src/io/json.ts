// JSON in files that others wrote: what JSON.parse does not tell, which is where a member begins and whether one is
// there twice. Runs after JSON.parse has accepted the text, so it checks no grammar.

import { type Origin, corrupt } from './bytes.js';

const quote = 0x22;
const backslash = 0x5c;

/** The value, and the offset of each member of the outermost object. @throws OmnigradError `format` */
export function parseJson(
  bytes: Uint8Array,
  origin: Origin,
  start: number,
  what: string,
): { value: unknown; places: Map<string, number> } {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    throw corrupt(origin, start, `${what} is no JSON: ${(error as Error).message}`, error);
  }
  return { value, places: memberPlaces(bytes, origin, start) };
}

function memberPlaces(bytes: Uint8Array, origin: Origin, start: number): Map<string, number> {
  const outermost = new Map<string, number>();
  // The keys of each open object; undefined for an array.
  const open: (Map<string, number> | undefined)[] = [];
  let keyNext = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) {
      const end = endOfString(bytes, i);
      if (keyNext) {
        addKey(open.at(-1) as Map<string, number>, bytes.subarray(i, end), origin, start + i);
        keyNext = false;
      }
      i = end - 1;
    } else if (byte === 0x7b) {
      open.push(open.length === 0 ? outermost : new Map<string, number>());
      keyNext = true;
    } else if (byte === 0x5b) {
      open.push(undefined);
      keyNext = false;
    } else if (byte === 0x7d || byte === 0x5d) {
      open.pop();
      keyNext = false;
    } else if (byte === 0x2c) {
      keyNext = open.at(-1) !== undefined;
    }
  }
  return outermost;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i + 1;
}

function addKey(keys: Map<string, number>, quoted: Uint8Array, origin: Origin, offset: number): void {
  const key = JSON.parse(new TextDecoder().decode(quoted)) as string;
  if (keys.has(key)) throw corrupt(origin, offset, `'${key}' is there twice`);
  keys.set(key, offset);
}
