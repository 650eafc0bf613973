// What the training scripts share: flags, the start, Ctrl-C, where checkpoints go, the closing lines. No network here.

import { mkdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { init, manualSeed, OmnigradError } from 'omnigrad';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');

export const say = (line) => process.stdout.write(`${line}\n`);

/** Flags by name: a number for each of `numbers` (the value is its default), and those that all scripts have. */
function readFlags(name, numbers) {
  const common = {
    variant: { type: 'string' },
    threads: { type: 'string' },
    checkpoint: { type: 'string' },
    resume: { type: 'boolean', default: false },
  };
  const own = Object.fromEntries(Object.keys(numbers).map((key) => [key, { type: 'string' }]));
  try {
    const { values } = parseArgs({ options: { ...common, ...own } });
    const flags = { ...values };
    for (const [key, normal] of Object.entries(numbers)) {
      flags[key] = Number(values[key] ?? normal);
      if (!(flags[key] >= 0)) throw new Error(`--${key} takes a number, 0 or more`);
    }
    return flags;
  } catch (error) {
    const list = Object.entries(numbers).map(([key, normal]) => `--${key} N (${normal})`);
    process.stderr.write(
      `${name}: ${error.message}\nusage: npm run train -- ${name} [${list.join('] [')}] ` +
        '[--variant threads|single] [--threads N] [--checkpoint FILE] [--resume]\n',
    );
    return process.exit(2);
  }
}

/**
 * Starts omnigrad and seeds it. Gives the flags, a signal that Ctrl-C raises, and the checkpoint's options; a second
 * Ctrl-C ends the process at once.
 */
export async function begin(name, numbers) {
  const flags = readFlags(name, { seed: 1, ...numbers });
  const { variant, threads, reason } = await init({
    ...(flags.variant && { variant: flags.variant }),
    ...(flags.threads && { threads: Number(flags.threads) }),
  });
  say(`omnigrad: build ${variant}, threads ${threads} (${reason.message})`);
  manualSeed(flags.seed);
  const target = flags.checkpoint ?? join(root, `build/runs/${name}.safetensors`);
  mkdirSync(dirname(target), { recursive: true });
  const stop = new AbortController();
  process.once('SIGINT', () => {
    process.once('SIGINT', () => process.exit(130));
    stop.abort();
  });
  const checkpoint = { target, every: 500, resume: flags.resume };
  return { flags, signal: stop.signal, checkpoint };
}

/** Says what is trained, now that all is there to begin. */
export function started(net, data, more = '') {
  const parameters = net.parameters().reduce((sum, p) => sum + p.numel, 0);
  say(`started: ${parameters} parameters, ${data.length} steps an epoch${more}`);
}

/** Says how a run that did not end by itself can go on; true if it did. */
export function finished(name, { ending, step, saved }) {
  if (ending !== 'stopped') return true;
  say(`stopped at step ${step}; saved to ${relative(process.cwd(), saved)}`);
  say(`go on with: npm run train -- ${name} --resume`);
  process.exitCode = 130;
  return false;
}

/** Says a measured value beside its target; ends with status 1 if it is not reached. */
export function verdict(text, reached, begun) {
  say(
    `${text}, after ${((performance.now() - begun) / 1000).toFixed(0)} s: ${reached ? 'reached' : 'NOT reached'}`,
  );
  if (!reached) process.exitCode = 1;
}

/** Runs a script; an error of the library is one line. */
export function run(main) {
  main().catch((error) => {
    process.stderr.write(`${OmnigradError.is(error) ? error.message : (error.stack ?? error)}\n`);
    process.exitCode = 1;
  });
}
