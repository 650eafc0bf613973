// Makes the package's assets out of Emscripten's output: omnigrad-VARIANT.mjs, one ES module that is the glue and, in
// the threaded build, its own pthread worker, and omnigrad-VARIANT.wasm, which says in a section of its own which build
// it is. The glue loses what a library must not do: require(), a global Worker, a warning on every page, errors thrown
// into the void. Each replacement must match as often as said, else the build fails: Emscripten's text is known for
// 3.1.6 only.
// usage: node merge_glue.mjs VARIANT BUILD_FOLDER BUILD_ID_FILE ASSETS
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [variant, buildFolder, idFile, assets] = process.argv.slice(2);
const name = `omnigrad-${variant}`;
const threads = variant === 'threads';
const entry = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'pthread_entry.js'), 'utf8');
let glue = readFileSync(join(buildFolder, `${name}.mjs`), 'utf8');

function replace(what, pattern, by, times = 1) {
  const found = glue.split(pattern).length - 1;
  if (found !== times) {
    throw new Error(`merge_glue: ${name}.mjs has ${found} times "${what}", not ${times}`);
  }
  glue = glue.split(pattern).join(by);
}

// Node's builtins, without require and without a top-level await.
replace(
  'require path',
  'require("path").dirname(scriptDirectory)',
  'nodeBuiltin("path").dirname(scriptDirectory)',
);
replace(
  '__dirname',
  '__dirname',
  'nodeBuiltin("path").dirname(nodeBuiltin("url").fileURLToPath(import.meta.url))',
);
replace(
  'require fs',
  'fs=require("fs");nodePath=require("path")',
  'fs=nodeBuiltin("fs");nodePath=nodeBuiltin("path")',
);
replace('export', 'export default Module;', '');
replace('factory', 'var Module = (() => {', 'const factory = (() => {');
if (threads) {
  replace(
    'global.Worker',
    /try\{nodeWorkerThreads=require\("worker_threads"\)\}catch\(e\)\{.*?\}global\.Worker=nodeWorkerThreads\.Worker/,
    'nodeWorkerThreads=nodeBuiltin("worker_threads")',
  );
  replace(
    'global.performance',
    'if(typeof performance=="undefined"){global.performance=require("perf_hooks").performance}',
    '',
  );
  replace(
    'allocateUnusedWorker',
    /allocateUnusedWorker:function\(\)\{.*?\},getNewWorker:/,
    'allocateUnusedWorker:function(){PThread.unusedWorkers.push(spawnPthread(Module["mainScriptUrlOrBlob"]))},getNewWorker:',
  );
  // The loader rejects the start; thrown here it would reach nobody.
  replace(
    'worker.onerror',
    'var message="worker sent an error!";err(message+" "+e.filename+":"+e.lineno+": "+e.message);throw e',
    'if(e.preventDefault)e.preventDefault();Module["onWorkerError"](e)',
  );
  // One thread means a pool of no workers, of which none would say that the module is loaded.
  replace(
    'numWorkersToLoad',
    'numWorkersToLoad=PThread.unusedWorkers.length;',
    'numWorkersToLoad=PThread.unusedWorkers.length;if(!numWorkersToLoad)removeRunDependency("wasm-instantiate");',
  );
  replace('blocking warning', /warnOnce\("Blocking on the main thread is very dangerous[^"]*"\)/, '');
}
for (const left of [
  /\brequire\(/,
  /\b__filename\b/,
  /\bglobal\./,
  /process\.on\b|process\["on"\]/,
  /^\s*await /m,
]) {
  if (left.test(glue)) throw new Error(`merge_glue: ${name}.mjs still has ${left}`);
}

const id = readFileSync(idFile, 'utf8').trim();
const head = `// omnigrad ${variant} ${id}: generated, do not edit.
const nodeBuiltin = typeof process === 'object' && typeof process.versions?.node === 'string' ? (m) => process.getBuiltinModule(m) : undefined;
`;
const workerHead = `const pthreadName = 'omnigrad-pthread';
const isPthread = nodeBuiltin
  ? nodeBuiltin('worker_threads').workerData === pthreadName
  : typeof WorkerGlobalScope === 'function' && self.name === pthreadName;
// By the URL that the loader was given: a file of the page's origin that re-exports this one may stand for it.
function spawnPthread(main) {
  const url = new URL(main ?? import.meta.url);
  if (!nodeBuiltin) return new Worker(url, { type: 'module', name: pthreadName });
  return new (nodeBuiltin('worker_threads').Worker)(url, { workerData: pthreadName, execArgv: [] });
}
`;
const tail = `factory.buildId = '${id}';\nexport default factory;\n`;

mkdirSync(assets, { recursive: true });
writeFileSync(
  join(assets, `${name}.mjs`),
  head + (threads ? workerHead : '') + glue + (threads ? entry : '') + tail,
);
writeFileSync(
  join(assets, `${name}.wasm`),
  Buffer.concat([
    readFileSync(join(buildFolder, `${name}.wasm`)),
    customSection('omnigrad', `${variant} ${id}`),
  ]),
);

// Names of the functions, for stack traces: the module itself has none.
copyFileSync(join(buildFolder, `${name}.mjs.symbols`), join(assets, `${name}.wasm.symbols`));

// A custom section of a wasm module. Lengths are below 128, so that each is one byte of LEB128.
function customSection(sectionName, text) {
  const payload = Buffer.from(`${String.fromCharCode(sectionName.length)}${sectionName}${text}`, 'latin1');
  return Buffer.concat([Buffer.from([0, payload.length]), payload]);
}
