// The ops' schema with its documentation. The module tells of each line of documentation only a hash (class Doc in
// op.h); the text is the string literal of that hash in the sources of the ops.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './run.mjs';
import { files } from './sources.mjs';

/** FNV-1a over the bytes of the text, as class Doc has it. */
function hashOf(text) {
  let hash = 2166136261;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash;
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

/** Every op with its documentation. @throws Error where a hash has no literal, or two. */
export async function documentedSchema() {
  const texts = new Map();
  for (const file of files(/\.(cpp|h)$/, 'core/src/ops', 'core/src/optim')) {
    for (const text of stringLiterals(readFileSync(join(root, file), 'utf8'))) {
      const hash = hashOf(text);
      if (texts.has(hash) && texts.get(hash) !== text)
        throw new Error(
          `of one hash: ${JSON.stringify(texts.get(hash))} and ${JSON.stringify(text)}; change one`,
        );
      texts.set(hash, text);
    }
  }
  const document = ({ doc, ...rest }, what) => {
    const text = doc === 0 ? '' : texts.get(doc);
    if (text === undefined)
      throw new Error(`${what}: its documentation is no string literal of the ops' sources`);
    return { ...rest, doc: text };
  };
  const schema = await moduleSchema();
  return {
    ...schema,
    ops: schema.ops.map((op) => ({
      ...document(op, op.name),
      inputs: op.inputs.map((item) => document(item, `${op.name} ${item.name}`)),
      options: op.options.map((item) => document(item, `${op.name} ${item.name}`)),
    })),
  };
}
