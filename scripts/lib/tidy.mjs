// clang-tidy over the C++ sources. It takes seconds a file: two at a time, and what was clean is not looked at again
// until something that it may depend on has changed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { capture, root } from './run.mjs';
import { files } from './sources.mjs';

const tool = 'clang-tidy-19';
const wasmFlags = [
  ...['-p', 'build/wasm-single', '--extra-arg=--target=wasm32-unknown-emscripten'],
  '--extra-arg=-D__EMSCRIPTEN__',
  '--extra-arg=--sysroot=/usr/share/emscripten/cache/sysroot',
  '--extra-arg=-isystem/usr/share/emscripten/cache/sysroot/include/compat',
];

/** Each file with its flags. */
const jobs = () =>
  [
    ...files(/\.cpp$/, 'core/src').map((file) => [file, '-p', 'build/native']),
    ...files(/\.cpp$/, 'wasm').map((file) => [file, ...wasmFlags]),
  ].filter(([file]) => !/\/serial\.cpp$/.test(file)); // not in the native build

const read = (file) => readFileSync(join(root, file));

/** What all results depend on: the tool, its rules, every header, the flags of the build. */
async function common() {
  const { status, output } = await capture(tool, ['--version']);
  if (status !== 0) throw new Error(output);
  const hash = createHash('sha256').update(output);
  for (const file of [
    '.clang-tidy',
    'CMakeLists.txt',
    'CMakePresets.json',
    ...files(/\.h$/, 'core', 'wasm'),
  ]) {
    hash.update(`\0${file}\0`).update(read(file));
  }
  return hash.digest('hex');
}

/** A stage's run: { status, output }. */
export async function tidy() {
  const memory = join(root, 'build/tidy.json');
  const clean = new Set(existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : []);
  const basis = await common();
  const queue = jobs();
  const kept = [];
  const bad = [];
  const work = async () => {
    for (let args = queue.shift(); args; args = queue.shift()) {
      const digest = createHash('sha256')
        .update(`${basis}\0${args.join('\0')}\0`)
        .update(read(args[0]))
        .digest('hex');
      const { status, output } = clean.has(digest)
        ? { status: 0 }
        : await capture(tool, ['--quiet', ...args]);
      if (status === 0) kept.push(digest);
      else bad.push(output);
    }
  };
  await Promise.all([work(), work()]);
  mkdirSync(dirname(memory), { recursive: true });
  writeFileSync(memory, JSON.stringify(kept));
  return {
    status: bad.length === 0 ? 0 : 1,
    output: `${bad.join('')}\n${kept.length} passed, ${bad.length} failed\n`,
  };
}
