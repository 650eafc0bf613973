// Just enough of the binary format of WebAssembly to put other bodies into a module's functions.
import assert from 'node:assert/strict';

function leb(bytes, at) {
  let [value, shift] = [0, 0];
  for (;;) {
    const byte = bytes[at++];
    value += (byte & 127) * 2 ** shift;
    shift += 7;
    if (byte < 128) return [value, at];
  }
}

function lebOf(value) {
  const bytes = [];
  do {
    bytes.push((value & 127) | (value > 127 ? 128 : 0));
    value >>>= 7;
  } while (value > 0);
  return bytes;
}

/** A body of these instructions alone, without the closing `end`. */
export const body = (...instructions) => Buffer.from([0, ...instructions, 0x0b]); // 0: no locals

/**
 * The module with every function that `wanted` picks by its name changed: `change` gets its body, and gives another.
 *
 * @param symbols the symbol map: lines of index:name, imported functions first
 */
export function changed(wasm, symbols, wanted, change) {
  const picked = new Set();
  for (const line of symbols.split('\n')) {
    const colon = line.indexOf(':');
    const hex = (_, code) => String.fromCharCode(parseInt(code, 16));
    if (wanted(line.slice(colon + 1).replace(/\\([0-9a-f]{2})/g, hex)))
      picked.add(Number(line.slice(0, colon)));
  }
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm));
  const imported = imports.filter(({ kind }) => kind === 'function').length;
  const parts = [wasm.subarray(0, 8)];
  let replaced = 0;
  for (let at = 8; at < wasm.length;) {
    const id = wasm[at];
    const [size, from] = leb(wasm, at + 1);
    const section = wasm.subarray(from, from + size);
    at = from + size;
    if (id !== 10) {
      parts.push(Buffer.from([id, ...lebOf(size)]), section);
      continue;
    }
    const [count, first] = leb(section, 0);
    const code = [Buffer.from(lebOf(count))];
    for (let i = 0, place = first; i < count; i++) {
      const [length, start] = leb(section, place);
      place = start + length;
      const own = section.subarray(start, place);
      const now = picked.has(imported + i) ? change(own) : own;
      if (now !== own) replaced++;
      code.push(Buffer.from(lebOf(now.length)), now);
    }
    const all = Buffer.concat(code);
    parts.push(Buffer.from([id, ...lebOf(all.length)]), all);
  }
  assert.ok(replaced > 0, 'no function is called that');
  return Buffer.concat(parts);
}
