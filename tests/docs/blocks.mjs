// The code blocks of README and guide, as programs. Blocks of one page are one program, in their order. After the
// language a block may say: `page`, of the program that runs in a page; `file=NAME`, a file beside the programs.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
export const home = join(root, 'build/docs');

const guide = readdirSync(join(root, 'web/docs/guide')).map((name) => `web/docs/guide/${name}`);

/** Every block: { page, language, meta, text, line }. */
export function blocks() {
  return ['README.md', ...guide].flatMap((path) => {
    const source = readFileSync(join(root, path), 'utf8');
    return [...source.matchAll(/^```(\w+)(.*)\n([^]*?)^```$/gm)].map(
      ({ 1: language, 2: meta, 3: text, index }) => ({
        page: basename(path, '.md').toLowerCase(),
        ...{ language, meta: meta.trim(), text, line: source.slice(0, index).split('\n').length },
      }),
    );
  });
}

/** What the lines `console.log(...); // text` say is printed. */
const expected = (text) => [...text.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);

// A training loop over all of MNIST is no test; the smaller half of it is.
const shortened = (text) => text.replaceAll(`await mnist('train')`, `await mnist('test')`);

/** Writes the programs below build/docs: [{ page, kind: 'node' | 'page', file, expected }]. */
export function writePrograms() {
  rmSync(home, { recursive: true, force: true });
  const programs = [];
  const all = blocks().filter(({ language }) => /^(ts|js)$/.test(language));
  for (const page of new Set(all.map((block) => block.page))) {
    const folder = join(home, page);
    mkdirSync(folder, { recursive: true });
    const own = all.filter((block) => block.page === page);
    for (const { meta, text } of own) {
      const [, name] = /^file=(\S+)$/.exec(meta) ?? [];
      if (name) writeFileSync(join(folder, name), text);
    }
    for (const [kind, wanted] of [
      ['node', ''],
      ['page', 'page'],
    ]) {
      const parts = own.filter(({ meta }) => meta === wanted);
      if (parts.length === 0) continue;
      const text = parts.map(({ text: part }) => part).join('\n');
      const file = join(folder, `${kind}.ts`);
      writeFileSync(file, `${shortened(text)}\nexport {};\n`);
      programs.push({ page, kind, file, expected: expected(text) });
    }
  }
  return programs;
}
