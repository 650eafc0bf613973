// The ops' schema with its documentation. The module tells of each line of documentation only a hash (class Doc in
// schema.h); the text is the string literal of that hash in the sources of the ops.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';
import { files } from './sources.mjs';

/** FNV-1a over the bytes of the text, folded, as class Doc has it. */
function hashOf(text) {
  let hash = 2166136261;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return (hash ^ (hash >>> 16)) & 0xffff || 1;
}

const escapes = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

/** The string literals of C++ text; what stands side by side is one, as for the compiler. */
export function stringLiterals(text) {
  const token = /\/\/.*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])+'|"((?:\\.|[^"\\\n])*)"|\\\n|\s+|[^]/g;
  const list = [];
  let open = false;
  for (const [all, literal] of text.matchAll(token)) {
    if (literal !== undefined) {
      const part = literal.replace(/\\(.)/g, (_, c) => escapes[c] ?? c);
      if (open) list[list.length - 1] += part;
      else list.push(part);
      open = true;
    } else if (!/^(\s|\/\/|\/\*|\\\n)/.test(all)) {
      open = false;
    }
  }
  return list;
}

function groupedBy(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

/** The schema that the single-threaded module of web/assets tells. */
async function moduleSchema() {
  const assets = join(root, 'web/assets');
  const { default: factory } = await import(join(assets, 'omnigrad-single.mjs'));
  const module = await factory({
    wasmBinary: readFileSync(join(assets, 'omnigrad-single.wasm')),
    wasmMemory: new WebAssembly.Memory({ initial: 512, maximum: 32768 }),
  });
  return JSON.parse(module.schemaJson());
}

/**
 * Every op with its documentation. The literal of a hash is looked for in the files that name the op in quotes, then in
 * all others; of several, what names an op, input or option is none. @throws Error where a hash has no literal, or several.
 */
export async function documentedSchema() {
  const schema = await moduleSchema();
  const taken = new Set(
    schema.ops.flatMap((op) => [op, ...op.inputs, ...op.options].map(({ name }) => name)),
  );
  const sources = files(/\.(cpp|h)$/, 'core/src/ops', 'core/src/optim').map((file) => {
    const literals = stringLiterals(readFileSync(join(root, file), 'utf8'));
    return { names: new Set(literals), byHash: groupedBy(new Set(literals), hashOf) };
  });
  const found = (hash, among) => [...new Set(among.flatMap(({ byHash }) => byHash.get(hash) ?? []))];
  const documented = ({ doc, ...rest }, op) => {
    if (doc === 0) return { ...rest, doc: '' };
    const near = found(
      doc,
      sources.filter(({ names }) => names.has(op)),
    );
    let texts = near.length > 0 ? near : found(doc, sources);
    if (texts.length > 1) texts = texts.filter((text) => !taken.has(text));
    if (texts.length === 1) return { ...rest, doc: texts[0] };
    throw new Error(
      texts.length === 0
        ? `${op} ${rest.name}: its documentation is no string literal of the ops' sources`
        : `${op} ${rest.name}: documentation of one hash, change one: ${texts.map((t) => JSON.stringify(t)).join(', ')}`,
    );
  };
  return {
    ...schema,
    ops: schema.ops.map((op) => ({
      ...documented(op, op.name),
      inputs: op.inputs.map((item) => documented(item, op.name)),
      options: op.options.map((item) => documented(item, op.name)),
    })),
  };
}
