// npm run bench, after the build. usage: see the text below.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cases } from './cases.mjs';
import { startProcess } from './process.mjs';
import { choose, session } from './session.mjs';

const usage = `npm run bench -- [flags]
  --threads N     omnigrad, onnxruntime-web and PyTorch with N threads (1); the table's bars are for 1
  --only NAMES    cases whose name contains one of these, separated by commas
  --peers NAMES   of tfjs, tfjs-threads, jax, ort, torch, torch-avx512; without it, all but those that take minutes
  --rounds N      turns of each library, 15 at least for a figure to be quoted
  --quick         5 turns
  --json FILE     everything measured, as JSON
  --list          the names of the cases
  --browser       the same list in Chromium, without PyTorch
  --serve PORT    serves the page that --browser runs, for any browser
  --calls, --memory, --start   other measurements: a call's cost, the pool's peak, the time to start`;

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const flags = {
  threads: { type: 'string', default: '1' },
  only: { type: 'string' },
  peers: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  json: { type: 'string' },
  list: { type: 'boolean' },
  browser: { type: 'boolean' },
  serve: { type: 'string' },
};

function stop(text) {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}

function readFlags() {
  try {
    const { values } = parseArgs({ options: flags });
    const [threads, rounds] = [values.threads, values.rounds ?? (values.quick ? '5' : '15')].map(Number);
    if (!(threads >= 1 && Number.isInteger(threads)))
      throw new Error('--threads takes a whole number from 1');
    if (!(rounds >= 1 && Number.isInteger(rounds))) throw new Error('--rounds takes a whole number from 1');
    return { ...values, threads, rounds };
  } catch (error) {
    return stop(`bench: ${error.message}\n${usage}`);
  }
}

const running = [];
process.on('exit', () => running.forEach((runner) => runner.end()));

/** A library's process, started: { runner, about }. */
async function start(command, args, options, settings) {
  const runner = startProcess(command, args, settings);
  running.push(runner);
  const { about, error } = await runner.request({ start: options });
  if (error !== undefined) throw new Error(error);
  return { runner, about };
}

const script = (name, options) => () => start(process.execPath, [join(here, `${name}.mjs`)], options);

function python() {
  // Debian's modules are Debian's Python's.
  return existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';
}

function hasAvx512() {
  return existsSync('/proc/cpuinfo') && readFileSync('/proc/cpuinfo', 'utf8').includes('avx512f');
}

function startersOf(threads) {
  const packages = createRequire(join(here, 'peers/package.json'));
  const version = (name) =>
    JSON.parse(readFileSync(join(here, 'peers/node_modules', name, 'package.json'))).version;
  const tfjs = `${dirname(packages.resolve('@tensorflow/tfjs-backend-wasm'))}/`;
  const native =
    (...kernel) =>
    () =>
      start(python(), [join(here, 'peers/native.py'), String(threads), ...kernel], {});
  const own = (variant, n) => script('omnigrad', { variant, threads: n });
  return {
    omnigrad: own('threads', threads),
    'omnigrad-1': own('threads', 1),
    'omnigrad-2': own('threads', 2),
    'omnigrad-single': own('single', 1),
    tfjs: script('peers/tfjs', { threads: 1, files: tfjs }),
    'tfjs-threads': script('peers/tfjs', { threads: 2, files: tfjs }),
    jax: script('peers/jax', { version: version('@jax-js/jax') }),
    ort: script('peers/ort', { threads }),
    torch: native(),
    'torch-avx512': hasAvx512()
      ? native('SkylakeX')
      : () => Promise.reject(new Error('the processor has none')),
    probe: script('probe', { bytes: readFileSync(join(root, 'build/bench/probe.wasm')).toString('base64') }),
  };
}

function machine() {
  const [{ model }] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${availableParallelism()} cores, ${gigabytes} GB, Node ${process.version}`;
}

function revision() {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      cwd: root,
      encoding: 'utf8',
      stdio,
    }).trim();
  } catch {
    return 'unknown';
  }
}

async function main() {
  const options = readFlags();
  const chosen = choose(cases, options);
  if (chosen.length === 0) stop(`bench: no case has ${options.only} in its name; --list shows them`);
  if (options.list) {
    process.stdout.write(`${chosen.map(({ name }) => name).join('\n')}\n`);
    return;
  }
  if (options.serve) {
    const server = await (await import('./browser.mjs')).serve(Number(options.serve));
    process.stdout.write(`http://localhost:${server.address().port}/\n`);
    return;
  }
  const print = (text) => process.stdout.write(`${text}\n`);
  print(`# ${machine()}; omnigrad ${revision()}`);
  const { threads, rounds } = options;
  const run = options.browser
    ? (await import('./browser.mjs')).runInChromium
    : (list, settings) => session(list, startersOf(threads), settings);
  const result = await run(chosen, { rounds, threads, print });
  if (options.json) {
    const kept = { machine: machine(), revision: revision(), threads, rounds, ...result };
    writeFileSync(options.json, `${JSON.stringify(kept, undefined, 1)}\n`);
  }
  process.exit(result.failed ? 1 : 0);
}

await main();
