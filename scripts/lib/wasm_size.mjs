// What the bytes of a wasm module are spent on: its functions by the source file that they come from. Names come from
// the symbol map that the link leaves, files from the symbols of the objects.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { files } from './sources.mjs';

export const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

const sectionIds = { imports: 2, code: 10, data: 11 };

/** The parts of a module that matter here: how many functions it imports, each function's bytes, the data's bytes. */
function parse(bytes) {
  let at = 8;
  const leb = () => {
    let value = 0;
    for (let shift = 0, byte = 128; byte & 128; shift += 7) {
      byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
    }
    return value;
  };
  const skipName = () => {
    const length = leb();
    at += length;
  };
  const limits = () => {
    const flags = leb();
    leb();
    if (flags & 1) leb();
  };
  const skipImport = [leb, () => (at++, limits()), limits, () => (at += 2), () => (at++, leb())];
  const module = { imported: 0, functions: [], data: { raw: 0, gzip: 0 } };
  while (at < bytes.length) {
    const id = bytes[at++];
    const length = leb();
    const end = at + length;
    if (id === sectionIds.data) module.data = { raw: length, gzip: gzipped(bytes.subarray(at, end)) };
    if (id === sectionIds.imports) {
      for (let left = leb(); left > 0; left--) {
        skipName(); // of the module it comes from
        skipName();
        const kind = bytes[at++];
        if (kind === 0) module.imported++;
        skipImport[kind]();
      }
    }
    if (id === sectionIds.code) {
      for (let left = leb(); left > 0; left--) {
        const begin = at;
        const body = leb();
        at += body;
        module.functions.push({ begin, end: at });
      }
    }
    at = end;
  }
  return module;
}

/** Function names of the symbol map, by index. */
function symbolNames(path) {
  const unescape = (text) =>
    text.replace(/\\([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const lines = readFileSync(path, 'utf8').split('\n');
  return new Map(lines.map((line) => [parseInt(line), unescape(line.slice(line.indexOf(':') + 1))]));
}

/** The source file that alone defines a function; 'shared' for what several do. */
function definingFiles(objects) {
  const { stdout } = spawnSync(
    'llvm-nm-19',
    ['--defined-only', '--demangle', '--print-file-name', ...objects],
    {
      encoding: 'utf8',
      maxBuffer: 2 ** 30,
    },
  );
  const found = new Map();
  for (const [, object, name] of stdout.matchAll(/^(.*?\.o): *[0-9a-f]+ [tTwW] (.*)$/gm)) {
    const file = object.replace(/.*\.dir\//, '').replace(/\.o$/, '');
    found.set(name, found.has(name) && found.get(name) !== file ? 'shared' : file);
  }
  return found;
}

/**
 * The families of a module, largest first: { name, functions, raw, gzip }. gzip is what the module's compressed size
 * would lose without the family.
 */
export function families(wasm, symbols, buildFolder) {
  const bytes = readFileSync(wasm);
  const { imported, functions, data } = parse(bytes);
  const names = symbolNames(symbols);
  const objects = files(/\.cpp\.o$/, buildFolder).filter((name) => !name.includes('/tests/'));
  const defined = definingFiles(objects);
  const groups = new Map();
  functions.forEach((range, index) => {
    const family = defined.get(names.get(index + imported)) ?? 'C and C++ library';
    if (!groups.has(family)) groups.set(family, []);
    groups.get(family).push(range);
  });
  const all = gzipped(bytes);
  const without = (ranges) => {
    const parts = [];
    let at = 0;
    for (const { begin, end } of ranges) {
      parts.push(bytes.subarray(at, begin));
      at = end;
    }
    return gzipped(Buffer.concat([...parts, bytes.subarray(at)]));
  };
  const list = [...groups].map(([name, ranges]) => ({
    name,
    functions: ranges.length,
    raw: ranges.reduce((sum, { begin, end }) => sum + end - begin, 0),
    gzip: all - without(ranges),
  }));
  list.push({ name: 'data', functions: 0, ...data });
  return list.sort((a, b) => b.gzip - a.gzip);
}
